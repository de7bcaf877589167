"""The memory panel in real JupyterLab: a learner chooses a larger model, and the bars and the verdict follow."""
from pathlib import Path

import pytest
from lab_notebook import KERNEL, LabNotebook
from nbformat.v4 import new_code_cell, new_notebook

SCREENSHOTS = Path(__file__).parents[2] / "test-results"

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("language", "fits", "too_large"),
                         [("en", "Fits", "Does not fit"), ("ru", "Помещается", "Не помещается")])
def test_a_larger_model_does_not_fit(page, lab, language, fits, too_large):
    cells = [new_code_cell("from lib.ui.sizing_panel import SizingPanel"), new_code_cell("SizingPanel()")]
    url, folder = lab(language)
    notebook = LabNotebook(page, url, folder, new_notebook(cells=cells, metadata=KERNEL))
    notebook.run_to(1)
    panel = notebook.output_of(1)
    picture, status = panel.locator("img.sizing-image"), panel.locator(".sizing-status")
    status.filter(has_text=fits).wait_for()
    small = picture.get_attribute("src")
    panel.locator("select").first.select_option(label="Qwen2.5-7B")
    status.filter(has_text=too_large).wait_for()
    assert picture.get_attribute("src") != small
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"sizing-panel-{language}.png")
    assert panel.evaluate("area => area.scrollWidth <= area.clientWidth"), "needs no scrolling sideways"
