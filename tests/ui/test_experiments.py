"""What lesson 03 shows of the table: the right rows, points and odds."""
import math

import pytest
import torch

from lib.toy import table
from lib.toy.base import load_base
from lib.toy.grpo import rollout
from lib.toy.reward import rule_reward
from lib.toy.task import corpus, decode
from lib.ui.experiments import SINGLE_RUNS, anecdotes, frame, stepwise_odds, trend


def test_frame_keeps_the_order_that_was_asked_for():
    assert list(frame(["G=2", "default"]).index) == ["G=2", "default"]


def test_anecdotes_draw_every_seed_and_the_single_run():
    axes = anecdotes(["G=2"]).axes[0]
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.get_lines()}
    assert drawn["one seed"] == [run["after"]["pass1"] for run in table.load()["experiments"]["G=2"]]
    assert drawn["a single run, quoted alone"] == [SINGLE_RUNS["G=2"][0]]


def test_trend_draws_means():
    figure = trend([8, 2], ["default", "G=2"], {"pass@1": lambda run: run["after"]["pass1"]}, "G")
    line = figure.axes[0].get_lines()[0]
    means = [table.interval(name, lambda run: run["after"]["pass1"]).mean for name in ("default", "G=2")]
    assert list(line.get_ydata()) == means


def test_odds_agree_with_sampling():
    """n = 12 800 answers of the base: the share that is right and shows both partial sums, within 4 standard errors."""
    base = load_base(0.5)
    batch = rollout(base, 1600, 8, torch.Generator().manual_seed(5))
    right = 0
    for prompt, group, lengths in zip(batch.prompts, batch.answers, batch.lengths, strict=True):
        text = decode(prompt[1:])
        sums = [sum(map(int, text[: i + 1])) for i in range(1, 4)]
        wanted = ",".join(map(str, sums)) + "."
        right += sum(decode(answer[:length]) == wanted for answer, length in zip(group, lengths, strict=True))
    share = right / 12_800
    odds = stepwise_odds(base, n=1600, seed=6)
    assert odds == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 1600))   # a prompt's answers are alike


def test_odds_are_of_right_answers():
    lines, lengths = corpus(20, 1.0, torch.Generator().manual_seed(0))
    for line, length in zip(lines, lengths, strict=True):
        text = decode(line[1:length])
        assert rule_reward(text[:5], text[5:]) == 1.0
