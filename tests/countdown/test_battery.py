"""The battery: the reward passes every case, and a reward with one of the usual faults does not."""
import ast
import html
import importlib.util
import operator
import os
import re
import sys
import time
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from lib.countdown import compute_score, correctness_reward, format_reward, rewards
from lib.countdown.battery import Case, case, cases, kinds, with_form
from lib.countdown.rewards import text_of
from lib.countdown.verifier import TAGS, TOKEN, WHITE, Fault, evaluate, final_answer, format_fault, refusal

CASES = cases()
OUTSIDE = Path(__file__).parents[3] / "shared" / "cases"     # a larger battery that some checkouts have beside them


def verdict(reply, nums, target) -> tuple[bool, bool]:
    """(form, right) as both frameworks are told it."""
    form, = format_reward([reply])
    right, = correctness_reward([reply], nums=[nums], target=[target])
    assert form in (0.0, 0.2)
    assert right in (0.0, 1.0)
    score = compute_score("countdown", reply, {"nums": nums, "target": target})
    assert score == {"score": right + form, "acc": right, "format": float(form > 0)}
    return form == 0.2, right == 1.0


# ── the cases ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_reward_gives_the_right_verdict(case):
    assert verdict(case.reply, case.nums, case.target) == (case.form, case.right)


def test_a_batch_gives_each_reply_its_own_verdict():
    """With the numbers and the target of its row, not of another."""
    columns = {"nums": [case.nums for case in CASES], "target": [case.target for case in CASES]}
    replies = [case.reply for case in CASES]
    assert format_reward(replies, **columns) == [0.2 * case.form for case in CASES]
    assert correctness_reward(replies, **columns) == [1.0 * case.right for case in CASES]


def test_names_are_unique_and_every_kind_has_cases(each_language):
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
    assert list(dict.fromkeys(case.kind for case in cases())) == list(kinds())
    assert all(case.name.isascii() and case.name.isprintable() for case in cases())
    assert all(text.strip() for text in [*kinds().values(), *(case.why for case in cases())])


def test_each_pair_of_verdicts_has_cases():
    """So a reward that always pays fails, and one that never does, and one that pays both or neither."""
    verdicts = Counter((case.form, case.right) for case in CASES)
    assert set(verdicts) == {(True, True), (True, False), (False, True), (False, False)}
    assert min(verdicts.values()) >= 8


def test_languages_differ_in_words_alone(monkeypatch):
    told = {}
    for language in ("en", "ru"):
        monkeypatch.setenv("COURSE_LANG", language)
        told[language] = cases()
        assert all(re.search("[А-Яа-я]", text) is not None for text in kinds().values()) == (language == "ru")
    same = [[case._replace(why="") for case in told[language]] for language in told]
    assert same[0] == same[1]
    assert all(en.why != ru.why for en, ru in zip(*told.values(), strict=True))
    assert not any(re.search("[А-Яа-я]", case.why) for case in told["en"])


def test_a_case_by_its_name():
    found = case("thirds")
    assert found == Case("thirds", "honest", with_form("8/(3-8/3)"), True, True, found.why, [8, 8, 3, 3], 24)
    with pytest.raises(KeyError):
        case("no such case")


# ── rewards with one fault each ───────────────────────────────────────────────────────────────────────────────────────
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
DIGITS = re.compile("[0-9]+")


def as_python_reads_it(numbers, divide=operator.truediv):
    """A refusal that takes all arithmetic of Python's. numbers: which numbers it sees in (expression, syntax tree)."""
    def fold(node):
        match node:
            case ast.Constant(value=int() | float() as value):
                return Fraction(value)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                return -fold(inner) if isinstance(sign, ast.USub) else fold(inner)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return divide(fold(left), fold(right))
            case ast.BinOp(left=left, op=op, right=right):
                return BINARY[type(op)](fold(left), fold(right))
        raise ValueError(node)

    def faulty(expr, given, goal):
        tree = ast.parse(expr.strip(), mode="eval").body
        if Counter(map(int, numbers(expr, tree))) != Counter(map(int, given)):
            return Fault("numbers")
        return None if fold(tree) == Fraction(*goal) else Fault("value")
    return faulty


def constants(expr, tree):
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]


