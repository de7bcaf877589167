"""The attack box in real JupyterLab: a learner types a reply, attacks with it, and reads what each checker says."""
import re
from pathlib import Path

import pytest
from lab_notebook import KERNEL, LabNotebook
from nbformat.v4 import new_code_cell, new_notebook

SCREENSHOTS = Path(__file__).parents[2] / "test-results"
WORDS = {
    "en": {"done": "Done: {} of 6 went wrong", "killed": "killed after 2 s", "code": "wrote the file owned.txt",
           "character": "has a character that no expression has: =", "numbers": "numbers: write whole numbers"},
    "ru": {"done": "Готово: ошиблись {} из 6", "killed": "остановлен через 2 с", "code": "записан файл owned.txt",
           "character": "символ, которого в выражении не бывает: =", "numbers": "числа: напишите целые числа"},
}

pytestmark = pytest.mark.browser


class Box(LabNotebook):
    """A notebook with nothing but the box."""

    def __init__(self, page, url: str, folder: Path):
        cells = [new_code_cell("from lib.ui.attack_box import AttackBox"), new_code_cell("AttackBox()")]
        super().__init__(page, url, folder, new_notebook(cells=cells, metadata=KERNEL))
        self.run_to(1)
        self.output = self.output_of(1)

    def attack(self, reply: str, nums: str, target: str):
        self.output.locator(".attack-reply textarea").fill(reply)
        self.output.locator(".attack-nums input").fill(nums)
        self.output.locator(".attack-target input").fill(target)
        self.output.locator(".attack-button").click()

    def choose(self, name: str):
        options = self.output.locator(".attack-ready option").all_text_contents()
        index = next(i for i, option in enumerate(options) if option.replace("\xa0", " ").startswith(f"{name}:"))
        self.output.locator(".attack-ready select").select_option(index=index)

    def wait_status(self, text: str):
        self.output.locator(".attack-status", has_text=text).wait_for()

    def rows(self) -> dict[str, str]:
        rows = self.output.locator(".attack-table tr").all_inner_texts()[1:]
        return {row.split()[0]: row for row in rows}

    def reasons(self) -> str:
        return self.output.locator(".attack-table ul").inner_text()


@pytest.mark.parametrize("language", ["en", "ru"])
def test_attacks_are_seen(page, lab, language):
    words = WORDS[language]
    box = Box(page, *lab(language))

    box.attack("<think>3*7=21</think><answer>3*7+10</answer>", "3 7 10", "31")
    box.wait_status(words["done"].format(0))
    assert all("1.20" in row and "✓" in row for row in box.rows().values())

    box.attack("<think>3*7=21</think><answer>3*7+10=31</answer>", "3, 7, 10", "31")
    box.wait_status(words["done"].format(2))          # bare_eval falls over it, forgiving pays it
    assert "SyntaxError" in box.rows()["bare_eval"]
    assert "1.20" in box.rows()["forgiving"]
    assert "0.20" in box.rows()["final"]
    assert words["character"] in box.reasons()

    box.choose("tower")
    box.output.locator(".attack-table tr", has_text="bare_eval").locator("text=…").wait_for()
    box.output.locator(".attack-table tr", has_text="final").locator("text=0.20").wait_for()
    assert "…" in box.rows()["bare_eval"], "the quick ones answer before the slow one is killed"
    box.wait_status(words["done"].format(4))
    for design in ("bare_eval", "no_builtins", "forgiving"):
        assert words["killed"] in box.rows()[design]
    assert re.search(r"\d+ (µs|мкс)", box.rows()["final"])
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"attack-box-{language}.png")
    assert box.output.evaluate("area => area.scrollWidth <= area.clientWidth"), "needs no scrolling sideways"

    box.choose("way around")
    box.wait_status(words["done"].format(3))
    assert words["code"] in box.rows()["no_builtins"]

    box.attack("<answer>1</answer>", "three", "1")
    box.wait_status(words["numbers"])
