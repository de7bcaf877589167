"""Experiments: settings that refuse what cannot work, runs as iterators of log rows, sweeps; what a run achieves."""
import multiprocessing
import time
from dataclasses import fields, replace
from itertools import islice

import pytest
import torch

from lib.runlog.names import TOY_METRICS
from lib.toy import experiment
from lib.toy.evaluate import evaluate, mean_interval
from lib.toy.experiment import Run, Settings, describe, over_seeds, sweep
from lib.toy.grpo import STEP_METRICS, Batch, rollout
from lib.toy.task import COMMA, DOT, MAX_NEW

# ── settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────
NAN, INFINITE = float("nan"), float("inf")
INVALID = {
    "p_cot": [-0.01, 1.5, NAN, INFINITE],
    "pretrain_steps": [0, -1],
    "base_seed": [-1, 2**63],
    "steps": [0, -5],
    "B": [0, -1],
    "G": [1, 0, -2],
    "beta": [-0.1, NAN, INFINITE],
    "lr": [0.0, -1e-3, NAN, INFINITE],
    "loss": ["ppo", "", "GRPO"],
    "eps_low": [0.0, 1.0, -0.2, NAN],
    "eps_high": [0.0, -0.2, NAN, INFINITE],
    "updates": [0],
    "length_penalty": [-0.5, NAN, INFINITE],
    "max_rounds": [0],
    "seed": [-1, 2**63],
}
VALID = {
    "p_cot": [0.0, 1.0, 0.333], "steps": [1], "B": [1], "G": [2], "beta": [0.0, 5.0], "lr": [1e-9], "eps_low": [0.01, 0.99],
    "eps_high": [0.01, 3.0], "updates": [1, 9], "length_penalty": [0.0, 4.0], "max_rounds": [1], "seed": [0, 2**63 - 1],
    "loss": ["grpo", "dapo", "dr_grpo"], "pretrain_steps": [1], "base_seed": [0, 7],
    "pretrain": [True], "dynamic_sampling": [True],
}


def each_value(table):
    return [pytest.param(name, value, id=f"{name}={value}") for name, values in table.items() for value in values]


@pytest.mark.parametrize(("name", "value"), each_value(INVALID))
def test_a_setting_that_cannot_work_is_one_sentence_that_names_it(name, value, each_language):
    with pytest.raises(ValueError, match=f"^{name}=") as error:
        Settings(**{name: value})
    message = str(error.value)
    assert message.startswith(f"{name}={value!r}: ")
    assert "\n" not in message
    has_russian = any("а" <= letter <= "я" for letter in message.lower())
    assert has_russian == (each_language == "ru")
    with pytest.raises(ValueError, match=f"^{name}="):
        replace(Settings(), **{name: value})


@pytest.mark.parametrize(("name", "value"), each_value(VALID))
def test_a_setting_at_its_limit_works(name, value):
    assert getattr(Settings(**{name: value}), name) == value


def test_every_setting_is_tried():
    """A setting that is added without a check of its values is seen here."""
    assert set(VALID) == {field.name for field in fields(Settings)}
    assert set(INVALID) == set(VALID) - {"pretrain", "dynamic_sampling"}


def test_the_defaults_are_the_lessons():
    s = Settings()
    assert (s.p_cot, s.pretrain_steps, s.steps, s.B, s.G, s.beta, s.lr) == (0.3, 2500, 150, 32, 8, 0.02, 1e-3)
    assert (s.loss, s.eps_low, s.eps_high, s.updates) == ("grpo", 0.2, 0.2, 1)
    assert (s.length_penalty, s.dynamic_sampling, s.pretrain) == (0.0, False, False)


def test_which_base_model_the_settings_ask_for(monkeypatch):
    monkeypatch.setattr(experiment, "load_base", lambda *args: ("loaded", *args))
    monkeypatch.setattr(experiment, "pretrain", lambda *args: ("pretrained", *args))
    assert Settings(p_cot=0.4, pretrain_steps=9, base_seed=3, seed=5).make_base(False) == ("loaded", 0.4, 9, 3, False)
    assert Settings(p_cot=0.4, pretrain_steps=9, pretrain=True, seed=5).make_base(False) == ("pretrained", 0.4, 9, 5, False)


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
SMALL = Settings(steps=5, B=4, G=4)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_rows_have_exactly_the_documented_metrics(shipped):
    rows = list(Run(SMALL, shipped))
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4, 5]
    for row in rows:
        assert set(row) == {"step", "seed", *TOY_METRICS}
        assert row["num_completions"] == 16
        assert all(isinstance(row[name], float) for name in TOY_METRICS if name != "num_completions")
        assert row["kl"] >= 0
        assert row["clip_ratio/region_mean"] == 0