def digits(expr, tree):
    return DIGITS.findall(expr)


def rewritten(change):
    """A refusal that first mends the expression: the fault of rewards that meet the model halfway."""
    return lambda expr, given, goal: refusal(change(expr), given, goal)


def counting(enough):
    """A refusal that is content with other numbers. enough: (used, given) -> bool."""
    def faulty(expr, given, goal):
        used = DIGITS.findall(expr)
        return refusal(expr, used, goal) if enough(Counter(used), Counter(given)) else Fault("numbers")
    return faulty


def close(same):
    """A refusal that compares the value by another measure than equality. same: (value, goal) -> bool."""
    def faulty(expr, given, goal):
        fault = refusal(expr, given, goal)
        if fault != Fault("value"):
            return fault
        return None if same(Fraction(*evaluate(TOKEN.findall(expr))), Fraction(*goal)) else fault
    return faulty


def other_digits(known):
    """A refusal for which characters of other alphabets are digits. known: which."""
    return rewritten(lambda expr: "".join(str(int(c)) if known(c) else c for c in expr))


def too_narrow(banned):
    """A refusal that refuses more than it should. banned: a regular expression."""
    return lambda expr, given, goal: Fault("banned") if re.search(banned, expr) else refusal(expr, given, goal)


def parsed_first(expr, given, goal):
    """A refusal that reads every number before it knows whether it was given."""
    same = Counter(map(int, DIGITS.findall(expr))) == Counter(map(int, given))
    return refusal(expr, given, goal) if same else Fault("numbers")


def glued(expr, given, goal):
    """A refusal that counts the numbers and only then takes the white space away."""
    same = Counter(DIGITS.findall(expr)) == Counter(given)
    expr = "".join(expr.split())
    return refusal(expr, DIGITS.findall(expr), goal) if same else Fault("numbers")


def recursive(expr, given, goal):
    """A refusal that calls itself for each pair of parentheses around everything."""
    whole = expr.startswith("(") and expr.endswith(")")
    return recursive(expr[1:-1], given, goal) if whole else refusal(expr, given, goal)


def searched(pattern, which=-1):
    """A final_answer by a regular expression: the last of its matches, or another."""
    return lambda text: found[which] if (found := re.findall(pattern, text, re.DOTALL)) else None


def matching(pattern, flags=re.DOTALL, visible=lambda block: True):
    """A format_fault by a regular expression. visible: what both blocks must be."""
    def faulty(text):
        match = re.search(pattern, text, flags)
        return None if match and all(map(visible, match.groups())) else Fault("form")
    return faulty


def without(*rules):
    """A format_fault that does not know some of the rules."""
    return lambda text: None if (fault := format_fault(text)) and fault.rule in rules else fault


def message(choose):
    """A text_of for which another message of a chat counts. choose: (messages) -> message."""
    return lambda reply: text_of([choose(reply)] if isinstance(reply, list) and reply else reply)


