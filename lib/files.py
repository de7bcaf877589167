"""Files that are written once: nothing of a learner's is ever overwritten."""
from pathlib import Path
from typing import IO


def open_new(name: str | Path, mode: str = "x", newline: str | None = None) -> IO:
    """Opens a file that is not there yet: `name`, else the first of name-1, name-2, … that is free, even in a race.

    mode: "x" for text, in UTF-8 and with `newline` as `open` has it; "xb" for bytes. The file's `.name` says which it is.
    Raises OSError where no file can be made at all, such as FileNotFoundError for want of the folder.
    """
    path, count = Path(name), 0
    while True:
        try:
            return path.open(mode, encoding=None if "b" in mode else "utf-8", newline=newline)
        except FileExistsError:
            count += 1
            path = Path(name).with_stem(f"{Path(name).stem}-{count}")
