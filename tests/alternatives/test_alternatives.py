"""A right solution gets full marks however it is written, in a learner's kernel and in the grader's own process."""
import pytest
from alternatives import ALTERNATIVES, METHODS, NAMED, NOISY, NUMPY, WRAPPED
from solved import HOMEWORK, QUICK, reference_cells

from lib.grading.grade import grade
from lib.grading.submission import Cell

SEEDS = range(3)      # of the quick levels


def full_marks(bench, alternative):
    for level in bench.levels:
        for function in set(level.functions) & set(alternative.parts):
            for seed in (0,) if level.slow else SEEDS:
                result = bench.result(level.id, alternative.source, function, seed)
                assert (result.status, result.points, result.message) == ("passed", result.max_points, "")


@pytest.mark.parametrize("alternative", ALTERNATIVES, ids=[a.name for a in ALTERNATIVES])
def test_it_gets_full_marks(bench, alternative):
    full_marks(bench, alternative)


@pytest.mark.parametrize("parts", [(NAMED,), (NOISY, NUMPY), (METHODS, WRAPPED)], ids=["types", "prints", "callables"])
def test_it_gets_full_marks_in_a_process_of_its_own(parts):
    sources = [*reference_cells(), *(part.source for part in parts)]
    cells = [Cell(number, source) for number, source in enumerate(sources, 1)]
    *_, report = grade(HOMEWORK, cells, isolation="plain", asked=QUICK)
    assert {level.id: level.message for level in report.levels if level.status != "passed"} == {}
    assert report.notes == []


def test_every_function_is_written_in_several_ways(bench):
    assert len(ALTERNATIVES) >= 20
    for level in bench.levels:
        for function in level.functions:
            ways = sum(function in alternative.parts for alternative in ALTERNATIVES)
            assert ways >= (1 if level.id == "boss" else 3), function
