"""The homework in this process: the reference's cells, a solution over them, and what the checks say to a level of it."""
import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from lib.grading.grade import Checker, load_homework
from lib.grading.level import Level, Result
from lib.grading.worker import Server

HOMEWORK = "s6-hw02-grpo"
MASTER = Path(__file__).parents[2] / "homework" / "source" / HOMEWORK / "homework.ipynb"
IMPORTS = "import copy\nimport math\nimport re\n\nimport torch\n"      # of the setup cell, which has the checker besides


def reference_cells() -> list[str]:
    """The master's code without its setup, checks and plot."""
    cells = json.loads(MASTER.read_text(encoding="utf-8"))["cells"]
    return [IMPORTS] + ["".join(cell["source"]) for cell in cells
                        if cell["cell_type"] == "code" and cell["id"] not in ("setup", "watch")
                        and not cell["id"].startswith("check-")]


class Bench:
    """Checks solutions one after another, each in a fresh namespace."""

    def __init__(self):
        self.module = load_homework(HOMEWORK)
        self.levels: list[Level] = self.module.levels()
        # the driver counts what lib.toy.policy.sample samples: it has to be there before a cell imports the sampler
        self.server = Server({}, Path(self.module.DRIVER).read_text(encoding="utf-8"), str(self.module.DRIVER))
        self.reference = reference_cells()

    def result(self, level_id: str, source: str, part: str = "", seed: int = 0) -> Result:
        """What a level says to the reference with `source` over it. part: only this function of the level."""
        self.server.namespace = {"__name__": "__main__"}
        for number, cell in enumerate([*self.reference, source]):
            answer, _ = self.server.handle({"do": "cell", "name": f"<cell {number}>", "source": cell}, {})
            assert "error" not in answer, answer["error"]
        level = next(level for level in self.levels if level.id == level_id)
        if part:
            level = replace(level, parts=tuple(p for p in level.parts if p.function == part), needs=())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")      # a learner's kernel prints them and goes on
            return Checker(self.levels, self._send, seed).result(level)

    def _send(self, header, tensors, seconds, answer_question, shown):
        """As lib.grading.notebook does it: a Wrong that a question raised comes before the answer."""
        fault = []

        def ask(name, value):
            try:
                return answer_question(name, value)
            except Exception as error:
                fault.append(error)
                raise

        answer = self.server.handle(header, {key: tensor.clone() for key, tensor in tensors.items()}, ask)
        if fault:
            raise fault[0]
        return answer


@pytest.fixture(scope="module")
def bench():
    """The sampler that the driver replaces is put back afterwards."""
    import lib.toy.evaluate  # noqa: F401 - binds the sampler as it was, which the grader measures with
    from lib.toy import policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "sample", policy.sample)
        yield Bench()
