"""Experiments: the settings of a run, the run as an iterator of log rows, and many runs at once.

    run = Run(Settings(p_cot=0.3, steps=150))
    for row in run:
        print(row["step"], row["reward"])
    print(evaluate(run.base), evaluate(run.policy), sep="\\n")
"""
import copy
import math
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait

import torch

from lib.i18n import tr
from lib.progress import bar
from lib.toy import halves
from lib.toy.base import SHIPPED_SEED, STEPS, load_base, pretrain
from lib.toy.evaluate import Evaluation, evaluate
from lib.toy.grpo import LOSSES, STEP_METRICS, Batch, degenerate, dynamic_sampling, grpo_step, rollout
from lib.toy.policy import TinyLM
from lib.toy.task import DOT, N_DIGITS, answer_texts, has_steps

SAMPLES = 5
LARGEST = 1_000_000     # of any weight or rate: beyond it float32 arithmetic breaks down
MOST_ANSWERS = 50_000   # a step: about 2 GB


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run. The defaults are the lesson's; a value that cannot work raises ValueError with the reason."""

    p_cot: float = 0.3
    """share of step-by-step answers in the corpus of the base model, 0..1"""
    pretrain_steps: int = STEPS
    """steps of pretraining; any other number than the shipped models' means pretraining now"""
    base_seed: int = SHIPPED_SEED
    """seed of the base model's pretraining; any other than the shipped models' means pretraining now, then the cache"""
    pretrain: bool = False
    """pretrain a base model now, with `seed`, whatever is shipped or cached"""
    steps: int = 150
    """GRPO steps; rows are numbered 0..steps, as in the lesson"""
    B: int = 32
    """prompts a step"""
    G: int = 8
    """answers a prompt (group size)"""
    beta: float = 0.02
    """KL coefficient"""
    lr: float = 1e-3
    """Adam's learning rate"""
    loss: str = "grpo"
    """how the tokens' objectives are averaged: grpo, dapo or dr_grpo (`lib.toy.grpo.token_weights`)"""
    eps_low: float = 0.2
    """the ratio is clipped from below at 1 - eps_low"""
    eps_high: float = 0.2
    """the ratio is clipped from above at 1 + eps_high"""
    updates: int = 1
    """optimizer steps on each batch of answers (mu); with one, the clip never acts"""
    length_penalty: float = 0.0
    """weight of Kimi k1.5's length reward"""
    dynamic_sampling: bool = False
    """replace groups whose answers are all right or all wrong (DAPO)"""
    max_rounds: int = 8
    """with dynamic sampling: rounds of sampling a step at most"""
    seed: int = 0
    """of the prompts and answers; with `pretrain` of the base model too"""

    def __post_init__(self):
        def check(good: bool, name: str, en: str, ru: str):
            if not good:
                raise ValueError(f"{name}={getattr(self, name)!r}: " + tr(en=en, ru=ru))

        for name in ("p_cot", "beta", "lr", "eps_low", "eps_high", "length_penalty"):
            check(math.isfinite(getattr(self, name)), name, en="a finite number is needed", ru="нужно конечное число")
            check(getattr(self, name) <= LARGEST, name, en=f"more than {LARGEST:,} cannot be meant",
                  ru=f"больше {LARGEST:,} не бывает")
        for name in ("pretrain_steps", "steps", "B", "updates", "max_rounds"):
            check(getattr(self, name) >= 1, name, en="at least 1 is needed", ru="нужно не меньше 1")
        check(0 <= self.p_cot <= 1, "p_cot", en="a share lies between 0 and 1", ru="доля лежит между 0 и 1")
        check(self.G >= 2, "G", en="a group needs at least 2 answers, there is nothing to compare a single one with",
              ru="в группе нужно не меньше 2 ответов: единственный не с чем сравнить")
        check(self.B * self.G <= MOST_ANSWERS, "B", en=f"B * G answers a step must not exceed {MOST_ANSWERS:,}: memory",
              ru=f"ответов на шаг, B * G, не может быть больше {MOST_ANSWERS:,}: не хватит памяти")
        check(self.beta >= 0, "beta", en="the KL coefficient cannot be negative: it would pay for leaving the base",
              ru="коэффициент KL не бывает отрицательным: он платил бы за уход от базы")
        check(self.lr > 0, "lr", en="the learning rate must be above 0", ru="learning rate должен быть больше 0")
        check(self.loss in LOSSES, "loss", en=f"choose one of {', '.join(LOSSES)}", ru=f"выберите из {', '.join(LOSSES)}")
        check(0 < self.eps_low < 1, "eps_low", en="the lower clip lies between 0 and 1",
              ru="нижняя граница клиппинга лежит между 0 и 1")
        check(self.eps_high > 0, "eps_high", en="the upper clip must be above 0",
              ru="верхняя граница клиппинга должна быть больше 0")
        check(self.length_penalty >= 0, "length_penalty", en="a negative weight would pay for length",
              ru="отрицательный вес платил бы за длину")
        for name in ("seed", "base_seed"):
            check(0 <= getattr(self, name) < 2**63, name, en="a whole number from 0 is needed", ru="нужно целое число от 0")

    def make_base(self, progress: bool = True) -> TinyLM:
        """The base model that these settings start from."""
        if self.pretrain:
            return pretrain(self.p_cot, self.pretrain_steps, self.seed, progress)
        return load_base(self.p_cot, self.pretrain_steps, self.base_seed, progress)


