"""The homework in real JupyterLab: a check cell says what is wrong in a sentence, gives a hint, passes what is right."""
from pathlib import Path

import nbformat
import pytest
from lab_notebook import LabNotebook

HOMEWORK = Path(__file__).parents[2] / "homework" / "s6-hw02-grpo" / "homework.ipynb"
WRONG = """def kl_k3(logp, logp_ref):
    return logp - logp_ref"""
RIGHT = """def kl_k3(logp, logp_ref):
    d = logp_ref - logp
    return d.exp() - 1 - d"""
WORDS = {"en": ("Level 4 is not passed yet", "This is k1", "A hint: check(4, hint=1)", "level 4, KL by k3: 10 of 10 points"),
         "ru": ("Уровень 4 пока не пройден", "Это k1", "Подсказка: check(4, hint=1)",
                "уровень 4, KL по формуле k3: баллов 10 из 10")}

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_check_cell_says_what_is_wrong_and_then_that_it_is_right(page, lab, language):
    url, folder = lab(language)
    notebook = nbformat.read(HOMEWORK, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    again = nbformat.v4.new_code_cell("check(4)", id="again")
    text = next(cell for cell in notebook.cells if "k3" in cell.source)
    notebook.cells = [cells["setup"], text, cells["kl_k3"], cells["check-4"], nbformat.v4.new_code_cell(RIGHT,
                                                                                                        id="right"), again]
    cells["kl_k3"].source = WRONG
    for cell in notebook.cells:
        cell.metadata.pop("editable", None)       # the test types into locked cells too, to run them
    opened = LabNotebook(page, url, folder, notebook)
    opened.run_to(5)
    failed, advice, hint, passed = WORDS[language]
    output = opened.output_of(3).inner_text()
    for words in (failed, advice, hint):
        assert words in output
    assert "Traceback" not in output
    assert "lib/grading" not in output
    assert passed in opened.output_of(5).inner_text()
