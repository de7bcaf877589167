"""What a GRPO run's metrics should do, and what they did: a table of first and last values with a verdict.

Rules of thumb for a first look. A verdict is a reason to read completions, not a diagnosis.
"""
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lib.i18n import tr
from lib.runlog.names import EQUAL_GROUPS


class Metric(NamedTuple):
    """meaning and healthy: texts, made at each call. judge: of (early mean, late mean, length limit) -> healthy or not."""

    meaning: Callable[[], str]
    healthy: Callable[[], str]
    judge: Callable[[float, float, float], bool]


class Finding(NamedTuple):
    """early and late: means over the first and the last third of a run's rows; None where the metric is not logged."""

    metric: str
    early: float | None
    late: float | None
    healthy: bool | None


METRICS: dict[str, Metric] = {
    "reward": Metric(
        lambda: tr(en="mean total reward", ru="средняя суммарная награда"),
        lambda: tr(en="grows, then levels off", ru="растёт, затем плато"), lambda early, late, limit: late > early),
    "reward_std": Metric(
        lambda: tr(en="spread of rewards", ru="разброс наград"),
        lambda: tr(en="stays well above zero", ru="не падает к нулю"), lambda early, late, limit: late > 0.05),
    "frac_reward_zero_std": Metric(
        lambda: tr(en="share of groups whose rewards are all equal", ru="доля групп, где все награды равны"),
        lambda: tr(en="does not grow towards one", ru="не растёт к единице"), lambda early, late, limit: late < 0.8),
    EQUAL_GROUPS: Metric(
        lambda: tr(en="share of groups all right or all wrong", ru="доля групп, где верно всё или ничего"),
        lambda: tr(en="does not grow towards one", ru="не растёт к единице"), lambda early, late, limit: late < 0.8),
    "completions/mean_length": Metric(
        lambda: tr(en="mean length, tokens", ru="средняя длина, токенов"),
        lambda: tr(en="grows moderately, stays below the limit", ru="растёт умеренно, не упирается в лимит"),
        lambda early, late, limit: late < 0.8 * limit),
    "completions/clipped_ratio": Metric(
        lambda: tr(en="share cut off by the length limit", ru="доля обрезанных по лимиту длины"),
        lambda: tr(en="small", ru="маленькая"), lambda early, late, limit: late < 0.1),
    "entropy": Metric(
        lambda: tr(en="entropy of the policy, nats a token", ru="энтропия политики, нат на токен"),
        lambda: tr(en="falls slowly, no collapse", ru="снижается медленно, без обвала"),
        lambda early, late, limit: late > 0.3 * early),
    "kl": Metric(
        lambda: tr(en="KL to the reference (with beta above 0)", ru="KL до референса (при beta больше 0)"),
        lambda: tr(en="grows smoothly", ru="растёт плавно"), lambda early, late, limit: late < max(1.0, 10 * early)),
    "clip_ratio/region_mean": Metric(
        lambda: tr(en="share of clipped tokens", ru="доля клиппированных токенов"),
        lambda: tr(en="a few per cent, not tens", ru="единицы процентов, не десятки"),
        lambda early, late, limit: late < 0.1),
    "loss": Metric(
        lambda: tr(en="value of the loss", ru="значение loss"),
        lambda: tr(en="near zero, which is normal", ru="около нуля, и это нормально"),
        lambda early, late, limit: abs(late) < 0.5),
}


def look(rows: Sequence[Mapping], limit: float) -> list[Finding]:
    """A finding for each metric. rows: of one run, in order; limit: max_completion_length, in tokens.

    Raises ValueError for fewer than six rows: thirds of less say nothing.
    """
    if len(rows) < 6:
        count = len(rows)
        raise ValueError(tr(en=f"{count} rows are too few to see a trend: at least 6 are needed (logging_steps)",
                            ru=f"по {count} строкам тенденции не видно: нужно хотя бы 6 (logging_steps)"))
    third = len(rows) // 3
    found = []
    for name, metric in METRICS.items():
        early, late = _mean(rows[:third], name), _mean(rows[-third:], name)
        known = early is not None and late is not None
        healthy = math.isfinite(late) and metric.judge(early, late, limit) if known else None
        found.append(Finding(name, early, late, healthy))
    return found


def _mean(rows: Sequence[Mapping], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return sum(values) / len(values) if values else None


def lines(rows: Sequence[Mapping], limit: float) -> list[list[str]]:
    """The table as text, the head first."""
    head = [tr(en="metric", ru="метрика"), tr(en="what it is", ru="что значит"), tr(en="first third", ru="первая треть"),
            tr(en="last third", ru="последняя треть"), tr(en="healthy if it", ru="здоровая динамика"),
            tr(en="here", ru="здесь")]
    verdict = {True: "✓", False: "✗", None: tr(en="not logged", ru="не пишется")}
    body = [[f"`{name}`", METRICS[name].meaning(), *("–" if value is None else f"{value:.3g}" for value in (early, late)),
             METRICS[name].healthy(), verdict[healthy]] for name, early, late, healthy in look(rows, limit)]
    return [head, *body]
