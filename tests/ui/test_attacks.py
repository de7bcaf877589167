"""The tables and the map of lesson 04: what is said of a design is what happened."""
import html
import re

import pytest

from lib.countdown.battery import case, cases, kinds
from lib.countdown.cage import Outcome
from lib.ui import attacks
from lib.ui.attacks import EXECUTED, FINE, FORM, HUNG, PAID, RAISED, REFUSED, judge
from lib.ui.cells import plain


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("name", "outcome", "verdict"), [
    ("plain", Outcome("paid", 1.2), FINE),
    ("plain", Outcome("paid", 1.0), FORM),              # right and in form: 0.2 is missing
    ("plain", Outcome("paid", 0.2), REFUSED),
    ("plain", Outcome("paid", 0.0), REFUSED),
    ("no thought", Outcome("paid", 1.0), FINE),
    ("no thought", Outcome("paid", 1.2), FORM),
    ("no thought", Outcome("paid", 1.1), FORM),         # two of four tags paid at 0.05
    ("value", Outcome("paid", 0.2), FINE),
    ("value", Outcome("paid", 0.0), FORM),
    ("value", Outcome("paid", 1.2), PAID),
    ("bare", Outcome("paid", 0.0), FINE),
    ("bare", Outcome("paid", 1.0), PAID),
    ("value", Outcome("raised", error="ValueError"), RAISED),
    ("value", Outcome("killed", seconds=1), HUNG),
    ("value", Outcome("died"), HUNG),
    ("value", Outcome("paid", 0.2, files=("owned.txt",)), EXECUTED),     # whatever else it did
    ("value", Outcome("killed", files=("owned.txt",)), EXECUTED),
])
def test_judge(name, outcome, verdict):
    assert judge(case(name), outcome) == verdict


def test_every_verdict_has_words_and_a_look(each_language):
    assert set(attacks.verdicts()) == set(attacks.LOOKS) == {FINE, FORM, REFUSED, PAID, RAISED, HUNG, EXECUTED}
    assert len({sign for _, sign in attacks.LOOKS.values()}) == len(attacks.LOOKS), "told apart without colours"


# ── a table of attacks ────────────────────────────────────────────────────────────────────────────────────────────────
def test_attack_runs_what_it_names():
    shown = attacks.attack("bare_eval", "plain", "target", "write a file", "by zero")
    rows = [line.split(" | ") for line in shown.data.splitlines()[2:]]
    assert [row[0].removeprefix("| ").split(":")[0] for row in rows] == ["plain", "target", "write a file", "by zero"]
    assert [row[2] for row in rows] == ["1.2", "0.2", "0.2", "0.2"]
    assert rows[0][3:] == ["1.20", "✓ |"]
    assert rows[1][3:] == ["1.20", "**✗ wrong answer paid** |"]
    assert "owned.txt" in rows[2][3]
    assert "code ran" in rows[2][4]
    assert rows[3][3:] == ["`ZeroDivisionError`", "**✗ exception** |"]


def test_a_hang_is_killed_and_said(monkeypatch, in_russian):
    monkeypatch.setattr(attacks, "SECONDS", 0.3)
    last = attacks.attack("no_builtins", "tower").data.splitlines()[-1]
    assert "остановлен через 0.3 с" in last
    assert "нет результата в срок" in last


def test_long_replies_are_shortened_and_say_so():
    row = attacks.attack("final", "long thought").data.splitlines()[-1]
    assert len(row) < 800
    assert "(400\u202f038 characters)" in row      # 8 * 50 000, and four tags and 3*7+10: 38


@pytest.mark.parametrize("text", ["a|b", "*a*", "<b>x</b>", "`x`", "$x$", "[x](y)", r"a\b", "&lt;", "~~x~~", "a_b_c", "# x"])
def test_plain_text_has_no_markup_left(text):
    shown = plain(text)
    assert html.unescape(shown) == text
    assert not set(re.sub(r"&#\d+;", "", shown)) & set("&<>|*_`$[]\\~#^")


@pytest.mark.parametrize(("text", "shown"), [("a\x00b", r"a&#92;x00b"), ("\ud800", "&#92;ud800"), ("3\n7", "3&#92;n7"),
                                             ("３×é", "３×é")])
def test_plain_shows_what_cannot_be_seen(text, shown):
    assert plain(text) == shown


# ── the battery ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def results():
    return attacks.run_battery(["recursive", "final"])


def test_the_battery_covers_every_text_case(results):
    texts = {one.name for one in cases() if isinstance(one.reply, str)}
    assert set(results["final"]) == set(results["recursive"]) == texts
    assert set(results["final"].values()) == {FINE}
    assert results["recursive"]["3000 parentheses"] == RAISED
    assert results["recursive"]["full width"] == PAID
    assert results["recursive"]["plain"] == FINE


def test_the_summary_counts(results, each_language):
    lines = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in
             attacks.summary(results).data.splitlines()[2:]]
    assert [line[0] for line in lines[:-1]] == [title for kind, title in kinds().items() if kind != "shape"]
    for column in (1, 2, 3):
        assert sum(int(line[column]) for line in lines[:-1]) == int(lines[-1][column])
    assert int(lines[-1][1]) == len(results["final"])
    assert int(lines[-1][2]) == sum(verdict != FINE for verdict in results["recursive"].values())
    assert int(lines[-1][3]) == 0


def test_the_map_has_a_cell_a_case(results, each_language):
    figure = attacks.picture(results)
    axes = figure.axes[0]
    signs = [text.get_text() for text in axes.texts if text.get_text() in {sign for _, sign in attacks.LOOKS.values()}]
    assert len(signs) == 2 * len(results["final"])
    assert signs[len(results["final"]) :] == [attacks.LOOKS[FINE][1]] * len(results["final"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["recursive", "final"]
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() not in
             {sign for _, sign in attacks.LOOKS.values()}]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]), "titles of kinds overlap"
