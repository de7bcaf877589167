"""The verifier against independent judges: Python's parser, a grammar read letter by letter, one regular expression."""
import ast
import itertools
import operator
import re
import time
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lib.countdown import check_expression, compute_score, correctness_reward, format_reward
from lib.countdown.explain import explain
from lib.countdown.verifier import Fault, evaluate, final_answer, format_fault, refusal

WHITE = " \t\n\v\f\r"
NUMBER = re.compile("[0-9]+")
# Characters that some reward somewhere has taken for a digit, an operator, a space or nothing.
NASTY = ("0123456789+-*/() \t\n\v\f\r.,eEjJxX_=^%~!&|@#:;'\"`\\$<>[]{}\x00\x1c\x1d\x1e\x1f\x7f\x85\xa0\xad"
         "×÷·∙−–—⁄∕＋＊（）３٣③²½〇\u2003\u2028\u200b\u202e\u3000\ufeff\ud800\U0001f914\U0001d7d1")


# ── independent judges ────────────────────────────────────────────────────────────────────────────────────────────────
def by_python(expr: str) -> Fraction:
    """The exact value as Python's own parser reads it: for expressions that these tests wrote. Raises ZeroDivisionError."""
    operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
                 ast.UAdd: operator.pos, ast.USub: operator.neg}

    def fold(node):
        match node:
            case ast.Constant(value=int() as number):
                return Fraction(number)
            case ast.UnaryOp(op=sign, operand=inner):
                return operators[type(sign)](fold(inner))
            case ast.BinOp(left=left, op=sign, right=right):
                return operators[type(sign)](fold(left), fold(right))
        raise TypeError(node)
    return fold(ast.parse(expr.translate(dict.fromkeys(map(ord, WHITE), " ")).strip(), mode="eval").body)


def by_grammar(text: str) -> tuple[Fraction, list[int]]:
    """The exact value and the numbers of an expression, letter by letter. Raises SyntaxError, ZeroDivisionError.

    sum = [+-] product { [+-] product };  product = factor { [*/] factor };  factor = number | '(' sum ')';
    number = '0' | digit 1 … 9 { digit };  white space before any of these and at the end.
    """
    at, used = 0, []

    def take(letters):
        nonlocal at
        while at < len(text) and text[at] in WHITE:
            at += 1
        if at < len(text) and text[at] in letters:
            at += 1
            return text[at - 1]
        return ""

    def sum_():
        nonlocal at
        value = -product() if take("+-") == "-" else product()
        while sign := take("+-"):
            value = value + product() if sign == "+" else value - product()
        return value

    def product():
        value = factor()
        while sign := take("*/"):
            value = value * factor() if sign == "*" else value / factor()
        return value

    def factor():
        nonlocal at
        if take("("):
            value = sum_()
            if not take(")"):
                raise SyntaxError
            return value
        number = take("0123456789")
        while number not in ("", "0") and at < len(text) and text[at] in "0123456789":
            number += text[at]
            at += 1
        if not number or (number == "0" and at < len(text) and text[at] in "0123456789"):
            raise SyntaxError
        used.append(int(number))
        return Fraction(number)

    value = sum_()
    take("")
    if at < len(text):
        raise SyntaxError
    return value, sorted(used)


def solves(expr: str, nums: list[int], target) -> bool:
    try:
        return by_grammar(expr) == (target, sorted(nums))
    except (SyntaxError, ZeroDivisionError):
        return False


W, ANYTHING = rf"[{WHITE}]*", r"((?:(?!</?(?:think|answer)>).)*)"      # up to the next of the four tags
FORM = re.compile(f"{W}<think>{ANYTHING}</think>{W}<answer>{ANYTHING}</answer>{W}", re.DOTALL)


def has_form(text: str) -> bool:
    match = FORM.fullmatch(text)
    return match is not None and not any(block == "" or block.isspace() for block in match.groups())


