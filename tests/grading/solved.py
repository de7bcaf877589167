"""The homework's master and its reference solution as text."""
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOMEWORK = "s6-hw02-grpo"
MASTER = ROOT / "homework" / "source" / HOMEWORK / "homework.ipynb"
QUICK = ("1", "2", "3", "4", "5", "6", "8")


def master_cells() -> list[dict]:
    cells = json.loads(MASTER.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def reference_source() -> str:
    """The reference's code: given cells and solutions, without checks and plots."""
    skip = ("setup", "watch")
    sources = ["".join(cell["source"]) for cell in master_cells()
               if cell["id"] not in skip and not cell["id"].startswith("check-")]
    return "import copy, math, re\nimport torch\n" + "\n\n".join(sources)
