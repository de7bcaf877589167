"""Every typical mistake fails its level and is told by name; the right texts from which mutants are made pass."""
from collections import Counter

import pytest
from mutants import ENOUGH, MUTANTS, RIGHT, Mutant

QUICK_SEEDS = range(3)      # the quick levels are told right on more than one draw of their inputs


def names(mutants):
    return [mutant.name for mutant in mutants]


def results(bench, mutant: Mutant):
    """Of one seed where the level trains, of more where it is quick."""
    for seed in (0,) if mutant.level in ("7", "boss") else QUICK_SEEDS:
        yield bench.result(mutant.level, mutant.source, mutant.part, seed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=names(MUTANTS))
def test_a_mistake_is_told_by_its_name(bench, mutant):
    for result in results(bench, mutant):
        assert result.status == "failed", result.message
        assert result.points < result.max_points
        assert result.mistake == mutant.mistake, result.message
        assert mutant.says in result.message


@pytest.mark.parametrize("level", ["1", "2", "3", "4", "5", "6", "8"])
def test_the_reference_passes(bench, level):
    result = bench.result(level, "")
    assert (result.status, result.points, result.message) == ("passed", result.max_points, "")


@pytest.mark.parametrize("function", RIGHT)
def test_the_text_before_the_edit_passes(bench, function):
    level, source = RIGHT[function]
    source = source.replace(*ENOUGH)
    result = bench.result(level, source, function)
    assert (result.status, result.points, result.message) == ("passed", result.max_points, "")


def test_the_mutants_are_many_and_leave_no_function_out(bench):
    assert len(MUTANTS) >= 100
    assert all(count == 1 for count in Counter(names(MUTANTS)).values())
    for level in bench.levels:
        written = "\n".join(mutant.source for mutant in MUTANTS if mutant.level == level.id)
        assert all(f"def {function}(" in written for function in level.functions), level.id
        assert len({mutant.mistake for mutant in MUTANTS if mutant.level == level.id}) >= 5, level.id