def answer_by_index(text: str) -> str | None:
    """The final answer, each clause of the rule in its own words."""
    thoughts = [i for i in range(len(text)) if text[i : i + 8] == "</think>"]
    after = text[thoughts[-1] + 8 :] if thoughts else text
    closed = [i for i in range(len(after)) if after[i : i + 9] == "</answer>"]
    opened = [i for i in range(len(after)) if after[i : i + 8] == "<answer>" and any(j >= i + 8 for j in closed)]
    return after[opened[-1] + 8 : min(j for j in closed if j >= opened[-1] + 8)] if opened else None


def test_the_judges_themselves():
    """By hand: the other tests say as much as these functions are right."""
    assert by_python("-8/(3-8/3)\n*( +2)") == -48
    assert by_grammar(" -8/(3 -8/3)*( +2)\n") == (-48, [2, 3, 3, 8, 8])
    for wrong in ("", "()", "3 7", "3(7)", "(3)7", "3*-7", "--3", "3)", "(3", "03", "00", "1.5", "3//7", "3**7", "３"):
        with pytest.raises(SyntaxError):
            by_grammar(wrong)
    assert solves("3*7+10", [10, 3, 7], 31)
    assert not any([solves("3*7+10", [3, 7], 31), solves("3*7+10", [3, 7, 10], 30), solves("3/0", [3, 0], 0)])
    assert has_form("\v<think> < </think>\f\r<answer>x</answer>\n")
    assert not has_form("<think>a<think>b</think><answer>c</answer>")
    assert not has_form("<think>a</think><answer>\xa0</answer>")
    assert answer_by_index("<answer>a</answer><answer>b<answer>c</answer>d</answer><answer>e") == "c"
    assert answer_by_index("<answer>a</answer></think>") is None


# ── any text ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@settings(max_examples=1500)
@given(data=st.data(), target=st.integers(-5, 50) | st.just(31))
def test_no_text_raises_or_warns_and_all_entrances_agree(data, texts, numbers, target):
    text, nums = data.draw(texts), data.draw(numbers)
    form, right = format_reward([text]), correctness_reward([text], nums=[nums], target=[target])
    assert (form, right) == ([0.2 * has_form(text)], [1.0 * right[0]])
    answer = answer_by_index(text)
    assert right == [1.0 if answer is not None and solves(answer, nums, target) else 0.0]
    assert right == [1.0 if answer is not None and check_expression(answer, nums, target) else 0.0]
    assert compute_score("countdown", text, {"nums": nums, "target": target}) == {
        "score": right[0] + form[0], "acc": right[0], "format": float(form[0] > 0)}
    said = explain(text, nums, target)
    assert (said.form, said.right) == (form[0] > 0, right[0] > 0)


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def formed(expr):
    return f"<think>t</think><answer>{expr}</answer>"


