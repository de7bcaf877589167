"""Every solution of a Countdown task, exactly: the oracle for the generator and the measure of a task's difficulty.

Expressions that differ only in the order of terms or factors, in redundant parentheses or in where a sign stands are one
solution: 3*7+10, 10+(7*3) and 10-(-3)*7 count once, 6*1 and 6/1 twice.
"""
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

# A form is an expression up to its sign: ("n", number), ("+", terms) or ("*", factors). Terms are pairs (form, sign) and
# never sums themselves, factors pairs (form, exponent) and never products; both are sorted, so equal forms are equal tuples.
Form = tuple


class Difficulty(NamedTuple):
    """How hard a task is: in how many ways it can be solved, and whether adding and subtracting alone can do it."""

    solutions: int
    plus_minus: bool


def solutions(nums: Sequence[int], target: int | Fraction, operators: str = "+-*/") -> list[str]:
    """All distinct expressions that use each number once and equal the target, the shortest first; [] when there is none.

    Takes 0.5 ms for three numbers, 10 ms for four, 0.5 s for five; each number more costs some fifty times as much.
    """
    found = {}
    everything = (1 << len(nums)) - 1
    forms = {1 << i: {("n", n): Fraction(n)} for i, n in enumerate(nums)}
    for mask in sorted(range(1, everything + 1), key=int.bit_count):
        if mask not in forms:
            forms[mask] = dict(_combined(mask, forms, operators))
    for form, value in forms.get(everything, {}).items():
        if abs(value) == abs(target):
            text = _text(form, 1 if value == target else -1)
            found[text] = None
    return sorted(found, key=lambda text: (len(text), text))


def difficulty(nums: Sequence[int], target: int) -> Difficulty:
    """The two figures of a task."""
    return Difficulty(len(solutions(nums, target)), bool(solutions(nums, target, "+-")))


def _combined(mask: int, forms: dict[int, dict[Form, Fraction]], operators: str) -> Iterator[tuple[Form, Fraction]]:
    """All forms of the numbers in a mask, from those of its two parts, each split once."""
    left = (mask - 1) & mask
    while left > mask ^ left:
        for a, x in forms[left].items():
            for b, y in forms[mask ^ left].items():
                if "+" in operators:
                    yield _sum(a, x, b, y, 1)
                if "-" in operators:
                    yield _sum(a, x, b, y, -1)
                if "*" in operators:
                    yield _product(a, b, 1), x * y
                if "/" in operators:
                    if y:
                        yield _product(a, b, -1), x / y
                    if x:
                        yield _product(b, a, -1), y / x
        left = (left - 1) & mask


def _sum(a: Form, x: Fraction, b: Form, y: Fraction, sign: int) -> tuple[Form, Fraction]:
    """a + b or a - b, its overall sign chosen so that a - b and b - a are one form."""
    terms = [*_parts("+", a), *((form, sign * s) for form, s in _parts("+", b))]
    plus, minus = sorted(terms), sorted((form, -s) for form, s in terms)
    value = x + sign * y
    return (("+", tuple(plus)), value) if plus >= minus else (("+", tuple(minus)), -value)


def _product(a: Form, b: Form, exponent: int) -> Form:
    """a * b or a / b."""
    return "*", tuple(sorted([*_parts("*", a), *((form, exponent * e) for form, e in _parts("*", b))]))


def _parts(kind: str, form: Form):
    return form[1] if form[0] == kind else ((form, 1),)


def _text(form: Form, sign: int = 1) -> str:
    """The form as an expression that the verifier accepts, with as few minus signs as can be."""
    kind, parts = form
    if sign == -1:
        return _text(_turned(form)) if kind == "+" else _negated(form) or "-" + _text(form)
    if kind == "n":
        return str(parts)
    if kind == "+":
        terms = [_text(part, s) for part, s in parts]
        terms.sort(key=lambda text: text[0] == "-")          # a minus first only if there is nothing else
        return "".join(text if text[0] == "-" else f"+{text}" for text in terms).removeprefix("+")
    above = [_factor(part) for part, e in parts if e == 1]
    below = [_factor(part) for part, e in parts if e == -1]
    return "*".join(above) + "".join(f"/{part}" for part in below)


def _negated(form: Form) -> str | None:
    """Minus a product without a sign in front, where one of its factors is a difference: -a(b - c) is a(c - b)."""
    for i, (part, e) in enumerate(form[1] if form[0] == "*" else ()):
        if part[0] == "+" and any(s == -1 for _, s in part[1]):
            return _text(("*", (*form[1][:i], (_turned(part), e), *form[1][i + 1 :])))
    return None


def _turned(form: Form) -> Form:
    """Minus a sum."""
    return "+", tuple((part, -s) for part, s in form[1])


def _factor(form: Form) -> str:
    return f"({_text(form)})" if form[0] == "+" else _text(form)
