"""The built notebooks are those of their masters, whole in both languages, and they execute."""
import os
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

from lib.i18n import LANGUAGES
from lib.llm import table as trl_table
from lib.toy import table
from notebooks import build

ROOT = Path(build.__file__).parents[1]
MASTERS = build.masters()
LESSONS = [pytest.param(master, language, id=f"{master.stem}-{language}") for master in MASTERS for language in LANGUAGES]
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
README_ROWS = ("default", "p_cot=0.05", "p_cot=0", "G=2", "beta=0", "beta=0.2")
README_COLUMNS = (0, 1, 2, 3, 4, 5, 6)


def test_there_are_masters():
    assert [master.stem[:2] for master in MASTERS] == ["01", "02", "03", "04", "05"]


def unpaired(cells) -> list[str]:
    """Markdown cells that are not a Russian cell followed by its English one (or the other way round)."""
    faults = []
    texts = [cell for cell in cells if cell.cell_type == "markdown"]
    for first, second in zip(texts[::2], texts[1::2], strict=False):
        tags = sorted(tuple(cell.metadata.get("tags", [])) for cell in (first, second))
        if tags != [("en",), ("ru",)]:
            faults.append(f"{first.source[:60]!r} and {second.source[:60]!r} are tagged {tags}")
    if len(texts) % 2:
        faults.append(f"{texts[-1].source[:60]!r} stands alone")
    return faults


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_every_text_stands_in_both_languages(master):
    cells = jupytext.read(master, fmt="py:percent").cells
    assert unpaired(cells) == []
    for cell in cells:
        if cell.cell_type == "markdown":
            russian = cell.metadata["tags"] == ["ru"]
            letters = re.sub(r"<[^>]*>|`[^`]*`", "", cell.source)
            assert bool(CYRILLIC.search(letters)) == russian, cell.source[:200]


def test_a_missing_translation_is_seen():
    ru = nbformat.v4.new_markdown_cell("Привет", metadata={"tags": ["ru"]})
    en = nbformat.v4.new_markdown_cell("Hello", metadata={"tags": ["en"]})
    untagged = nbformat.v4.new_markdown_cell("Hello")
    assert unpaired([ru, en]) == []
    for cells in ([ru], [ru, ru], [ru, untagged], [ru, en, en]):
        assert unpaired(cells) != []


@pytest.mark.parametrize(("master", "language"), LESSONS)
def test_built_notebook_is_the_masters(master, language):
    """Cells and order; a stale notebook means `make notebooks` was not run."""
    wanted = build.assemble(master, language)
    built = nbformat.read(build.target(master, language), as_version=4)
    assert [(c.cell_type, c.id, c.source) for c in built.cells] == [(c.cell_type, c.id, c.source) for c in wanted.cells]
    for cell in built.cells:
        if cell.cell_type == "code":
            assert cell.execution_count, "a cell was never executed"
            assert not [o for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"]
    text = build.target(master, language).read_text(encoding="utf-8")
    assert str(ROOT) not in text, "an output holds a path of the machine that built it"


@pytest.mark.parametrize(("master", "language"), LESSONS)
def test_notebook_executes(master, language, tmp_path):
    build.execute(build.assemble(master, language), tmp_path)   # raises CellExecutionError with the cell and its traceback


@pytest.mark.parametrize(("readme", "language"), [("README.md", "en"), ("README.ru.md", "ru")])
def test_readme_shows_the_measured_table(readme, language, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", language)
    text = (ROOT / readme).read_text(encoding="utf-8")
    shown = text.split("<!-- table:start -->\n")[1].split("\n<!-- table:end -->")[0]
    assert shown == table.markdown(README_ROWS, README_COLUMNS)


@pytest.mark.parametrize(("readme", "language"), [("README.md", "en"), ("README.ru.md", "ru")])
def test_readme_shows_the_measured_trl_table(readme, language, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", language)
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert text.split("<!-- trl:start -->\n")[1].split("\n<!-- trl:end -->")[0] == trl_table.markdown()


def test_readmes_name_every_lesson_and_every_make_target():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE).group(1).split()
    for readme in ("README.md", "README.ru.md"):
        text = (ROOT / readme).read_text(encoding="utf-8")
        for target in targets:
            assert f"make {target}" in text, f"{readme} does not name make {target}"
        for master in MASTERS:
            assert f"| {master.stem[:2]} |" in text


def test_links_in_the_readmes_lead_somewhere():
    for readme in ("README.md", "README.ru.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / readme).read_text(encoding="utf-8")):
            assert os.path.exists(ROOT / link), f"{readme} links to {link}"
