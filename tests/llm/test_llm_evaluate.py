"""Scores of a language model, against scipy and closed forms; the two controls; the command."""
import json
import os
import subprocess
import sys

import pytest
import torch
from scipy.stats import binomtest

from lib.countdown import make_countdown
from lib.llm import tiny
from lib.llm.evaluate import Samples, best_of, line, sample, save, score, wilson
from lib.llm.models import load

TASKS = make_countdown(30, split="validation")


@pytest.fixture(scope="module")
def base():
    torch.set_num_threads(1)
    return load()


@pytest.fixture(scope="module")
def found(base):
    return sample(*base, TASKS, 4, max_tokens=150, progress=False)


def made(right, tokens=10):
    right = torch.tensor(right).bool()
    return Samples([["x"] * right.shape[1]] * len(right), torch.full(right.shape, tokens), torch.ones_like(right), right,
                   torch.ones_like(right))


@pytest.mark.parametrize(("right", "n"), [(0, 20), (1, 20), (10, 20), (20, 20), (130, 500), (1, 1)])
def test_wilson_is_scipys(right, n):
    interval = binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right / n, n) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_score_is_the_means():
    samples = made([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    samples.tokens[0, 0], samples.ended[0, 0], samples.formed[1] = 22, False, False
    result = score(samples)
    assert result.accuracy == pytest.approx(5 / 12)
    assert (result.low, result.high) == pytest.approx(wilson(5 / 12, 3))
    assert result.pass_k == pytest.approx(2 / 3)
    assert result.format == pytest.approx(8 / 12)
    assert result.tokens == pytest.approx(11)
    assert result.cut == pytest.approx(1 / 12)
    assert (result.tasks, result.samples) == (3, 4)


def test_best_of_takes_as_many_replies_as_the_tokens_pay_for():
    samples = made([[1, 0, 0, 0], [1, 1, 0, 0]])
    one, two, three = (1 / 4 + 2 / 4) / 2, (1 / 2 + 5 / 6) / 2, (3 / 4 + 1) / 2      # pass@k by counting subsets
    assert best_of(samples, 10) == pytest.approx(one)
    assert best_of(samples, 20) == pytest.approx(two)
    assert best_of(samples, 27) == pytest.approx(two + 0.7 * (three - two))
    assert best_of(samples, 5) == pytest.approx(one)       # fewer tokens than one reply has
    assert best_of(samples, 40) == 1
    with pytest.raises(ValueError, match=r"pay for 4\.1 replies"):
        best_of(samples, 41)


def test_the_base_is_the_one_that_the_lesson_begins_with(found):
    result = score(found)                     # n = 30 tasks x 4: an interval wide enough to hold for any processor
    assert 0.08 < result.accuracy < 0.40
    assert result.format > 0.95
    assert 20 < result.tokens < 50


def test_texts_and_tokens_belong_together(base, found):
    tokenizer = base[1]
    for texts, tokens, ended in zip(found.texts, found.tokens.tolist(), found.ended.tolist(), strict=True):
        for text, count, whole in zip(texts, tokens, ended, strict=True):
            assert len(tokenizer(text).input_ids) + whole == count       # the end token counts
            assert tiny.END not in text


def test_a_limit_cuts_and_says_so(base):
    short = sample(*base, TASKS[:8], 2, max_tokens=12, progress=False)
    assert short.tokens.max() == 12
    assert not short.ended.any()
    assert not short.formed.any()
    assert score(short).cut == 1


def test_seeds_repeat_and_leave_torchs_own_generator_alone(base):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first, second, other = (sample(*base, TASKS[:5], 2, max_tokens=60, seed=seed, progress=False).texts
                            for seed in (3, 3, 4))
    assert first == second != other
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_model_is_left_in_the_mode_it_was_in(base):
    for training in (True, False):
        base[0].train(training)
        sample(*base, TASKS[:1], 1, max_tokens=5, progress=False)
        assert base[0].training is training


def test_a_forced_base_does_not_stop_before_its_yes(base):
    forced = sample(*base, TASKS, 4, max_tokens=150, insist=True, progress=False)
    token = base[1].convert_tokens_to_ids
    for text in (text for texts in forced.texts for text in texts):
        ids = base[1](text).input_ids
        assert all(ids[i - 1] == token(tiny.YES) for i, t in enumerate(ids) if t == token("</think>"))
    free = sample(*base, TASKS, 4, max_tokens=150, progress=False)
    assert score(forced).tokens > 2 * score(free).tokens
    assert score(forced).accuracy > score(free).accuracy


def test_a_line_names_n_and_the_interval(found, each_language):
    text, result = line("x", score(found)), score(found)
    for wanted in ("30", "4", f"{result.accuracy:.3f}", f"{result.low:.3f}", f"{result.high:.3f}"):
        assert wanted in text
    assert ("accuracy" in text) == (each_language == "en")


def test_replies_are_saved_with_their_tasks(found, tmp_path):
    save(found, TASKS, tmp_path / "replies.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 120
    assert save(found, TASKS, tmp_path / "replies.jsonl").name == "replies-1.jsonl", "the first file was overwritten"
    assert lines[5] == TASKS[1] | {"reply": found.texts[1][1], "tokens": found.tokens[1, 1].item(),
                                   "right": found.right[1, 1].item(), "formed": found.formed[1, 1].item(),
                                   "ended": found.ended[1, 1].item()}


def test_the_command(tmp_path):
    def run(*flags):
        return subprocess.run([sys.executable, "-m", "lib.llm.evaluate", *flags], capture_output=True, text=True,
                              env=os.environ | {"OMP_NUM_THREADS": "1"})

    done = run("tiny", "--tasks", "4", "--samples", "2", "--max-tokens", "60", "--save", str(tmp_path / "r.jsonl"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tiny: accuracy 0.")
    assert "4 tasks x 2 replies" in done.stdout
    assert len((tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()) == 8
    for flags, words in ((("tiny", "--tasks", "0"), "at least 1"), (("nowhere",), "there is no folder nowhere")):
        done = run(*flags)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert words in done.stderr