def test_a_run_goes_on_where_it_was_left(shipped):
    whole = list(Run(SMALL, shipped))
    run = Run(SMALL, shipped)
    for row in run:
        if row["step"] == 2:
            break
    assert run.rows == whole[:3]
    assert list(run) == whole[3:]
    assert run.rows == whole
    assert list(run) == []                      # it is over, and stays so
    with pytest.raises(StopIteration):
        next(run)


def test_a_run_follows_its_seed_and_leaves_its_base_alone(shipped):
    before = weights(shipped).clone()
    dice = torch.get_rng_state()
    first, again, other = (Run(replace(SMALL, seed=seed), shipped) for seed in (3, 3, 4))
    assert torch.get_rng_state().equal(dice)
    assert list(first) == list(again) != list(other)
    assert weights(first.policy).equal(weights(again.policy))
    for run in (first, other):
        assert weights(run.base).equal(before)
        assert not weights(run.policy).equal(before)
        assert not any(p.requires_grad for p in run.base.parameters())
    assert weights(shipped).equal(before)
    assert all(p.requires_grad and p.grad is None for p in shipped.parameters())


def test_seed_reaches_the_row():
    assert next(Run(replace(SMALL, seed=3)))["seed"] == 3


def test_every_setting_reaches_the_step(shipped, monkeypatch):
    """One row by hand with the same dice: rollout, sampling rounds and step get the run's own settings."""
    calls = []
    real = experiment.grpo_step
    monkeypatch.setattr(experiment, "grpo_step", lambda *args, **settings: calls.append(settings) or real(*args, **settings))
    settings = Settings(steps=1, B=5, G=3, beta=0.7, lr=0.02, loss="dapo", eps_low=0.1, eps_high=0.4, updates=3,
                        length_penalty=0.6, seed=8)
    run = Run(settings, shipped)
    row = next(run)
    assert calls == [{"beta": 0.7, "loss": "dapo", "eps_low": 0.1, "eps_high": 0.4, "updates": 3}]
    assert run.optimizer.param_groups[0]["lr"] == 0.02
    batch = rollout(shipped, 5, 3, torch.Generator().manual_seed(8), 0.6)
    assert row["reward"] == pytest.approx(batch.rewards.mean().item())
    assert row["rewards/rule_reward/mean"] == pytest.approx(batch.correct.mean().item())
    assert row["reward"] != row["rewards/rule_reward/mean"]


def test_what_a_row_says_of_its_answers():
    """Two groups of two answers by hand."""
    texts = [[[1, COMMA, 7, DOT], [1, 7, DOT]], [[5] * MAX_NEW, [5] * (MAX_NEW - 1) + [DOT]]]
    answers = torch.tensor([[row + [DOT] * (MAX_NEW - len(row)) for row in group] for group in texts])
    lengths = torch.tensor([[4, 3], [MAX_NEW, MAX_NEW]])
    correct, rewards = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.5, 0.5], [-0.5, -0.5]])
    batch = Batch(torch.zeros(2, 6), answers, lengths, torch.zeros(answers.shape), correct, rewards)
    assert describe(batch) == pytest.approx({
        "reward": 0.25,                          # of what is learned from, the bonus included
        "rewards/rule_reward/mean": 0.25,
        "reward_std": 0.25,                      # population std 0.5 and 0
        "frac_reward_zero_std": 0.5,
        "completions/mean_length": 6.75,
        "completions/clipped_ratio": 0.25,       # ten tokens without a dot; with a dot in the end it is whole
        "cot": 0.25,
        "num_completions": 4,
    })


def test_dynamic_sampling_trains_on_full_batches(shipped, monkeypatch):
    batches = []
    real = experiment.grpo_step
    monkeypatch.setattr(experiment, "grpo_step", lambda *args, **kwargs: batches.append(args[3]) or real(*args, **kwargs))
    rows = list(Run(Settings(steps=3, B=6, G=4, dynamic_sampling=True), shipped))
    assert [len(batch.prompts) for batch in batches] == [6] * 4
    assert all((batch.rewards.amax(1) > batch.rewards.amin(1)).all() for batch in batches)
    assert all(row["num_completions"] % 24 == 0 for row in rows)
    assert max(row["num_completions"] for row in rows) > 24          # what was dropped is counted
    assert max(row["frac_reward_zero_std"] for row in rows) > 0      # and described


