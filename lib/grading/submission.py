"""What is graded: the code cells of a notebook or a script, in order, whatever else was done to the file."""
import json
import re
from pathlib import Path
from typing import NamedTuple

from lib.i18n import tr

SUFFIXES = (".ipynb", ".py")
LARGEST = 50 << 20      # bytes
MOST_CODE = 2_000_000   # characters of code
NEW_CELL = re.compile(r"^# ?%%.*$", re.MULTILINE)


class Cell(NamedTuple):
    """A code cell: its number among the notebook's code cells, from 1, and its source."""

    number: int
    source: str


def read(path: str | Path) -> list[Cell]:
    """The code cells of an .ipynb or a .py file (split at '# %%'). Ids, metadata, outputs and other cells do not matter.

    Raises ValueError with what to do where the file cannot be graded.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(tr(en=f"{path}: a submission is an .ipynb or a .py file", ru=f"{path}: сдают файл .ipynb или .py"))
    if not path.is_file():
        raise ValueError(tr(en=f"{path} is not there", ru=f"файла {path} нет"))
    size = path.stat().st_size
    if size > LARGEST:
        megabytes = size >> 20
        raise ValueError(tr(en=f"{path} is {megabytes} MB: clear the outputs (Edit, Clear Outputs of All Cells) and save",
                            ru=f"{path}: {megabytes} МБ. Очистите вывод (Edit, Clear Outputs of All Cells) и сохраните"))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(tr(en=f"{path} is not UTF-8 text", ru=f"{path}: это не текст в UTF-8")) from None
    sources = NEW_CELL.split(text) if path.suffix.lower() == ".py" else _code(path, text)
    if sum(map(len, sources)) > MOST_CODE:
        raise ValueError(tr(en=f"{path} holds more than {MOST_CODE:,} characters of code",
                            ru=f"{path}: больше {MOST_CODE:,} символов кода"))
    return [Cell(number, source) for number, source in enumerate(sources, 1) if source.strip()]


def _code(path: Path, text: str) -> list[str]:
    """Sources of a notebook's code cells, of nbformat 4 or of the older one with worksheets."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise ValueError(tr(en=f"{path} is not a notebook: its JSON cannot be read. Open it in JupyterLab and save it again",
                            ru=f"{path} — не блокнот: JSON не читается. Откройте его в JupyterLab и сохраните заново"))
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    sources = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            source = "".join(map(str, source)) if isinstance(source, list) else str(source)
            sources.append(source.encode("utf-8", "replace").decode())
    return sources
