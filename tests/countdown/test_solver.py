"""The solver against all expressions, built one by one."""
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.countdown import check_expression
from lib.countdown.solver import difficulty, solutions

SMALL = st.lists(st.integers(0, 12), min_size=2, max_size=3)


@cache
def values(numbers: tuple[int, ...], operators: str = "+-*/") -> frozenset[Fraction]:
    """The values of all binary trees over all orders of the numbers, up to the sign; no canonical forms, no subsets."""
    if len(numbers) == 1:
        return frozenset({Fraction(numbers[0])})
    found = set()
    for order in set(permutations(numbers)):
        for cut in range(1, len(order)):
            for a, b in product(values(order[:cut], operators), values(order[cut:], operators)):
                for x, y in ((a, b), (a, -b)):           # a part's sign can be turned in the verifier's grammar: -(a - b)
                    if "+" in operators or "-" in operators:
                        found |= {value for sign, value in (("+", x + y), ("-", x - y)) if sign in operators}
                    found |= {x * y} if "*" in operators else set()
                    found |= {x / y} if "/" in operators and y else set()
    return frozenset(found)


def reachable(numbers, target, operators="+-*/") -> bool:
    return any(abs(value) == abs(target) for value in values(tuple(numbers), operators))


# ── which targets ─────────────────────────────────────────────────────────────────────────────────────────────────────
@given(SMALL, st.integers(-30, 100))
def test_a_target_has_solutions_exactly_when_some_tree_reaches_it(nums, target):
    assert bool(solutions(nums, target)) == reachable(nums, target)


@given(SMALL)
def test_every_value_of_every_tree_is_found_fractions_too(nums):
    for value in values(tuple(nums)):
        assert solutions(nums, value)
        assert solutions(nums, -value)


@pytest.mark.parametrize("nums", [[1, 2, 3, 4], [5, 5, 5, 1], [8, 8, 3, 3], [0, 2, 2, 7]])
def test_four_numbers(nums):
    for target in range(1, 41):
        assert bool(solutions(nums, target)) == reachable(nums, target), target


@given(SMALL, st.integers(1, 40), st.sampled_from(["+", "+-", "+-*", "*/", "-"]))
def test_only_the_operators_that_are_allowed(nums, target, operators):
    found = solutions(nums, target, operators)
    for text in found:
        used = set(text) & set("+*/")
        assert used <= set(operators) | ({"+"} if "-" in operators else set())       # 5-(3-7) is written 5+7-3
    if set(operators) >= {"+", "-"}:
        assert bool(found) == reachable(nums, target, operators)


# ── which expressions ─────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(-20, 60))
def test_every_solution_is_right_and_stands_once(nums, target):
    found = solutions(nums, target)
    assert all(check_expression(text, nums, target) for text in found)
    assert len(set(found)) == len(found)
    assert found == sorted(found, key=lambda text: (len(text), text))


@given(st.lists(st.integers(0, 9), min_size=3, max_size=4), st.integers(1, 30), st.randoms())
def test_the_order_of_the_numbers_does_not_matter(nums, target, random):
    mixed = random.sample(nums, len(nums))
    assert len(solutions(mixed, target)) == len(solutions(nums, target))


def random_point(nums):
    """Numbers as independent transcendental-looking fractions: equal values there mean equal forms."""
    return {n: Fraction(p) for n, p in zip(nums, (10**9 + 7, 998_244_353, 1_000_003, 7_919), strict=False)}


@pytest.mark.parametrize("nums", [(2, 3), (2, 3, 7), (2, 3, 7, 11)])
def test_distinct_solutions_are_distinct_as_formulas(nums):
    """Counted in another way: as rational functions. Two formulas are one exactly when they agree at a generic point."""
    point = random_point(nums)
    generic = {abs(value) for value in values(tuple(point.values()))}
    total = sum(len(solutions(nums, value)) for value in {abs(v) for v in values(nums)})
    assert total == len(generic)


@pytest.mark.parametrize(("nums", "target", "expected"), [
    ([1, 2], 3, ["1+2"]),
    ([6, 1], 6, ["1*6", "6/1"]),
    ([8, 8, 3, 3], 24, ["8/(3-8/3)"]),                  # the classical one with a single solution
    ([3, 3, 7, 7], 24, ["(3+3/7)*7"]),
    ([3, 7, 10], 31, ["3*7+10"]),
    ([7], 7, ["7"]),
    ([7], 8, []),
    ([3, 7], 100, []),
    ([3, 7], Fraction(3, 7), ["3/7"]),
    ([3, 7], -4, ["3-7"]),
    ([3, 7], -10, ["-3-7"]),
    ([3, 0], 0, ["0*3", "0/3"]),
    ([], 0, []),
])
def test_counts_by_hand(nums, target, expected):
    found = solutions(nums, target)
    assert len(found) == len(expected)
    assert {normal(text) for text in found} == {normal(text) for text in expected}


def normal(text: str) -> str:
    """For the few texts above: characters in order, since only the order of terms may differ."""
    return "".join(sorted(text))


def test_all_of_one_kind_of_count():
    """n different primes have 2^(n-1) sums with signs up to an overall sign, each with a value of its own here."""
    nums = [1, 10, 100, 1000]
    sums = {abs(sum(sign * n for sign, n in zip(signs, nums, strict=True))) for signs in product((1, -1), repeat=4)}
    assert len(sums) == 8
    for value in sums:
        assert len(solutions(nums, value, "+-")) == 1


# ── difficulty ────────────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.lists(st.integers(1, 20), min_size=3, max_size=3), st.integers(1, 60))
def test_difficulty(nums, target):
    found = difficulty(nums, target)
    assert found.solutions == len(solutions(nums, target))
    minus = [sum(nums) - 2 * sum(some) for size in range(4) for some in combinations(nums, size)]
    assert found.plus_minus == (target in minus)