def test_dynamic_sampling_that_finds_nothing_makes_no_step(shipped, monkeypatch):
    """An untaught task: every answer is wrong, so no group carries a signal and the policy stays."""
    monkeypatch.setattr(experiment, "rollout", lambda *args: (lambda batch: batch._replace(
        rewards=torch.zeros_like(batch.rewards)))(rollout(*args)))
    run = Run(Settings(steps=1, B=3, G=2, dynamic_sampling=True, max_rounds=4), shipped)
    row = next(run)
    assert [row[name] for name in STEP_METRICS] == [None] * len(STEP_METRICS)
    assert set(row) == {"step", "seed", *TOY_METRICS}
    assert row["num_completions"] == 4 * 3 * 2
    assert weights(run.policy).equal(weights(shipped))


# ── what a run achieves ───────────────────────────────────────────────────────────────────────────────────────────────
def mean(rows, name):
    return sum(row[name] for row in rows) / len(rows)


def test_forty_steps_raise_reward_length_and_reasoning(shipped):
    """Seeds 0 to 5 went from 0.23-0.28 to 0.56-0.63, from 4.6-4.8 tokens to 7.6-7.9, from 0.34-0.38 to 0.87-0.91."""
    rows = list(Run(Settings(steps=39), shipped))
    first, last = rows[:5], rows[-5:]
    assert mean(last, "reward") - mean(first, "reward") > 0.2
    assert mean(last, "completions/mean_length") - mean(first, "completions/mean_length") > 2
    assert mean(first, "cot") < 0.5
    assert mean(last, "cot") > 0.75
    assert mean(last, "kl") > 0.1


def test_without_steps_in_the_corpus_it_never_starts_to_reason():
    """A comma slips in now and then, one answer in thousands; it is not rewarded and does not spread."""
    rows = list(Run(Settings(p_cot=0.0, steps=39)))
    assert mean(rows, "cot") < 0.005
    assert mean(rows[-10:], "cot") < 0.005


def test_a_strong_kl_holds_the_policy_at_its_base(shipped):
    free, held = (list(Run(Settings(steps=20, beta=beta), shipped))[-5:] for beta in (0.0, 5.0))
    assert mean(held, "kl") < 0.1 * mean(free, "kl")
    assert mean(held, "cot") < mean(free, "cot") - 0.2


def test_a_heavy_length_penalty_keeps_answers_short(shipped):
    plain, charged = (list(Run(Settings(steps=20, length_penalty=weight), shipped))[-5:] for weight in (0.0, 4.0))
    assert mean(charged, "completions/mean_length") < mean(plain, "completions/mean_length") - 2


# ── many runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_over_seeds():
    assert over_seeds(replace(SMALL, seed=4), 3) == [replace(SMALL, seed=seed) for seed in (4, 5, 6)]


def no_children(within=15):
    """Whether all child processes end on their own within so many seconds; those that do not are ended here."""
    deadline = time.monotonic() + within
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = multiprocessing.active_children()
    for process in left:
        process.kill()
    return not left


def test_a_sweep_yields_every_run_with_the_results_of_one_alone(shipped):
    wanted = over_seeds(SMALL, 3)
    results = dict(sweep(wanted))
    assert sorted(results) == [0, 1, 2]
    assert [results[i].settings for i in range(3)] == wanted
    alone = Run(wanted[1], shipped)
    assert results[1].rows == list(alone)
    assert results[1].before == evaluate(shipped)
    assert results[1].after == evaluate(alone.policy)
    assert no_children()


def test_a_break_stops_the_runs_that_are_under_way():
    endless = Settings(steps=1_000_000, B=2, G=2)
    runs = sweep([SMALL, endless, endless])
    started = time.monotonic()
    for index, _ in runs:
        assert index == 0
        break
    runs.close()
    assert no_children()
    assert time.monotonic() - started < 60


def test_a_run_that_fails_in_a_sweep_is_raised_and_stops_the_others(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_COURSE_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").touch()                  # the cache cannot be made
    with pytest.raises(OSError, match="file"):
        list(sweep([Settings(p_cot=0.33, pretrain_steps=1), Settings(steps=1_000_000, B=2, G=2)]))
    assert no_children()


@pytest.mark.slow
def test_five_seeds_agree_with_the_lesson():
    """150 steps from the shipped base: pass@1 after them near the reference script's own means over seeds, G 8 and 2."""
    after = {G: mean_interval(result.after.pass1 for _, result in sweep(over_seeds(Settings(G=G), 5))) for G in (8, 2)}
    assert after[8].n == after[2].n == 5
    assert after[8].mean == pytest.approx(0.75, abs=0.08)
    assert after[2].mean == pytest.approx(0.44, abs=0.14)
    assert after[2].mean + after[2].error < after[8].mean - after[8].error


def test_first_rows_come_one_at_a_time(shipped):
    """A run is lazy: taking two rows makes two steps."""
    run = Run(Settings(), shipped)
    assert [row["step"] for row in islice(run, 2)] == [0, 1]
    assert len(run.rows) == 2
