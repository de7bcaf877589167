"""nbgrader's settings for this folder. Run its commands from here: cd homework && nbgrader generate_assignment s6-hw02-grpo

The marks are lib.grading's, not nbgrader's: what autograde makes of a cell is overwritten. lib/grading/gradebook.py says in
which order the commands work.
"""
import os
import sys
import warnings
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import SCHEMA_VERSION
from nbgrader.preprocessors import CheckCellMetadata, ClearOutput, NbGraderPreprocessor, OverwriteCells, OverwriteKernelspec
from sqlalchemy.exc import SAWarning

c = get_config()  # noqa: F821 (nbgrader puts it there)

# The folder of this file, not the working directory: formgrader runs in that of JupyterLab.
HERE = Path(__file__).resolve().parent
c.CourseDirectory.root = str(HERE)
c.CourseDirectory.db_url = f"sqlite:///{(HERE / 'gradebook.db').as_posix()}"
c.CourseDirectory.course_id = "grpo-by-hand"

# A new database makes nbgrader start the program `alembic`. It lies beside this Python, which is on the PATH only where the
# environment is activated.
os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")

# Nothing here needs the network. Should a submission try to fetch a model or a data set, it fails at once and does not wait.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# nbgrader 0.9.6 makes SQLAlchemy 2 warn at each new submission; the submission is written all the same.
warnings.filterwarnings("ignore", message="Object of type <Submitted", category=SAWarning)

# What runs and editors leave behind is no part of an assignment. The first four are nbgrader's own.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", ".DS_Store", "runs", "*.pt"]

# ── generate_assignment ───────────────────────────────────────────────────────────────────────────────────────────────────
# What stands between BEGIN SOLUTION and END SOLUTION becomes this one line; nbgrader's own adds an English comment.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}

# ── autograde ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
# A cell may train a model: a minute on a laptop, several on a busy machine; nbgrader's default is 30 seconds. A cell that
# hangs is interrupted, and the cells after it still run.
c.Execute.timeout = 600
c.Execute.startup_timeout = 180
# A long training log is cut in the feedback.
c.LimitOutput.max_lines = 300


class Mend(NbGraderPreprocessor):
    """Gives a submission the master's nbgrader cells back: each once, with the master's metadata.

    Left alone, nbgrader 0.9.6 fails on what students do: a renamed grade_id ends in no feedback for the student, a cell that
    was pasted twice stops autograde for all students after this one, a deleted cell has no place for its score and comment.
    """

    def preprocess(self, nb, resources):
        place = resources["nbgrader"]
        with Gradebook(place["db_url"]) as book:
            master = book.find_notebook(place["notebook"], place["assignment"])
            points = {cell.name: cell.max_score for cell in [*master.grade_cells, *master.task_cells]}
            tasks, answers = ({cell.name for cell in cells} for cells in (master.task_cells, master.solution_cells))
            cells = {cell.name: cell for cell in master.source_cells}
            metadata = {name: {"schema_version": SCHEMA_VERSION, "grade_id": name, "cell_type": cell.cell_type,
                               "grade": name in points and name not in tasks, "solution": name in answers,
                               "task": name in tasks, "locked": cell.locked, "checksum": cell.checksum}
                        | ({"points": points[name]} if name in points else {}) for name, cell in cells.items()}
            found = set()
            for cell in reversed(nb.cells):         # of two copies the lower one counts, as in nbgrader
                name = (cell.metadata.pop("nbgrader", None) or {}).get("grade_id")
                if name in cells and name not in found:
                    found.add(name)
                    cell.metadata["nbgrader"] = metadata[name]
            after = 0
            for name, cell in cells.items():
                if name not in found:
                    make = new_code_cell if cell.cell_type == "code" else new_markdown_cell
                    # An answer comes back without its code, which could undo what the student wrote elsewhere.
                    source = f"# {name}: not in the submission / нет в сданной тетради" if name in answers else cell.source
                    nb.cells.insert(after, make(source, metadata={"nbgrader": metadata[name]}))
                    self.log.warning("The submission has no cell %s: put back", name)
                after = 1 + next(at for at, one in enumerate(nb.cells)
                                 if one.metadata.get("nbgrader", {}).get("grade_id") == name)
        return nb, resources


c.Autograde.sanitize_preprocessors = [ClearOutput, Mend, OverwriteKernelspec, OverwriteCells, CheckCellMetadata]
