"""The lesson's table: what is kept of a run, how it is shown, and that the shipped one is whole."""
import math

import pytest

from lib.toy import table
from lib.toy.evaluate import mean_interval
from lib.toy.experiment import Settings, finish


@pytest.fixture(scope="module")
def result():
    return finish(Settings(steps=14, B=2, G=2))


def test_kl_is_the_mean_of_the_last_ten_steps(result):
    measured = table.measure(result)
    assert measured["kl"] == pytest.approx(sum(row["kl"] for row in result.rows[5:15]) / 10)
    assert measured["after"] == result.after._asdict()


def test_samples_are_prompts_with_whole_answers(result):
    assert len(result.samples) == 5
    for text in result.samples:
        prompt, answer = text.split("=")
        assert len(prompt) == 4
        assert 1 <= len(answer) <= 10
        assert answer.endswith(".") or len(answer) == 10


def test_the_shipped_table_holds_every_experiment_over_five_seeds():
    shipped = table.load()["experiments"]
    assert list(shipped) == list(table.EXPERIMENTS)
    for runs in shipped.values():
        assert [run["seed"] for run in runs] == [0, 1, 2, 3, 4]
        assert all(run["after"]["n"] == 400 and run["after"]["samples"] == 8 for run in runs)


# Mean and half-width over five seeds of the course's first, single-file version of this experiment, pass@1 after training.
REFERENCE = {"default": (0.75, 0.03), "G=2": (0.44, 0.11), "beta=0": (0.74, 0.03), "beta=0.2": (0.65, 0.06),
             "p_cot=0.05": (0.28, 0.05), "p_cot=0": (0.11, 0.02)}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_table_agrees_with_an_independent_implementation(name):
    mean, error = REFERENCE[name]
    found = table.interval(name, lambda run: run["after"]["pass1"])
    # Welch: the difference of two means against its own uncertainty, both intervals being 95 %
    assert abs(found.mean - mean) <= math.hypot(found.error, error)


def test_lines_show_means_with_intervals():
    head, *lines = table.lines()
    assert len(head) == 9
    found = mean_interval(run["after"]["pass1"] for run in table.load()["experiments"]["G=2"])
    assert str(found) in next(line for line in lines if line[0] == "G=2")