class Run:
    """A run as an iterator of log rows: every `next` makes one GRPO step and returns its row.

    `rows` keeps what was returned, `base` is the frozen reference, `policy` the model being trained: stop whenever you
    like, all three stay as they are.
    """

    def __init__(self, settings: Settings, base: TinyLM | None = None, progress: bool = True):
        """base: the model to start from; by default `settings.make_base()`. It is not changed."""
        self.settings = settings
        self.base = copy.deepcopy(base or settings.make_base(progress)).requires_grad_(False)
        self.policy = copy.deepcopy(self.base).requires_grad_(True)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=settings.lr, fused=True)
        self.rng = torch.Generator().manual_seed(settings.seed)
        self.rows: list[dict] = []

    def __iter__(self) -> Iterator[dict]:
        return self

    def __next__(self) -> dict:
        s = self.settings
        if len(self.rows) > s.steps:
            raise StopIteration

        def draw() -> Batch:
            return rollout(self.policy, s.B, s.G, self.rng, s.length_penalty)

        kept, drawn = dynamic_sampling(draw, s.B, s.max_rounds) if s.dynamic_sampling else (batch := draw(), batch)
        row = {"step": len(self.rows), "seed": s.seed, **describe(drawn)}
        if len(kept.prompts):
            row |= grpo_step(self.policy, self.base, self.optimizer, kept, beta=s.beta, loss=s.loss,
                             eps_low=s.eps_low, eps_high=s.eps_high, updates=s.updates)
        else:   # max_rounds went by without one group to learn from: no step, and nothing to measure on it
            row |= dict.fromkeys(STEP_METRICS)
        self.rows.append(row)
        return row


def describe(batch: Batch) -> dict[str, float]:
    """What a log row says of the answers sampled for its step, before any group is dropped."""
    rewards, lengths = batch.rewards, batch.lengths.flatten()
    answers = batch.answers.flatten(0, 1)
    cut = (answers[:, -1] != DOT) & (lengths == answers.shape[1])
    return {
        "reward": rewards.mean().item(),
        "reward_std": rewards.std(1, correction=0).mean().item(),
        "frac_reward_zero_std": degenerate(rewards).float().mean().item(),
        "rewards/rule_reward/mean": batch.correct.mean().item(),
        "completions/mean_length": lengths.float().mean().item(),
        "completions/clipped_ratio": cut.float().mean().item(),
        "cot": has_steps(answers, lengths).float().mean().item(),
        "num_completions": len(answers),
    }


# ── many runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Result:
    """A finished run: settings, evaluation of the base and of the trained policy, log rows, a few answers."""

    settings: Settings
    before: Evaluation
    after: Evaluation
    rows: list[dict] = field(repr=False)
    samples: list[str] = field(default_factory=list, repr=False)   # prompt and answer, from the trained policy


def finish(settings: Settings) -> Result:
    """Makes a whole run, evaluations included."""
    run = Run(settings, progress=False)
    rows = list(run)
    shown = rollout(run.policy, SAMPLES, 1, torch.Generator().manual_seed(settings.seed))
    samples = answer_texts(torch.cat([shown.prompts[:, 1:], shown.answers[:, 0]], 1), shown.lengths[:, 0] + N_DIGITS + 1)
    return Result(settings, evaluate(run.base), evaluate(run.policy), rows, samples)


def finish_all(settings: dict[str, Settings]) -> dict[str, Result]:
    """Makes a whole run for each named Settings, two at a time, with a progress bar; results in the given order."""
    names = list(settings)
    runs = bar(sweep(settings.values()), tr(en="runs", ru="запуски"), total=len(names))
    done = {names[index]: result for index, result in runs}
    return {name: done[name] for name in names}


def over_seeds(settings: Settings, seeds: int) -> list[Settings]:
    """The same settings with seeds 0, 1, …, seeds - 1 after the settings' own."""
    return [replace(settings, seed=settings.seed + i) for i in range(seeds)]


def _start_worker() -> None:
    halves.one_core()                              # the other core has a run of its own
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # Ctrl-C is for the parent, which then stops its workers

    def leave_with_parent():
        wait([parent_process().sentinel])
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()   # a parent that is killed cannot stop them


def sweep(all_settings: Iterable[Settings], processes: int = 2) -> Iterator[tuple[int, Result]]:
    """Makes all runs, several at a time, and yields (index, result) as they finish.

    Closing the iterator (a `break`, Ctrl-C) stops the runs that are under way.
    """
    all_settings = list(all_settings)
    pool = ProcessPoolExecutor(min(processes, len(all_settings)) or 1, mp_context=get_context("spawn"),
                               initializer=_start_worker)
    try:
        runs = {pool.submit(finish, settings): index for index, settings in enumerate(all_settings)}
        for run in as_completed(runs):
            yield runs[run], run.result()
    finally:
        workers = list((pool._processes or {}).values())   # before shutdown forgets them
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
