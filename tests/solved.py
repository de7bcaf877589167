"""The homework's master, its reference solution as text, and a bench that puts other solutions over it."""
import json
import warnings
from dataclasses import replace
from pathlib import Path

from lib.grading.grade import Checker, load_homework
from lib.grading.level import Level, Result
from lib.grading.notebook import in_this_process
from lib.grading.worker import Server

ROOT = Path(__file__).parents[1]
HOMEWORK = "s6-hw02-grpo"
MASTER = ROOT / "homework" / "source" / HOMEWORK / "homework.ipynb"
QUICK = ("1", "2", "3", "4", "5", "6", "8")
IMPORTS = "import copy\nimport math\nimport re\n\nimport torch\n"      # of the setup cell, which has the checker besides


def master_cells() -> list[dict]:
    cells = json.loads(MASTER.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def reference_cells() -> list[str]:
    """The reference's code: given cells and solutions, without checks and plots."""
    return [IMPORTS] + ["".join(cell["source"]) for cell in master_cells()
                        if cell["id"] not in ("setup", "watch") and not cell["id"].startswith("check-")]


def reference_source() -> str:
    return "\n\n".join(reference_cells())


def replaced(name: str, source: str, *edits: tuple[str, str]) -> str:
    """The source with replacements, each of a piece that stands there once."""
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{name}: {old!r} stands {source.count(old)} times in the source")
        source = source.replace(old, new)
    return source


class Bench:
    """Checks solutions one after another in this process, each in a fresh namespace."""

    def __init__(self):
        self.module = load_homework(HOMEWORK)
        self.levels: list[Level] = self.module.levels()
        # The driver counts what lib.toy.policy.sample samples. Levels first: the grader measures with the sampler as it was;
        # cells later: they import the counting one.
        self.server = Server({}, Path(self.module.DRIVER).read_text(encoding="utf-8"), str(self.module.DRIVER))
        self.reference = reference_cells()

    def checker(self, source: str = "", seed: int = 0) -> Checker:
        """A checker of the reference with `source` over it."""
        self.server.namespace = {"__name__": "__main__"}
        for number, cell in enumerate([*self.reference, source]):
            answer, _ = self.server.handle({"do": "cell", "name": f"<cell {number}>", "source": cell}, {})
            assert "error" not in answer, answer["error"]
        return Checker(self.levels, in_this_process(self.server), seed)

    def result(self, level_id: str, source: str, part: str = "", seed: int = 0) -> Result:
        """What a level says to the reference with `source` over it. part: only this function of the level."""
        level = next(level for level in self.levels if level.id == level_id)
        if part:
            level = replace(level, parts=tuple(p for p in level.parts if p.function == part), needs=())
        checker = self.checker(source, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")      # a learner's kernel prints them and goes on
            return checker.result(level)
