"""What a notebook's cells need to show things: sharp figures, and the source of the code that a lesson explains."""
import inspect
from collections.abc import Iterable, Sequence

from IPython import get_ipython
from IPython.core.pylabtools import select_figure_formats
from IPython.display import Markdown


def show_figures() -> None:
    """From now on a cell that ends in a matplotlib Figure shows it, at twice the screen's resolution.

    Notebooks do this by themselves only for figures made through pyplot; the course's figures belong to no window.
    """
    if shell := get_ipython():
        select_figure_formats(shell, {"retina"})


def source(*objects) -> Markdown:
    """The source code of functions and classes, highlighted: what runs is what is shown."""
    return Markdown("```python\n" + "\n\n".join(inspect.getsource(o).rstrip() for o in objects) + "\n```")


def table(head: Sequence[str], rows: Iterable[Sequence]) -> Markdown:
    """A table of texts and numbers; a cell may hold Markdown of its own."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines))
