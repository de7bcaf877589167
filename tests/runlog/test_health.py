"""The table of health: what the rules call healthy and what they do not, on rows made by hand."""
import pytest

from lib.runlog import health
from lib.runlog.health import METRICS, look
from lib.runlog.names import EQUAL_GROUPS

GOOD = {"reward": (0.3, 0.8), "reward_std": (0.4, 0.4), "frac_reward_zero_std": (0.3, 0.2), EQUAL_GROUPS: (0.4, 0.2),
        "completions/mean_length": (30, 80), "completions/clipped_ratio": (0.01, 0.02), "entropy": (0.22, 0.2),
        "kl": (0.1, 0.4), "clip_ratio/region_mean": (0.0, 0.01), "loss": (0.01, -0.01)}
# The lesson's sick runs: what is seen late, after the early value of GOOD.
SICK = {"reward": 0.1, "reward_std": 0.001, "frac_reward_zero_std": 0.95, EQUAL_GROUPS: 0.9, "completions/mean_length": 195,
        "completions/clipped_ratio": 0.4, "entropy": 0.01, "kl": 25.0, "clip_ratio/region_mean": 0.4, "loss": 40.0}


def rows(values, n=9):
    """n rows: the first value in the first third, the second in the last, their mean between."""
    def at(pair, i):
        return pair[0] if i < n // 3 else pair[1] if i >= n - n // 3 else sum(pair) / 2

    return [{"step": i} | {name: at(pair, i) for name, pair in values.items()} for i in range(n)]


def test_every_metric_of_the_lessons_table_is_there():
    lesson = {"reward", "reward_std", "frac_reward_zero_std", "completions/mean_length", "completions/clipped_ratio",
              "entropy", "kl", "clip_ratio/region_mean", "loss"}
    assert lesson | {EQUAL_GROUPS} == set(METRICS) == set(GOOD) == set(SICK)


def test_a_healthy_run():
    for found in look(rows(GOOD), limit=200):
        assert found.healthy is True, found
        assert (found.early, found.late) == pytest.approx(GOOD[found.metric])


@pytest.mark.parametrize("name", SICK)
def test_each_ill_is_found_and_it_alone(name):
    sick = GOOD | {name: (GOOD[name][0], SICK[name])}
    assert [found.metric for found in look(rows(sick), limit=200) if not found.healthy] == [name]


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_healthy(name, value):
    [found] = [f for f in look(rows(GOOD | {name: (GOOD[name][0], value)}), limit=200) if f.metric == name]
    assert found.healthy is False


def test_a_metric_that_is_not_logged_gets_no_verdict(each_language):
    without = rows({name: pair for name, pair in GOOD.items() if name != "kl"})
    [found] = [f for f in look(without, limit=200) if f.metric == "kl"]
    assert found == ("kl", None, None, None)
    [line] = [line for line in health.lines(without, 200) if line[0] == "`kl`"]
    assert line[2:4] == ["–", "–"]
    assert line[-1] == {"en": "not logged", "ru": "не пишется"}[each_language]


def test_a_value_missing_in_one_row_is_left_out_of_the_mean():
    some = rows(GOOD)
    some[0]["entropy"] = None
    [found] = [f for f in look(some, limit=200) if f.metric == "entropy"]
    assert found.early == pytest.approx(0.22)


def test_too_few_rows_are_told():
    assert look(rows(GOOD, 6), 200)
    with pytest.raises(ValueError, match="at least 6"):
        look(rows(GOOD)[:5], 200)


def test_lines_are_a_table(each_language):
    head, *body = health.lines(rows(GOOD), 200)
    assert len(body) == len(METRICS)
    assert {len(line) for line in [head, *body]} == {6}
    assert all(line[-1] == "✓" for line in body)