CLOSED = "<answer>(.*?)</answer>"
LAZY = r"^\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*$"
# Which function of the reward is at fault, how, and the cases that find it.
FAULTS = {
    "the first answer": ("final_answer", searched(CLOSED, 0), ["list", "correction", "echo"]),
    "a thought's answer": ("final_answer", searched(CLOSED), ["reversed"]),
    "answers after a thought alone": (
        "final_answer", lambda text: final_answer(text) if "</think>" in text else None, ["no thought", "open thought"]),
    "up to the last closing tag": ("final_answer", searched("<answer>(.*)</answer>"), ["second closing"]),
    "no closing tag needed": (
        "final_answer", lambda text: text.rpartition("<answer>")[2].partition("</answer>")[0], ["cut off", "opened again"]),
    "no tags needed": ("final_answer", lambda text: final_answer(text) if "<answer>" in text else text, ["bare"]),
    "after the first thought": (
        "final_answer", lambda text: final_answer(text.split("</think>", 1)[-1].replace("</think>", "")), ["closed again"]),
    "the last match": ("final_answer", lambda text: searched(CLOSED)(text.rpartition("</think>")[2]), ["opened twice"]),
    "HTML is read": ("final_answer", lambda text: final_answer(html.unescape(text)), ["escaped"]),

    "a lazy expression": ("format_fault", matching(LAZY), ["two thoughts", "nested", "empty", "no-break space"]),
    "a lazy expression by the line": ("format_fault", matching(LAZY, re.NOFLAG), ["lines"]),
    "not anchored": ("format_fault", matching(LAZY.strip("^$")), ["preface", "postscript"]),
    "each tag occurs": (
        "format_fault", lambda text: None if all(tag in text for tag in TAGS) else Fault("tags"),
        ["sprayed", "crossed", "reversed", "two thoughts"]),
    "each tag once": (
        "format_fault", lambda text: None if all(text.count(tag) == 1 for tag in TAGS) else Fault("tags"),
        ["sprayed", "crossed", "reversed", "preface"]),
    "any order": ("format_fault", without("order"), ["sprayed", "crossed", "reversed"]),
    "anything outside": ("format_fault", without("outside"), ["preface", "postscript", "half a million spaces"]),
    "blank blocks": ("format_fault", without("blank"), ["empty", "blank", "invisible"]),
    "strip() outside": ("format_fault", lambda text: format_fault(text.replace("\xa0", " ")), ["no-break space"]),
    "strip(WHITE) inside": ("format_fault", matching(LAZY, visible=lambda block: block.strip(WHITE)), ["invisible"]),
    "any name of a tag": ("format_fault", lambda text: format_fault(text.replace("thinking", "think")), ["other tag"]),
    "the last line alone": ("format_fault", lambda text: format_fault(text.strip().split("\n")[-1]), ["lines"]),
    "a limit of length": ("format_fault", lambda text: format_fault(text[:10_000]), ["long thought"]),

    "numbers not checked": ("refusal", counting(lambda used, given: True), ["twice", "extra", "target", "missing"]),
    "numbers as a set": ("refusal", counting(lambda used, given: used.keys() == given.keys()), ["all and twice"]),
    "numbers at most once": ("refusal", counting(lambda used, given: used <= given), ["missing"]),
    "numbers at least once": ("refusal", counting(lambda used, given: used >= given), ["extra", "all and twice"]),
    "digits counted": (
        "refusal", counting(lambda used, given: Counter("".join(used.elements())) == Counter("".join(given.elements()))),
        ["glued"]),
    "leading zeros": ("refusal", rewritten(lambda expr: re.sub("(?<![0-9])0+(?=[0-9])", "", expr)), ["leading zero"]),
    "isdigit": ("refusal", other_digits(str.isdigit), ["circled", "Arabic digits"]),
    "isdecimal": ("refusal", other_digits(str.isdecimal), ["Arabic digits", "full width"]),
    "Python's arithmetic, numbers by digits": (
        "refusal", as_python_reads_it(digits),
        ["decimal", "leading dot", "floor", "power", "modulo", "double sign", "times minus", "continuation"]),
    "Python's arithmetic, numbers by words": (
        "refusal", as_python_reads_it(lambda expr, tree: re.findall(r"\b\d+\b", expr)), ["hidden exponents", "floor"]),
    "Python's arithmetic, numbers by syntax": (
        "refusal", as_python_reads_it(constants), ["exponent", "hexadecimal", "underscore", "comment", "continuation"]),

    "a tolerance of 1e-5": ("refusal", close(lambda value, goal: abs(value - goal) < 1e-5), ["tolerance"]),
    "floats": ("refusal", close(lambda value, goal: float(value) == float(goal)), ["float"]),
    "rounded": ("refusal", close(lambda value, goal: round(value) == goal), ["nearly"]),
    "value not checked": ("refusal", close(lambda value, goal: True), ["value", "nearly"]),
    "whole targets": ("refusal", lambda expr, given, goal: refusal(expr, given, (goal[0] // goal[1], 1)), ["half"]),
    "whole quotients": ("refusal", as_python_reads_it(digits, operator.floordiv), ["thirds", "half", "nearly"]),
    "division by zero gives 0": (
        "refusal", as_python_reads_it(digits, lambda a, b: a / b if b else 0), ["by zero", "zero by zero"]),
    "division by zero raises": ("refusal", as_python_reads_it(digits), ["by zero", "zero by zero"]),

    "a sign anywhere": (
        "refusal", rewritten(lambda expr: re.sub("(?<=[-+*/])-([0-9]+)", r"(-\1)", expr)), ["double sign", "times minus"]),
    "no sign": ("refusal", too_narrow(r"(^|\()\s*-"), ["sign first", "sign inside"]),
    "no parentheses": ("refusal", too_narrow(r"[()]"), ["parentheses", "sign inside", "3000 parentheses"]),
    "no white space": ("refusal", too_narrow(r"\s"), ["spaces"]),
    "white space dropped after the count": ("refusal", glued, ["side by side"]),
    "an operator left out": ("refusal", rewritten(lambda expr: re.sub(r"([0-9])\(", r"\1*(", expr)), ["call"]),
    "closed at the end": (
        "refusal", rewritten(lambda expr: expr + ")" * (expr.count("(") - expr.count(")"))), ["unclosed"]),
    "closed too often": (
        "refusal", rewritten(lambda expr: expr if "(" in expr else expr.replace(")", "")), ["closed twice"]),
    "^ is a power": ("refusal", lambda expr, *task: as_python_reads_it(digits)(expr.replace("^", "**"), *task), ["caret"]),
    "cut at =": ("refusal", rewritten(lambda expr: expr.split("=")[0]), ["equation", "equation and more"]),
    "× for *": ("refusal", rewritten(lambda expr: expr.replace("×", "*")), ["cross"]),
    "boxes opened": ("refusal", rewritten(lambda expr: re.sub(r"\\boxed\{(.*)\}", r"\1", expr)), ["LaTeX"]),
    "stars stripped": ("refusal", rewritten(lambda expr: expr.strip("*")), ["bold"]),
    "odd characters dropped": (
        "refusal", rewritten(lambda expr: re.sub(r"[^0-9+\-*/() ]", "", expr)),
        ["NUL", "surrogate", "quotes", "attribute", "walrus", "continuation"]),
    "written to a file": ("refusal", rewritten(lambda expr: expr.encode().decode()), ["surrogate"]),

    "numbers read first": ("refusal", parsed_first, ["4301 digits", "a million digits"]),
    "recursion": ("refusal", recursive, ["3000 parentheses"]),
    "a limit of tokens": ("refusal", too_narrow(r"(\S\s*){100}"), ["1000 numbers", "3000 parentheses"]),

    "the first message": ("text_of", message(lambda chat: chat[0]), ["last message"]),
    "anybody's message": ("text_of", message(lambda chat: {"content": chat[-1].get("content")}), ["tool's message"]),
    "messages with a role": ("text_of", message(lambda chat: {"role": "user"} | chat[-1]), ["no role"]),
    "all messages joined": (
        "text_of", message(lambda chat: {"content": [str(one.get("content")) for one in chat]}), ["last message"]),
    "the lesson's own": (
        "text_of", lambda reply: reply[0]["content"] if isinstance(reply, list) else reply,
        ["parts", "no content", "no messages", "nothing", "other"]),
}


def told(case):
    """The verdict, or the error in its place."""
    try:
        return verdict(case.reply, case.nums, case.target)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return error


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reward_with_a_fault_fails_the_cases_that_look_for_it(fault, monkeypatch):
    function, faulty, names = FAULTS[fault]
    looking = [case(name) for name in names]
    assert [told(one) for one in looking] == [(one.form, one.right) for one in looking]
    monkeypatch.setattr(rewards, function, faulty)
    assert [one.name for one in looking if told(one) == (one.form, one.right)] == []


# ── a larger battery, of other hands ──────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def outside(monkeypatch):
    """Its cases. It is no part of the project: without the folder beside it, and in CI, there is nothing to test."""
    if os.environ.get("CI") or not (OUTSIDE / "battery.py").exists():
        pytest.skip("no battery beside the project")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("outside_battery", OUTSIDE / "battery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.load())


def test_the_battery_beside_the_project(outside):
    assert len(outside) >= 100
    failed = []
    for one in outside:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            start = time.perf_counter()
            found = verdict(one["completion"], one["nums"], one["target"])
            seconds = time.perf_counter() - start
        if found != (one["format_ok"], one["correct"]):
            failed.append((one["id"], found))
        if seconds > one.get("max_s", 10):
            failed.append((one["id"], seconds))
        if one.get("no_warning") and warned:
            failed.append((one["id"], warned))
    assert failed == []
