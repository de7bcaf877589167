"""Builds the lessons: each master in notebooks/source becomes an executed notebook in notebooks/ru and one in notebooks/en.

    python -m notebooks.build              # all lessons, both languages
    python -m notebooks.build 03           # the lessons whose name starts so

A master is a jupytext py:percent file. Cells tagged `ru` go into the Russian notebook only, `en` into the English one,
untagged cells into both.
"""
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbconvert.preprocessors import TagRemovePreprocessor

from lib.i18n import LANGUAGES

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "source"
CELL_TIMEOUT = 300   # seconds; the slowest cell of a lesson takes a tenth of it
VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "GRPO by hand", "language": "python"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}


def masters(prefix: str = "") -> list[Path]:
    return sorted(SOURCE.glob(f"{prefix}*.py"))


def target(master: Path, language: str) -> Path:
    return FOLDER / language / f"{master.stem}.ipynb"


def assemble(master: Path, language: str) -> nbformat.NotebookNode:
    """One language's notebook out of a master, not executed. Cell ids depend on the master alone."""
    notebook = jupytext.read(master, fmt="py:percent")
    others = set(LANGUAGES) - {language}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and len(set(cell.metadata.get("tags", [])) & set(LANGUAGES)) != 1:
            raise ValueError(f"{master.name}: tag this text with one of {' or '.join(LANGUAGES)}: {cell.source[:80]!r}")
    notebook, _ = TagRemovePreprocessor(remove_cell_tags=others, enabled=True).preprocess(notebook, {})
    notebook.metadata = nbformat.from_dict(METADATA)
    for position, cell in enumerate(notebook.cells):
        cell.id = f"{master.stem[:2]}-{position:02d}"
        cell.metadata.pop("tags", None)
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Runs all cells in order, in `folder`; raises nbclient's CellExecutionError where one fails."""
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT, kernel_name="python3", record_timing=False,
                            resources={"metadata": {"path": str(folder)}})
    client.execute()
    leave_widgets_out(notebook)
    return notebook


def leave_widgets_out(notebook: nbformat.NotebookNode) -> None:
    """Takes the live widgets out of the outputs: without a kernel a slider moves nothing, a progress bar shows an error.

    What a widget's owner offers beside it (a text, a picture) stays in its place; a bare widget goes whole.
    """
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                if output.get("data", {}).pop(VIEW, None):
                    output.data.pop("text/plain", None)
            cell.outputs = [output for output in cell.outputs if output.get("data", True)]


def build(master: Path, language: str) -> float:
    """Writes one executed notebook; returns the seconds that it took to execute."""
    path = target(master, language)
    path.parent.mkdir(exist_ok=True)
    start = time.perf_counter()
    notebook = execute(assemble(master, language), path.parent)
    notebook.metadata.language_info = nbformat.from_dict(METADATA["language_info"])   # the kernel adds its own version
    nbformat.write(notebook, path)
    return time.perf_counter() - start


def main(prefixes: list[str]) -> None:
    chosen = [master for prefix in prefixes or [""] for master in masters(prefix)]
    if not chosen:
        sys.exit(f"no lesson in {SOURCE} starts with {' or '.join(prefixes)}: there are "
                 + ", ".join(master.stem for master in masters()))
    for language in LANGUAGES:
        total = 0.0
        for master in chosen:
            seconds = build(master, language)
            total += seconds
            print(f"{target(master, language).relative_to(FOLDER.parent)}  {seconds:.0f} s", flush=True)
        print(f"{language}: {total:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
