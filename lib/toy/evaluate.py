"""How good a model is: pass@1, pass@k, length, share of answers with steps, variety; and means over seeds.

Every figure goes with its n. One seed is an anecdote: compare means over seeds, with their intervals.
"""
from math import comb, sqrt
from typing import NamedTuple

import torch

from lib.i18n import tr
from lib.toy.policy import TinyLM, sample
from lib.toy.reward import rule_rewards
from lib.toy.task import has_steps, prompt_tokens, random_digits


class Evaluation(NamedTuple):
    """What `evaluate` found on n prompts with `samples` answers each."""

    pass1: float        # share of right answers
    pass1_error: float  # half-width of its 95 % interval over prompts
    passk: float        # unbiased estimate of pass@k
    length: float       # tokens an answer, the closing dot included
    cot: float          # share of answers with steps
    distinct: float     # different answers among a prompt's first k, on average
    n: int
    samples: int
    k: int

    def __str__(self) -> str:
        return tr(en=f"pass@1 {self.pass1:.2f}  pass@{self.k} {self.passk:.2f}  length {self.length:.1f}  "
                     f"CoT share {self.cot:.2f}  ({self.n} prompts x {self.samples} answers)",
                  ru=f"pass@1 {self.pass1:.2f}  pass@{self.k} {self.passk:.2f}  длина {self.length:.1f}  "
                     f"доля CoT {self.cot:.2f}  ({self.n} задач × {self.samples} ответов)")


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """The unbiased estimate of pass@k from `samples` answers of which `correct` are right: 1 - C(n - c, k) / C(n, k).

    The chance that k of these answers, drawn without replacement, hold a right one (Codex, arXiv:2107.03374,
    section 2.1). Raises ValueError where k > samples: fewer answers than k cannot tell.
    """
    if not 1 <= k <= samples:
        raise ValueError(tr(en=f"pass@{k} needs at least {k} answers a prompt, there are {samples}",
                            ru=f"для pass@{k} нужно не меньше {k} ответов на задачу, а их {samples}"))
    return 1 - comb(samples - correct, k) / comb(samples, k)


def evaluate(model: TinyLM, n: int = 400, k: int = 8, samples: int | None = None, seed: int = 123) -> Evaluation:
    """Samples `samples` (by default k) answers to n prompts drawn with `seed`, at temperature 1."""
    samples = samples or k
    pass_at_k(samples, 0, k)   # raises where k and samples do not go together, before anything is sampled
    rng = torch.Generator().manual_seed(seed)
    digits = random_digits(n, rng)
    answers = sample(model, prompt_tokens(digits), samples, rng)
    reward = rule_rewards(digits.repeat_interleave(samples, 0), answers.tokens, answers.lengths).view(n, samples)
    rates = reward.mean(1)
    right = reward.sum(1).int().tolist()
    first_k = answers.tokens.view(n, samples, -1)[:, :k]
    return Evaluation(
        pass1=rates.mean().item(),
        pass1_error=1.96 * rates.std().item() / sqrt(n),
        passk=sum(pass_at_k(samples, c, k) for c in right) / n,
        length=answers.lengths.float().mean().item(),
        cot=has_steps(answers.tokens, answers.lengths).float().mean().item(),
        distinct=sum(len(group.unique(dim=0)) for group in first_k) / n,
        n=n, samples=samples, k=k,
    )


class Interval(NamedTuple):
    """A mean over seeds and the half-width of its 95 % t-interval (nan for one seed: it tells nothing of the others)."""

    mean: float
    error: float
    n: int

    def apart(self, other: "Interval") -> bool:
        """Whether the two intervals do not overlap: a difference to rely on. If they do, it may be luck."""
        return abs(self.mean - other.mean) > self.error + other.error

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.error:.2f}" if self.n > 1 else f"{self.mean:.2f} (n = 1)"


def mean_interval(values) -> Interval:
    """Mean and 95 % t-interval of independent figures, one a seed."""
    from scipy.stats import sem, t  # only sweeps need scipy, and it is slow to import

    values = [float(v) for v in values]
    n = len(values)
    if not n:
        raise ValueError(tr(en="no figures, no mean", ru="нет чисел — нет и среднего"))
    error = float(t.ppf(0.975, n - 1) * sem(values)) if n > 1 else float("nan")
    return Interval(sum(values) / n, error, n)
