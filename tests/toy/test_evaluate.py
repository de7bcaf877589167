"""Evaluation: pass@k against every possible draw, figures against the texts, intervals against the t-table."""
import math
import random
from itertools import combinations
from statistics import stdev

import pytest
import torch

from lib.toy.evaluate import Interval, evaluate, mean_interval, pass_at_k
from lib.toy.policy import sample
from lib.toy.reward import rule_reward
from lib.toy.task import answer_texts, make_prompt, prompt_tokens, random_digits


def check_pass_at_k(estimate):
    """The share of all subsets of k answers that hold a right one, for every n up to 7."""
    for n in range(1, 8):
        for c in range(n + 1):
            for k in range(1, n + 1):
                draws = list(combinations([True] * c + [False] * (n - c), k))
                assert estimate(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


FAULTY_PASS = {
    "with replacement": lambda n, c, k: 1 - (1 - c / n) ** k,
    "any of the n": lambda n, c, k: float(c > 0),
    "share of right answers": lambda n, c, k: c / n,
}


def test_pass_at_k():
    check_pass_at_k(pass_at_k)
    assert pass_at_k(200, 1, 100) == pytest.approx(0.5)


@pytest.mark.parametrize("fault", FAULTY_PASS)
def test_a_faulty_pass_at_k_is_found(fault):
    with pytest.raises(AssertionError):
        check_pass_at_k(FAULTY_PASS[fault])


@pytest.mark.parametrize(("samples", "k"), [(4, 5), (4, 0), (1, 8)])
def test_pass_at_k_needs_k_answers(samples, k, each_language):
    with pytest.raises(ValueError, match={"en": "needs at least", "ru": "нужно не меньше"}[each_language]) as error:
        pass_at_k(samples, 1, k)
    assert str(samples) in str(error.value)


@pytest.mark.parametrize("samples", [None, 12])
def test_figures_are_those_of_the_texts(base, samples):
    found = evaluate(base, n=60, k=8, samples=samples, seed=5)
    samples = samples or 8
    rng = torch.Generator().manual_seed(5)
    digits = random_digits(60, rng)
    answers = sample(base, prompt_tokens(digits), samples, rng)
    texts = answer_texts(answers.tokens, answers.lengths)
    groups = [texts[i : i + samples] for i in range(0, len(texts), samples)]
    paid = [[rule_reward(make_prompt(d), text) for text in group] for d, group in zip(digits.tolist(), groups, strict=True)]
    rates = [sum(row) / samples for row in paid]
    mean = sum(rates) / 60
    std = math.sqrt(sum((r - mean) ** 2 for r in rates) / 59)
    assert found._asdict() == pytest.approx({
        "pass1": mean, "pass1_error": 1.96 * std / math.sqrt(60),
        "passk": sum(pass_at_k(samples, int(sum(row)), 8) for row in paid) / 60,
        "length": sum(map(len, texts)) / len(texts), "cot": sum("," in t for t in texts) / len(texts),
        "distinct": sum(len(set(group[:8])) for group in groups) / 60, "n": 60, "samples": samples, "k": 8}, abs=1e-6)
    assert 0 < found.pass1 < found.passk < 1
    if samples == 8:
        assert found.passk == pytest.approx(sum(any(row) for row in paid) / 60)


def test_evaluation_states_its_n_and_changes_nothing(base, each_language):
    before = torch.get_rng_state()
    first, again, other = evaluate(base, n=20), evaluate(base, n=20), evaluate(base, n=20, seed=1)
    assert first == again != other
    assert torch.get_rng_state().equal(before)
    assert {"en": "20 prompts x 8 answers", "ru": "20 задач × 8 ответов"}[each_language] in str(first)
    assert "pass@8" in str(first)


def test_the_interval_of_pass1_is_as_wide_as_its_spread(base):
    """40 evaluations on other prompts: 1.96 of their standard deviations is what each of them says of itself."""
    found = [evaluate(base, n=50, seed=seed) for seed in range(40)]
    stated = sum(e.pass1_error for e in found) / 40
    assert stated == pytest.approx(1.96 * stdev(e.pass1 for e in found), rel=0.35)     # a deviation of 40 is good to 11 %


# two-sided 95 % points of Student's t, from the printed tables
T_TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262}


@pytest.mark.parametrize(("degrees", "t"), T_TABLE.items())
def test_mean_interval_against_the_t_table(degrees, t):
    dice = random.Random(degrees)
    values = [dice.gauss(0.5, 0.2) for _ in range(degrees + 1)]
    mean = sum(values) / len(values)
    std = math.sqrt(sum((v - mean) ** 2 for v in values) / degrees)
    assert std > 0.01
    found = mean_interval(values)
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(t * std / math.sqrt(degrees + 1), rel=2e-4)
    assert found.n == degrees + 1


def test_mean_interval_by_hand():
    assert tuple(mean_interval([1, 2, 3])) == pytest.approx((2.0, 2.4841, 3), abs=1e-4)
    assert str(mean_interval(iter([0.25, 0.25, 0.25]))) == "0.25 ± 0.00"
    assert str(mean_interval([0.1, 0.2, 0.3])) == "0.20 ± 0.25"


def test_one_seed_is_an_anecdote():
    found = mean_interval([0.53])
    assert math.isnan(found.error)
    assert str(found) == "0.53 (n = 1)"


def test_intervals_are_apart_only_where_they_do_not_overlap():
    a, b, c = Interval(0.5, 0.1, 5), Interval(0.65, 0.1, 5), Interval(0.75, 0.1, 5)
    assert not a.apart(b)
    assert not b.apart(a)
    assert a.apart(c)
    assert c.apart(a)


def test_no_figures_have_no_mean():
    with pytest.raises(ValueError, match="no figures"):
        mean_interval([])
