"""Progress bars: in notebooks and on terminals, silent in files and pipes."""
import sys

from tqdm.auto import tqdm


def bar(items=None, title: str = "", total: int | None = None, show: bool = True) -> tqdm:
    """tqdm's bar, gone once it is full. Without `items`, move it with `.update()`."""
    visible = show and ("ipykernel" in sys.modules or sys.stderr.isatty())
    return tqdm(items, desc=title, total=total, disable=not visible, leave=False)
