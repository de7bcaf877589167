"""The explanation agrees with the reward, has a sentence for every rule and quotes what breaks it."""
import ast
import inspect
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.countdown import compute_score, verifier
from lib.countdown.battery import cases, with_form
from lib.countdown.explain import Explanation, explain

NUMS, TARGET = [3, 7, 10], 31
CYRILLIC, LATIN = re.compile("[А-Яа-яЁё]"), re.compile("[A-Za-z]")


def check_agrees(reply, nums, target) -> Explanation:
    """What any explanation must be: the reward's verdict, in two short sentences that can be shown and stored."""
    said = explain(reply, nums, target)
    score = compute_score("countdown", reply, {"nums": nums, "target": target})
    assert (said.form, said.right) == (score["format"] == 1.0, score["acc"] == 1.0)
    assert (type(said.form), type(said.right)) == (bool, bool)
    for why in (said.form_why, said.right_why):
        assert 0 < len(why) < 400
        assert why.isprintable()                 # hence one line, and no half characters
        why.encode()
    return said


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_it_agrees_with_the_verdict_of_every_case(case, each_language):
    said = check_agrees(case.reply, case.nums, case.target)
    assert (said.form, said.right) == (case.form, case.right)


@settings(max_examples=1000)
@given(data=st.data(), target=st.integers(-5, 50) | st.just(31) | st.fractions(max_denominator=5))
def test_it_agrees_with_the_reward_on_any_text(data, target, texts, numbers):
    check_agrees(data.draw(texts), data.draw(numbers), target)


def other_language(why: str, language: str) -> bool:
    """Whether words of the wrong language stand in a sentence. Tags and quoted text are no words."""
    words = re.sub(r"</?\w+>|…|'.*?'", " ", why)
    return bool(CYRILLIC.search(words)) == (language == "en") or (language == "ru" and bool(LATIN.search(words)))


# ── a sentence for each rule ──────────────────────────────────────────────────────────────────────────────────────────
FORM = {            # the rule, a reply that breaks it, what its sentence must hold
    None: ("<think>a</think><answer>b</answer>", []),
    "tags": ("<think>a<think>b</think><answer>c</answer>", ["<think>", "2"]),
    "order": ("<answer>b</answer><think>a</think>", ["<think> </think> <answer> </answer>"]),
    "outside": ("\n!?\n<think>a</think><answer>b</answer>", [" !?"]),
    "blank": ("<think>a</think><answer>\xa0</answer>", []),
}
ANSWER = {
    None: ("3*7+10", ["31"]),
    "empty": (" \n", []),
    "character": ("3*7+10=31", ["="]),
    "zeros": ("007+3", ["007"]),
    "numbers": ("3*7+8", ["10", "8"]),
    "grammar": ("3*7--10", ["--"]),
    "division": ("10/(7-7)+3", []),
    "value": ("3*7-10", ["11", "31"]),
}
TASKS = {"division": [3, 7, 7, 10]}


