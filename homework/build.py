"""Makes the student's notebook of a homework out of its master with solutions, as nbgrader's generate_assignment does.

    python homework/build.py                  # all homeworks
    python homework/build.py s6-hw02-grpo

The master is homework/source/HOMEWORK/homework.ipynb, in nbgrader's format. What it writes lies in homework/HOMEWORK/.
"""
import sys
from pathlib import Path

import nbformat
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)
from traitlets.config import PyFileConfigLoader

HOMEWORK = Path(__file__).parent
NOTEBOOK = "homework.ipynb"


def student_notebook(master: Path) -> nbformat.NotebookNode:
    """The master without its solutions; the cells that are given are locked."""
    settings = PyFileConfigLoader("nbgrader_config.py", str(HOMEWORK)).load_config()
    notebook = nbformat.read(master, as_version=4)
    for step in (LockCells, ClearSolutions, ClearOutput, CheckCellMetadata, ClearHiddenTests, ComputeChecksums):
        notebook, _ = step(config=settings).preprocess(notebook, {})
    return notebook


def text(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook) + "\n"


def main(names: list[str]) -> None:
    for master in sorted(HOMEWORK.glob(f"source/*/{NOTEBOOK}")):
        if not names or master.parent.name in names:
            target = HOMEWORK / master.parent.name / NOTEBOOK
            target.write_text(text(student_notebook(master)), encoding="utf-8")
            print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
