"""What a notebook's cells need to show things: sharp figures, and the source of the code that a lesson explains."""
import inspect
from collections.abc import Iterable, Sequence

from IPython import get_ipython
from IPython.core.pylabtools import select_figure_formats
from IPython.display import Markdown

from lib.markdown import markdown_table

MARKUP = frozenset("&<>|*_`$[]\\~#^")     # what Markdown, HTML or a table would take for something of theirs


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
    return Markdown(markdown_table(head, rows))


def plain(text: str) -> str:
    """A text as Markdown that shows just these characters, whatever they are; invisible ones by their codes."""
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return "".join(f"&#{ord(c)};" if c in MARKUP else c for c in text)
