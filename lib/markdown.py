"""Markdown that notebooks, the README and command lines share."""
from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence, rows: Iterable[Sequence]) -> str:
    """A table as Markdown; a cell may hold Markdown of its own."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