FLOODS = {      # texts of about n characters
    "<": lambda n: "<" * n,
    ">": lambda n: ">" * n,
    "</answer": lambda n: "</answer" * (n // 8),
    "<think>": lambda n: "<think>" * (n // 7),
    "</think>": lambda n: "</think>" * (n // 8),
    "<answer>": lambda n: "<answer>" * (n // 8) + "</answer>",
    "</answer>": lambda n: "<answer>" + "</answer>" * (n // 9),
    "empty answers": lambda n: "<think>t</think>" + "<answer></answer>" * (n // 17) + "x",
    "answers in thoughts": lambda n: "<think><answer>3*7+10</answer></think>" * (n // 38),
    "thought, then answers": lambda n: "<think>" + "</think><answer>" * (n // 32) + "</answer>" * (n // 18) + "x",
    "answers opened, answers closed": lambda n: "<answer>" * (n // 16) + "</answer>" * (n // 18),
    "spaces": lambda n: " " * n,
    "spaces before": lambda n: " " * n + formed("3*7+10"),
    "spaces between": lambda n: "<think>t</think>" + " " * n + "x<answer>3*7+10</answer>",
    "spaces after": lambda n: formed("3*7+10") + " " * n + "x",
    "spaces in runs": lambda n: formed("3*7+10") + (" " * 1000 + "x") * (n // 1001),
    "spaces in blocks": lambda n: "<think>" + " " * (n // 2) + "</think><answer>" + "\xa0" * (n // 2) + "</answer>",
    "spaces in the expression": lambda n: formed(" " * (n // 3) + "3*7" + "\n" * (n // 3) + "+10" + "\t" * (n // 3)),
    "parentheses, right": lambda n: formed("(" * (n // 2) + "3*7+10" + ")" * (n // 2)),
    "parentheses open": lambda n: formed("(" * n + "3*7+10"),
    "parentheses closed": lambda n: formed("3*7+10" + ")" * n),
    "empty parentheses": lambda n: formed("3*7+10" + "()" * (n // 2)),
    "negations, right": lambda n: formed("-(" * (n // 6 * 2) + "3*7+10" + ")" * (n // 6 * 2)),
    "signs": lambda n: formed("3*7+" + "-" * n + "10"),
    "signs and spaces": lambda n: formed("3*7+" + "- " * (n // 2) + "10"),
    "stars": lambda n: formed("3" + "*" * n + "7"),
    "one number": lambda n: formed("9" * n),
    "three numbers": lambda n: formed("+".join(["9" * (n // 3)] * 3)),
    "zeros": lambda n: formed("0" * n + "3*7+10"),
    "many numbers": lambda n: formed("1+" * (n // 2) + "1"),
    "many different numbers": lambda n: formed("+".join(map(str, range(10**6, 10**6 + n // 8)))),
    "numbers side by side": lambda n: formed("3 " * (n // 2)),
    "zero divided": lambda n: formed("3/" * (n // 2) + "0"),
    "points": lambda n: formed("." * n),
    "another character at the end": lambda n: formed("3" * n + "="),
    "other digits": lambda n: formed("٣" * n),
    "wide characters": lambda n: formed("\U0001f914" * n),
    "half characters": lambda n: "\ud800" * n,
    "long thought": lambda n: f"<think>{'3*7=21; ' * (n // 8)}</think><answer>3*7+10</answer>",
    "everything": lambda n: "<think>3*7+ (\xa0</answer>)-\n<answer>00</think>" * (n // 44),
}


def judge(text):
    compute_score("countdown", text, {"nums": [3, 7, 10], "target": 31})
    explain(text, [3, 7, 10], 31)


def is_linear(work, flood, n=250_000):
    """Whether four times the text takes about four times the time, a megabyte far less than a second (best of a few tries).

    The bound of 9 is that of 3 for twice the text, with more room on either side: quadratic work takes 16 times as long.
    The time is the processor's: what other programs do meanwhile counts only as far as they share its core.
    """
    def seconds(text):
        start = time.thread_time()
        work(text)
        return time.thread_time() - start

    short, long = flood(n), flood(4 * n)
    times = []
    for _ in range(8):
        times.append((seconds(short), seconds(long)))
        once, four = map(min, zip(*times, strict=True))
        if four < min(1.0, 9 * once + 0.01):
            return True
    return False


@pytest.mark.parametrize("flood", FLOODS)
def test_time_is_linear(flood):
    assert 0.9e6 < len(FLOODS[flood](10**6)) < 1.1e6
    assert is_linear(judge, FLOODS[flood])


def test_quadratic_time_is_found():
    trailing = re.compile(r"\s+$")
    assert not is_linear(trailing.search, FLOODS["spaces after"], n=4_000)
    assert is_linear(re.compile(r"\S+$").search, FLOODS["spaces after"], n=4_000)


def test_time_is_linear_in_the_numbers_that_were_given():
    """A task of many numbers: not reduced, fractions grow no further than the numbers put together."""
    nums = [n for n in range(2, 1002) for _ in "ab"]
    expr = "+".join(f"{n}/{n}" for n in range(2, 1002))
    assert check_expression(expr, nums, 1000)
    assert not check_expression(expr.replace("+", "*"), nums, 1000)


# ── expressions, right and wrong ──────────────────────────────────────────────────────────────────────────────────────
SPACES = st.sampled_from(["", "", "", " ", "\t", "\n", " \r\n", "\v\f"])
NUMBERS = [*map(str, range(13)), "100", "9007199254740993"]


@st.composite
def expressions(draw, depth=3):
    """Text of a legal expression: sums of products of numbers and sums in parentheses, any ASCII white space between."""
    def token(options):
        return draw(st.sampled_from(options)) + draw(SPACES)

    text = token(["", "", "-", "+"])
    for i in range(draw(st.sampled_from([1, 1, 2, 3]))):
        if i:
            text += token("+-*/")
        if depth and draw(st.integers(0, 2)) == 0:
            text += token("(") + draw(expressions(depth - 1)) + token(")")
        else:
            text += token(NUMBERS)
    return text


def numbers_of(expr):
    return [int(number) for number in NUMBER.findall(expr)]


@settings(max_examples=300)
@given(expr=expressions(), data=st.data())
@example(expr="8/(3-8/3)", data=None)
@example(expr="-(-(+7))/2*2/(0-1)", data=None)
def test_a_legal_expression_is_right_for_its_value_and_no_other(expr, data):
    try:
        value = by_python(expr)
    except ZeroDivisionError:
        assume(False)
    nums = data.draw(st.permutations(numbers_of(expr))) if data else numbers_of(expr)
    assert by_grammar(expr) == (value, sorted(nums))              # the two judges agree as well
    assert check_expression(expr, nums, value)
    assert refusal(expr, [str(n) for n in nums], (value.numerator, value.denominator)) is None
    if value.denominator == 1:
        assert check_expression(expr, nums, int(value))
        assert correctness_reward([formed(expr)], nums=[nums], target=[int(value)]) == [1.0]
    for other in {value + 1, value - Fraction(1, 10**30), value * 2, -value, Fraction(0)} - {value}:
        assert not check_expression(expr, nums, other)
        assert refusal(expr, [str(n) for n in nums], (other.numerator, other.denominator)) == Fault("value")


@given(expr=expressions(), number=st.integers(0, 12), data=st.data())
def test_other_numbers_than_the_given_ones_are_refused(expr, number, data):
    nums = numbers_of(expr)
    at = data.draw(st.integers(0, len(nums) - 1))
    changed = [[*nums, number], nums[:at] + nums[at + 1 :], [*nums[:at], number, *nums[at + 1 :]], [-nums[0], *nums[1:]]]
    for other in changed:
        if sorted(other) != sorted(nums):
            fault = refusal(expr, [str(n) for n in other], (1, 1))
            assert fault == Fault("numbers")


@settings(max_examples=100)
@given(before=expressions(), zero=expressions(), target=st.integers(-2, 2))
def test_division_by_zero_is_wrong_for_every_target(before, zero, target):
    """A divisor that is a difference of equal sums, however they come to be."""
    expr = f"({before})/(({zero})-({zero}))"
    with pytest.raises(ZeroDivisionError):
        by_python(expr)
    given = NUMBER.findall(expr)
    assert refusal(expr, given, (target, 1)) == Fault("division")
    assert refusal(f"0*({expr})", [*given, "0"], (0, 1)) == Fault("division")
    assert refusal(f"0/({expr})", [*given, "0"], (0, 1)) == Fault("division")


def test_every_short_text_of_digits_and_signs():
    """All 66 000: taken for an expression if and only if the grammar has it."""
    seen = {"right": 0, "division": 0, "wrong": 0}
    for length in range(6):
        for letters in itertools.product("02+-*/() ", repeat=length):
            text = "".join(letters)
            given = [str(int(number)) for number in NUMBER.findall(text)]
            try:
                value, _ = by_grammar(text)
            except ZeroDivisionError:
                seen["division"] += 1
                assert refusal(text, given, (0, 1)) == Fault("division"), text
            except SyntaxError:
                seen["wrong"] += 1
                assert (refusal(text, given, (10**9, 7)) or Fault("value")).rule not in ("value", "character"), text
            else:
                seen["right"] += 1
                assert refusal(text, given, (value.numerator, value.denominator)) is None, text
                assert refusal(text, given, (value.numerator + 1, value.denominator)) == Fault("value"), text
    assert min(seen.values()) > 100


BASES = [("3*7+10", [3, 7, 10], 31), ("-7+3*10", [7, 3, 10], 23), (" 10 - (-3 * 7)", [3, 7, 10], 31),
         ("8/(3-8/3)", [8, 8, 3, 3], 24), ("((0))+1", [0, 1], 1), ("7/2", [7, 2], Fraction(7, 2))]


@pytest.mark.parametrize(("right", "nums", "target"), BASES, ids=[base[0] for base in BASES])
def test_every_edit_of_one_character(right, nums, target):
    """Each place, each character: paid if and only if the grammar still has it and its value holds."""
    places = range(len(right) + 1)
    edits = {right[:i] + c + right[i:] for i in places for c in NASTY}
    edits |= {right[:i] + c + right[i + 1 :] for i in places for c in ["", *NASTY]}
    edits |= {right[:i] + right[i + 1 : i + 2] + right[i : i + 1] + right[i + 2 :] for i in places}
    paid = [text for text in edits if check_expression(text, nums, target)]
    assert sorted(paid) == sorted(text for text in edits if solves(text, nums, target))
    assert 10 < len(paid) < len(edits) / 4      # white space at least is harmless, most else is not


@st.composite
def edited(draw):
    """(an expression that was right before a few edits, its numbers, its value)."""
    expr = draw(expressions())
    try:
        value = by_python(expr)
    except ZeroDivisionError:
        assume(False)
    text, nasty = expr, st.sampled_from(["", *NASTY]) | st.sampled_from(WHITE)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        removed = draw(st.sampled_from([0, 0, 1, 2]))
        text = text[:at] + draw(nasty) + text[at + removed :]
    return text, numbers_of(expr), value


@settings(max_examples=1000)
@given(edited())
def test_any_edits_of_a_right_answer(case):
    text, nums, value = case
    assert check_expression(text, nums, value) == solves(text, nums, value)
    score = compute_score("countdown", formed(text), {"nums": nums, "target": value})
    assert score["acc"] == (answer_by_index(formed(text)) == text and solves(text, nums, value))


@pytest.mark.parametrize(("expr", "value"), [("3*7+10", "31"), ("7/2-1", "5/2"), ("-(2-5)", "3"), ("1-(2-3)-4", "-2"),
                                             ("8/4/2", "1"), ("8/(4/2)", "4"), ("2-3*4-5", "-15"), ("-2/-(3-4)", None)])
def test_evaluate_keeps_the_order_of_operations(expr, value):
    found = evaluate(re.findall(r"\d+|\S", expr))
    assert found == Fault("grammar", "/-") if value is None else Fraction(*found) == Fraction(value)


# ── the form ──────────────────────────────────────────────────────────────────────────────────────────────────────────
TAGS = ["<think>", "</think>", "<answer>", "</answer>"]


def test_every_short_sequence_of_tags_has_the_form_or_not():
    """All 137 000 of up to six pieces, and those of perfect form in the middle of two more."""
    pieces = [*TAGS, " ", "\xa0", "x"]
    found = 0
    for length in range(7):
        for parts in itertools.product(pieces, repeat=length):
            text = "".join(parts)
            assert (format_fault(text) is None) == has_form(text), text
            found += has_form(text)
    assert found == 1
    for parts in itertools.product(["", *pieces, "\n", "\x1c", "<"], repeat=4):
        a, b, c, d = parts
        text = f"{a}<think>{b}</think>{c}<answer>{d}</answer>"
        assert (format_fault(text) is None) == has_form(text), text


@settings(max_examples=1000)
@given(data=st.data())
def test_the_form_of_a_reply_whose_pieces_were_shuffled_dropped_or_doubled(data):
    piece = st.sampled_from([*TAGS, *WHITE, "\x1c", "\x85", "\xa0", "\u3000", "\u200b", "a", "<", "think>", "</", "\ud800"])
    parts = ["<think>", "3*7", "</think>", "<answer>", "3*7+10", "</answer>"]
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(parts)))
        parts[at : at + data.draw(st.sampled_from([0, 0, 1]))] = data.draw(st.lists(piece, max_size=2))
    text = "".join(parts)
    assert (format_fault(text) is None) == has_form(text)


# ── which answer ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_answer_of_every_short_sequence_of_tags():
    for length in range(7):
        for parts in itertools.product([*TAGS[1:], "a", "/answer>"] if length == 6 else [*TAGS, "a", "b", "/answer>"],
                                       repeat=length):
            text = "".join(parts)
            assert final_answer(text) == answer_by_index(text), text


@given(st.lists(st.sampled_from([*TAGS, "a", "b", "c", "<", ">", "/", "answer>", "<answer", "</think"]), max_size=20))
def test_the_answer_of_a_long_sequence_of_tags(parts):
    text = "".join(parts)
    assert final_answer(text) == answer_by_index(text)


# ── the rule that is broken ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("text", "fault"), [
    ("", Fault("tags", "<think>")),
    ("<think>a<answer>b</answer>", Fault("tags", "</think>")),
    ("<think>a</think><answer>b</answer><answer>", Fault("tags", "<answer>")),
    ("<think>a</think><answer>b", Fault("tags", "</answer>")),
    ("<answer>b</answer><think>a</think>", Fault("order")),
    ("</think>a<think><answer>b</answer>", Fault("order")),
    ("<think>a<answer></think>b</answer>", Fault("order")),
    (" so\n<think>a</think> - <answer>b</answer>", Fault("outside", "so\n -")),
    ("<think>a</think><answer>b</answer>\x1c", Fault("outside", "\x1c")),
    ("<think> </think><answer>b</answer>", Fault("blank")),
    ("<think>a</think><answer>\u3000\n</answer>", Fault("blank")),
])
def test_what_is_wrong_with_the_form(text, fault):
    assert format_fault(text) == fault


@pytest.mark.parametrize(("expr", "fault"), [
    ("", Fault("empty")),
    (" \n\v", Fault("empty")),
    ("3*7+10=31", Fault("character", "=")),
    ("3*7+10\x1c", Fault("character", "\x1c")),
    ("３*7+10.", Fault("character", "３")),
    ("03*7+10", Fault("zeros", "03")),
    ("000", Fault("zeros", "000")),
    ("3*7", Fault("numbers")),
    ("3*7+10+0", Fault("numbers")),
    ("(((", Fault("numbers")),
    ("3 7+10", Fault("grammar", "7")),
    ("3(7)+10", Fault("grammar", "(")),
    ("(3)7+10", Fault("grammar", "7")),
    ("3*7--10", Fault("grammar", "--")),
    ("3*7+-10", Fault("grammar", "+-")),
    ("10-3*-7", Fault("grammar", "*-")),
    ("3**7+10", Fault("grammar", "**")),
    ("3/ /7+10", Fault("grammar", "//")),
    ("*3*7+10", Fault("grammar", "*")),
    ("3*(*7+10)", Fault("grammar", "*")),
    ("3*7+10-", Fault("grammar", "-")),
    ("(3*7+10", Fault("grammar", "(")),
    ("3*7)+10", Fault("grammar", ")")),
    (")3*7+10", Fault("grammar", ")")),
    ("3*()7+10", Fault("grammar", "()")),
    ("3*(7+)10", Fault("grammar", "+)")),
    ("3*7-10", Fault("value")),
])
def test_what_is_wrong_with_an_expression(expr, fault):
    assert refusal(expr, ["10", "3", "7"], (31, 1)) == fault


def test_a_division_by_zero_is_told_from_a_wrong_value():
    assert refusal("10/(7-7)", ["7", "7", "10"], (0, 1)) == Fault("division")
    assert refusal("0/7", ["0", "7"], (1, 1)) == Fault("value")
    assert refusal("0/7", ["0", "7"], (0, 5)) is None
