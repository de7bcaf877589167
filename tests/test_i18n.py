"""Every string a learner sees is there in English and in Russian: a scan of the source, and the choice of the language."""
import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from lib.i18n import language, tr

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("lib/**/*.py"), *ROOT.glob("homework/**/*.py"), *ROOT.glob("notebooks/source/*.py"),
                  *ROOT.glob("check.py")])
CYRILLIC, LATIN = re.compile("[А-Яа-яЁё]"), re.compile("[A-Za-z]")
# The same in both languages: names and terms that Russian engineers write as they are.
SAME = {"GRPO", "loss", "learning rate", "beta (KL)", "CSV", "PNG"}
# Where strings may be handled outside a pair of literals: both languages at once (and an example of it in the module's
# docstring), and argparse's sentences one by one.
ELSEWHERE = {("lib/i18n.py", ""), ("lib/i18n.py", "language"), ("lib/cli.py", "_russian"), ("lib/cli.py", "error")}
# What shows its text to a learner: a literal with words in one of these calls must have gone through tr.
SHOWN = {"print", "write", "set_title", "set_xlabel", "set_ylabel", "suptitle", "ValueError", "SystemExit"}
# Not words: code, formulas, tags, a name with its value and names such as p_cot.
CODE = re.compile(r"<code>.*?</code>|`[^`]*`|\$[^$]*\$|<[^>]*>|\w+ = |\S*[_@=]\S*")


def literal(node):
    """(text without placeholders, placeholders) of a literal or an f-string; None for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, Counter()
    if isinstance(node, ast.JoinedStr):
        text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        return text, Counter(ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
    return None


def has_words(text, least=1):
    """Whether Latin words are left in a text once code and formulas are taken out of it."""
    return re.search(rf"[A-Za-z]{{{least}}}", CODE.sub(" ", text)) is not None


def is_pair(node):
    """A call with both languages: tr, or a helper of the module that hands its `en` and `ru` on to tr."""
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    return name == "tr" or {"en", "ru"} <= {keyword.arg for keyword in node.keywords}


def check_pair(call):
    """What is wrong with one pair, a sentence each."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if getattr(call.func, "id", "") == "tr" and (call.args or set(given) != {"en", "ru"}):
        yield "tr takes exactly en and ru"
        return
    if all(isinstance(given[x], ast.Name) and given[x].id == x for x in ("en", "ru")):
        return                                                      # handed on as it came
    en, ru = literal(given["en"]), literal(given["ru"])
    if en is None or ru is None:
        yield "en and ru must be literals or f-strings"
        return
    (english, english_places), (russian, russian_places) = en, ru
    if not (english + "".join(english_places)).strip() or not (russian + "".join(russian_places)).strip():
        yield "a language is empty"
    if CYRILLIC.search(english):
        yield "Cyrillic in the English text"
    same = english == russian and (english.strip() in SAME or not has_words(english))
    if LATIN.search(english) and not CYRILLIC.search(russian) and not same:
        yield "no Russian in the Russian text"
    if english_places != russian_places:
        yield f"other placeholders: {dict(english_places)} and {dict(russian_places)}"


def scan(source, path="lib/x.py"):
    """Faults of a source text: ['line: what']. `path` decides on the exceptions."""
    faults = []

    def visit(node, function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        free = (path, function) in ELSEWHERE
        if isinstance(node, ast.Call) and is_pair(node) and not free:
            faults.extend(f"{path}:{node.lineno}: {fault}" for fault in check_pair(node))
            for keyword in node.keywords:
                if keyword.arg not in ("en", "ru"):
                    visit(keyword.value, function)
            for argument in node.args:
                visit(argument, function)
            return
        in_lib = path.startswith("lib/") and not free
        if in_lib and isinstance(node, ast.Constant) and isinstance(node.value, str) and CYRILLIC.search(node.value):
            faults.append(f"{path}:{node.lineno}: Russian outside tr: {node.value[:40]!r}")
        if in_lib and isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            for argument in node.args if name in SHOWN else []:
                text = literal(argument)
                if text and has_words(text[0], least=3):
                    faults.append(f"{path}:{node.lineno}: {name} shows text that is not translated: {text[0][:40]!r}")
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(source), "")
    return faults


@pytest.mark.parametrize("path", SOURCES, ids=[path.relative_to(ROOT).as_posix() for path in SOURCES])
def test_every_string_is_there_in_both_languages(path):
    assert scan(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()) == []


def test_the_scan_reads_the_course():
    assert {ROOT / "lib/toy/grpo.py", ROOT / "lib/cli.py", ROOT / "lib/runlog/names.py"} <= set(SOURCES)
    pairs = sum(is_pair(node) for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Call))
    assert pairs > 60