def rules(function) -> set[str]:
    """The names of the rules that a function of the verifier refuses by."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(function))) if isinstance(node, ast.Call)]
    return {call.args[0].value for call in calls if ast.unparse(call.func) == "Fault"}


def test_the_tables_above_hold_every_rule():
    assert set(FORM) == {None} | rules(verifier.format_fault)
    assert set(ANSWER) == {None} | rules(verifier.refusal) | rules(verifier.evaluate)


@pytest.mark.parametrize("rule", FORM)
def test_every_rule_of_the_form_has_its_sentence(rule, each_language):
    reply, pieces = FORM[rule]
    said = check_agrees(reply, NUMS, TARGET)
    assert said.form == (rule is None)
    assert [piece for piece in pieces if piece not in said.form_why] == []
    assert not other_language(said.form_why, each_language)


@pytest.mark.parametrize("rule", ANSWER)
def test_every_rule_of_the_answer_has_its_sentence(rule, each_language):
    expr, pieces = ANSWER[rule]
    said = check_agrees(with_form(expr), TASKS.get(rule, NUMS), TARGET)
    assert said.right == (rule is None)
    assert [piece for piece in pieces if piece not in said.right_why] == []
    assert not other_language(said.right_why, each_language)


def test_each_rule_has_a_sentence_of_its_own(each_language):
    form = {explain(reply, NUMS, TARGET).form_why for reply, _ in FORM.values()}
    answer = {explain(with_form(expr), TASKS.get(rule, NUMS), TARGET).right_why for rule, (expr, _) in ANSWER.items()}
    assert len(form) == len(FORM)
    assert len(answer) == len(ANSWER)


# ── what the sentences say ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("expr", "nums", "target", "why"), [
    ("3*7", NUMS, 31, "not used: 10"),
    ("3*7+10+7+7+0", NUMS, 31, "not given, or used too often: 7, 0"),
    ("3*8+8", NUMS, 31, "not used: 7, 10; not given, or used too often: 8"),
    ("(((", NUMS, 31, "not used: 3, 7, 10"),
    ("3", [3, -7], 31, "not used: -7"),
    ("3", [3, 0.5], 31, "not used: 1/2"),
    ("1-3/2", [1, 2, 3], 31, "the value is -1/2, not 31"),
    ("3/(2-4)", [2, 3, 4], 3.5, "the value is -3/2, not 7/2"),
    ("4/2*3", [2, 3, 4], -6, "the value is 6, not -6"),
    ("0/(2-4)", [2, 0, 4], 1, "the value is 0, not 1"),
    ("7/2", [7, 2], 3.5, "each number once, and the value is 7/2"),
    ("2-2", [2, 2], Fraction(1, 10**70), "the value is 0, not a number of more than 60 digits"),
    ("0" * 30, NUMS, 31, f"{'0' * 30} has leading zeros"),
    ("0" * 31, NUMS, 31, f"{'0' * 29}… has leading zeros"),
    ("3*7+10)", NUMS, 31, "this is not an expression: it breaks at )"),
    ("3*7+10\t\x1c", NUMS, 31, r"the answer has a character that no expression has: '\x1c'"),
    ("3*7+10\ud800", NUMS, 31, r"the answer has a character that no expression has: '\ud800'"),
    ("３*7", NUMS, 31, "the answer has a character that no expression has: ３"),
])
def test_sentences_on_the_answer(expr, nums, target, why):
    assert check_agrees(with_form(expr), nums, target).right_why == why


@pytest.mark.parametrize(("reply", "form_why", "right_why"), [
    ("", "<think> must occur exactly once, it occurs 0 times", "there is no <answer> … </answer>"),
    (None, "<think> must occur exactly once, it occurs 0 times", "there is no <answer> … </answer>"),
    ("<think><answer>3*7+10</answer></think>", "the tags stand in another order than <think> </think> <answer> </answer>",
     "after the last </think> there is no <answer> … </answer>"),
    ("<think>x</think>", "<answer> must occur exactly once, it occurs 0 times", "there is no <answer> … </answer>"),
    ("<think>x</think>\u200b<answer>3*7+10</answer>", r"outside the two blocks stands '\u200b'",
     "each number once, and the value is 31"),
    ("a\n\n<think>x</think><answer>3*7+10</answer>\u202e", r"outside the two blocks stands 'a\n\n\u202e'",
     "each number once, and the value is 31"),
])
def test_sentences_on_the_form(reply, form_why, right_why):
    assert check_agrees(reply, NUMS, TARGET) == (False, form_why, right_why.startswith("each"), right_why)


MEGABYTE = 10**6


@pytest.mark.parametrize("reply", [
    "x" * MEGABYTE, "<think>" * (MEGABYTE // 7), "\ud800" * MEGABYTE + with_form("3*7+10"),
    with_form("3*7+10") + "\U000e0001" * MEGABYTE, with_form("9" * MEGABYTE), with_form("0" * MEGABYTE),
    with_form("+".join(map(str, range(10**5)))), with_form("+".join(["9" * 1000] * 1000)), with_form("\x00" * MEGABYTE),
    with_form("(" * MEGABYTE + "3*7+10"), with_form("3*7+10" + "-" * MEGABYTE)], ids=range(11))
def test_sentences_stay_short(reply, each_language):
    check_agrees(reply, NUMS, TARGET)


@pytest.mark.parametrize("join", ["*", "+", "/"])
def test_values_that_python_would_not_print_are_told(join, each_language):
    """5000 numbers of three digits: Python refuses to write their product."""
    said = check_agrees(with_form(join.join(["991"] * 5000)), [991] * 5000, Fraction(10**5000, 3))
    assert "60" in said.right_why
    assert not other_language(said.right_why, each_language)


def test_a_task_of_many_numbers_is_told_in_short(each_language):
    said = check_agrees(with_form("1"), list(range(10**5)), 1)
    assert "0, 2, 3" in said.right_why


def test_a_broken_task_is_told(each_language):
    for nums, target in ((None, 31), (["3"], 31), ([3], None), ([3], True)):
        with pytest.raises(ValueError):
            explain("no answer", nums, target)
