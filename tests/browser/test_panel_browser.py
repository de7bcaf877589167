"""The slider panel in real JupyterLab: what a learner does with the keyboard, and what then changes on the screen."""
import re
from pathlib import Path

import nbformat
import pytest
from lab_notebook import KERNEL, LabNotebook
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "test-results"

pytestmark = pytest.mark.browser


def lesson(language: str):
    """Lesson 03 as built, else a notebook of two cells: what is tested is the panel, with or without the lesson's text."""
    built = ROOT / "notebooks" / language / "03_experiments.ipynb"
    if built.exists():
        return nbformat.read(built, as_version=4)
    return two_cells()


def two_cells():
    cells = [new_code_cell("from lib.ui.panel import Panel"), new_code_cell("Panel()")]
    return new_notebook(cells=cells, metadata=KERNEL)


class Notebook(LabNotebook):
    """A notebook open in JupyterLab, with its panel."""

    def __init__(self, page, url: str, folder: Path, notebook):
        super().__init__(page, url, folder, notebook)
        self.panel_cell = next(i for i, cell in enumerate(self.cells) if cell.source.strip().endswith("Panel()"))

    def close(self):
        """Saves the notebook and leaves it; its kernel goes on."""
        self.page.keyboard.press("Control+s")
        self.page.locator(".jp-mod-current.jp-mod-dirty").wait_for(state="detached")
        self.page.goto(f"{self.url}/api/status")

    def restart_kernel(self):
        self.page.locator('[data-jp-item-name="restart"]').first.click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.wait_for_timeout(1000)
        self.wait_idle()

    def run_to_panel(self):
        """Runs the code cells up to the panel's, by Shift+Enter."""
        self.run_to(self.panel_cell)
        self.page.wait_for_selector(".grpo-image")

    @property
    def output(self):
        return self.output_of(self.panel_cell)

    def status(self) -> str:
        return self.output.locator(".grpo-status").inner_text()

    def wait_status(self, pattern: str):
        self.output.locator(".grpo-status", has_text=re.compile(pattern)).wait_for()

    def figure(self) -> str:
        """A digest of the pixels that the figure shows."""
        return self.output.locator(".grpo-image").evaluate("""async image => {
            const data = await (await fetch(image.src)).arrayBuffer();
            return Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', data))).join(' ');
        }""")

    def results(self) -> list[str]:
        return self.output.locator(".grpo-table tbody tr").all_inner_texts()

    def press_on_slider(self, name: str, key: str):
        slider = self.output.locator(".widget-slider", has=self.page.locator(f"label:text-is('{name}')"))
        slider.locator(".noUi-handle").focus()
        self.page.keyboard.press(key)

    def press_button(self, icon: str):
        self.output.locator(f"button:has(.fa-{icon})").first.focus()
        self.page.keyboard.press("Space")

    def screenshot(self, name: str):
        SCREENSHOTS.mkdir(exist_ok=True)
        self.output.scroll_into_view_if_needed()
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


WORDS = {
    "en": {"step": "Step", "done": "Done", "stopped": r"Stopped at step (\d+) of 150", "pinned": "Pinned"},
    "ru": {"step": "Шаг", "done": "Готово", "stopped": r"Остановлено на шаге (\d+) из 150", "pinned": "Закреплено"},
}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_keyboard_moves_sliders_and_stops_a_run(page, lab, language):
    words = WORDS[language]
    notebook = Notebook(page, *lab(language), lesson(language))
    notebook.run_to_panel()
    empty = notebook.figure()
    assert not notebook.results()

    notebook.press_on_slider("p_cot", "ArrowRight")               # 0.3 -> 0.5
    notebook.wait_status(words["step"])
    assert notebook.figure() != empty
    notebook.wait_status(words["done"])
    after_p_cot = notebook.figure()
    assert len(notebook.results()) == 1
    assert "p_cot=0.5" in notebook.results()[0]
    notebook.screenshot(f"panel-{language}-done")

    notebook.press_button("thumb-tack")
    notebook.wait_status(words["pinned"])
    notebook.press_on_slider("beta (KL)", "ArrowRight")              # 0.02 -> 0.05
    notebook.wait_status(words["step"])
    notebook.press_button("stop")
    notebook.wait_status(words["stopped"])
    stopped, picture = notebook.status(), notebook.figure()
    assert int(re.search(words["stopped"], stopped)[1]) < 150
    assert picture != after_p_cot
    page.wait_for_timeout(1500)
    assert (notebook.status(), notebook.figure()) == (stopped, picture)
    assert len(notebook.results()) == 1
    notebook.screenshot(f"panel-{language}-stopped")

    notebook.press_button("play")
    notebook.wait_status(words["done"])
    assert len(notebook.results()) == 2
    assert "p_cot=0.5, beta=0.05" in notebook.results()[0]
    assert notebook.figure() != picture
    notebook.screenshot(f"panel-{language}-two-runs")


def test_panel_survives_haste_closing_running_twice_and_a_restart(page, lab, tmp_path):
    notebook = Notebook(page, *lab("en"), two_cells())
    notebook.run_to_panel()

    for _ in range(60):                                             # haste: a move every 50 ms, right and left again
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
            notebook.press_on_slider("seed", key)
            page.wait_for_timeout(50)
    notebook.wait_status("Done")
    assert len(notebook.results()) == 1
    assert "seed=28" in notebook.results()[0]

    notebook.press_button("play")                                    # the notebook is closed in mid-run
    notebook.wait_status("Step")
    notebook.close()
    page.wait_for_timeout(3000)
    notebook.open()
    notebook.wait_status("Step|Done")
    notebook.wait_status("Done")
    assert len(notebook.results()) == 2
    notebook.press_on_slider("seed", "Home")
    notebook.wait_status("Step")

    notebook.run_cell(notebook.panel_cell)                           # the cell is run twice, in mid-run
    notebook.wait_status("Move a slider")
    notebook.press_on_slider("p_cot", "ArrowLeft")
    notebook.wait_status("Done")
    assert "p_cot=0.2" in notebook.results()[0]

    notebook.press_button("play")                                    # the kernel is restarted in mid-run
    notebook.wait_status("Step")
    notebook.restart_kernel()
    notebook.run_to_panel()
    notebook.press_on_slider("p_cot", "ArrowRight")
    notebook.wait_status("Done")
    log = (tmp_path / "lab.log").read_text()
    # a kernel that dies in mid-send complains of that itself; any other traceback is the panel's
    dying = "zmq gc socket requested during shutdown"
    assert [text for text in log.split("Traceback")[1:] if dying not in text] == []
    assert "rate exceeded" not in log