GOOD = ['tr(en="reward", ru="награда")', 'tr(en=f"{n} steps", ru=f"шагов: {n}")', 'tr(en="GRPO", ru="GRPO")',
        'tr(en="± ", ru="± ")', "tr(en=en, ru=ru)", 'check(x, "B", en="at least 1", ru="не меньше 1")',
        'print(f"{a} {b:.2f}")', 'tr(en=f"{n} of {m}", ru=f"{n} из {m}")', 'open(path, encoding="utf-8")',
        'tr(en="<code>right</code>", ru="<code>right</code>")', 'axes.set_xlabel("$\\\\pi_\\\\mathrm{old}$")',
        'print(f"p_cot {x}: {found}")']
FAULTS = {
    'tr(en="reward")': "exactly",
    'tr("reward", "награда")': "exactly",
    'tr(en="reward", ru="награда", de="Belohnung")': "exactly",
    'tr(en="reward", ru="")': "empty",
    'tr(en=" ", ru="награда")': "empty",
    'tr(en="reward", ru="reward")': "no Russian",
    'tr(en="reward", ru="reward!")': "no Russian",
    'tr(en="rеward", ru="награда")': "Cyrillic in the English",          # the second letter is Russian
    'tr(en=f"{n} steps", ru="шагов")': "placeholders",
    'tr(en=f"{n} steps", ru=f"шагов: {m}")': "placeholders",
    'tr(en=f"{n} of {n}", ru=f"{n}, всего")': "placeholders",
    "tr(en=text, ru=texts[0])": "literals",
    'tr(en="a" + b, ru="б" + b)': "literals",
    'check(x, "B", en="at least 1", ru="at least 1")': "no Russian",
    'x = "награда"': "outside tr",
    'print(f"награда {x}")': "outside tr",
    'def f():\n    """Русский."""': "outside tr",
    'raise ValueError("this cannot work")': "not translated",
    'print(f"seed {seed}: done")': "not translated",
    'axes.set_title("reward")': "not translated",
    'check(f"{x} награда", en="reward", ru="награда")': "outside tr",
}


@pytest.mark.parametrize("source", GOOD)
def test_the_scan_passes_what_is_right(source):
    assert scan(source) == []


@pytest.mark.parametrize("source", FAULTS)
def test_the_scan_finds_a_planted_fault(source):
    assert [fault for fault in scan(source) if FAULTS[source] in fault]


def test_exceptions_hold_for_their_function_alone():
    hidden = 'def language():\n    raise ValueError("награда")'
    assert scan(hidden, "lib/i18n.py") == []
    assert scan(hidden, "lib/cli.py") != []
    assert scan(hidden.replace("language", "other"), "lib/i18n.py") != []


# ── which language ────────────────────────────────────────────────────────────────────────────────────────────────────
VARIABLES = ("COURSE_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.mark.parametrize(("values", "expected"), [
    ({}, "en"),
    ({"LANG": "ru_RU.UTF-8"}, "ru"),
    ({"LANG": "en_US.UTF-8"}, "en"),
    ({"LANG": "de_DE.UTF-8"}, "en"),
    ({"LANG": "C.UTF-8"}, "en"),
    ({"LANG": "RU_ru"}, "ru"),
    ({"LC_MESSAGES": "ru_RU.UTF-8", "LANG": "en_US.UTF-8"}, "ru"),
    ({"LC_MESSAGES": "en_US.UTF-8", "LANG": "ru_RU.UTF-8"}, "en"),
    ({"LC_ALL": "en_US.UTF-8", "LC_MESSAGES": "ru_RU.UTF-8", "LANG": "ru_RU.UTF-8"}, "en"),
    ({"LC_ALL": "", "LC_MESSAGES": "", "LANG": "ru_RU.UTF-8"}, "ru"),          # empty is not set
    ({"COURSE_LANG": "en", "LC_ALL": "ru_RU.UTF-8"}, "en"),
    ({"COURSE_LANG": "ru", "LC_ALL": "en_US.UTF-8"}, "ru"),
    ({"COURSE_LANG": " RU ", "LANG": "en_US.UTF-8"}, "ru"),
    ({"COURSE_LANG": "", "LANG": "ru_RU.UTF-8"}, "ru"),
])
def test_language(monkeypatch, values, expected):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert language() == expected
    assert tr(en="reward", ru="награда") == {"en": "reward", "ru": "награда"}[expected]


@pytest.mark.parametrize("value", ["xx", "de", "english", "ru_RU.UTF-8"])
def test_a_language_that_the_course_does_not_have(monkeypatch, value):
    monkeypatch.setenv("COURSE_LANG", value)
    with pytest.raises(ValueError, match=re.escape(f"COURSE_LANG={value.lower()!r}")):
        tr(en="reward", ru="награда")


def test_a_missing_language_cannot_be_written():
    with pytest.raises(TypeError):
        tr(en="reward")
    with pytest.raises(TypeError):
        tr("reward", "награда")


def test_the_language_can_change_between_two_calls(monkeypatch):
    said = []
    for chosen in ("en", "ru", "en"):
        monkeypatch.setenv("COURSE_LANG", chosen)
        said.append(tr(en="reward", ru="награда"))
    assert said == ["reward", "награда", "reward"]
