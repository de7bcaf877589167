"""Which habit a reward breeds: GRPO on a policy of a few habits instead of words, and what values near a target are worth.

A habit is a way of replying: to reason, to fill in empty tags, to guess. All that GRPO learns of it is the rewards that it
earns, so a habit is given by a list of such rewards, each as likely as the next, and the policy is a softmax over habits.
"""
from collections.abc import Mapping, Sequence
from itertools import permutations, product

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.countdown.tasks import OPERATIONS
from lib.i18n import tr
from lib.runlog.plot import COLORS
from lib.toy.grpo import group_advantages

DASHES = ("-", "--", "-.", ":")


def race(earns: Mapping[str, Sequence[float]], shares: Sequence[float], steps: int = 200, lr: float = 1.0, prompts: int = 16,
         group: int = 8, seeds: int = 20, scale: bool = True) -> torch.Tensor:
    """The share of each habit at each step of GRPO: [steps + 1, seeds, habits].

    earns: habit -> the rewards that it may earn; shares: of the habits at the start. One policy-gradient step on
    prompts x group replies each, without clip and KL. scale: divide advantages by the group's std, as GRPO does and
    Dr. GRPO (arXiv:2503.20783, section 3) does not.
    """
    rng = torch.Generator().manual_seed(0)
    rewards = [torch.tensor(list(earned), dtype=torch.float32) for earned in earns.values()]
    logits = torch.tensor(shares).log().repeat(seeds, 1)
    found = [logits.softmax(1)]
    for _ in range(steps):
        habits = torch.multinomial(found[-1], prompts * group, replacement=True, generator=rng)      # [seeds, N]
        paid = torch.zeros(habits.shape)
        for habit, earned in enumerate(rewards):
            drawn = earned[torch.randint(len(earned), habits.shape, generator=rng)]
            paid = torch.where(habits == habit, drawn, paid)
        groups = paid.view(-1, group)
        advantages = group_advantages(groups) if scale else groups - groups.mean(1, keepdim=True)
        advantages = advantages.view(seeds, -1)
        chosen = torch.nn.functional.one_hot(habits, len(rewards))
        logits = logits + lr * (advantages[..., None] * (chosen - found[-1][:, None])).mean(1)       # A · grad log π
        found.append(logits.softmax(1))
    return torch.stack(found)


def races(cases: Mapping[str, Mapping[str, Sequence[float]]], shares: Sequence[float], **settings) -> Figure:
    """A panel a reward: the habits' shares over the steps, each seed a thin line and their mean a thick one."""
    figure = Figure(figsize=(4.2 * len(cases), 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(cases), squeeze=False, sharey=True)[0]
    for axes, (title, earns) in zip(panels, cases.items(), strict=True):
        found = race(earns, shares, **settings)
        for habit, name in enumerate(earns):
            axes.plot(found[:, :, habit], color=COLORS[habit], alpha=0.12, linewidth=0.8)
            axes.plot(found[:, :, habit].mean(1), color=COLORS[habit], linewidth=2.2, linestyle=DASHES[habit], label=name)
        axes.set(title=title, xlabel=tr(en="GRPO step", ru="шаг GRPO"), ylim=(-0.02, 1.02))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(tr(en="share of replies", ru="доля ответов"))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def form_earnings(bonus: float, right: float, cut: float) -> dict[str, list[float]]:
    """Rewards of three habits for a format bonus, in hundredths of all replies.

    right: chance that a reasoned reply is right; cut: that the length limit cuts it off, so that it earns nothing.
    """
    n_right, n_cut = round(100 * right), round(100 * cut)
    return {
        tr(en="reasons", ru="рассуждает"): [bonus + 1] * n_right + [0.0] * n_cut + [bonus] * (100 - n_right - n_cut),
        tr(en="guesses without tags", ru="угадывает без тегов"): [1.0] * 5 + [0.0] * 95,
        tr(en="tags around nothing much", ru="теги, а внутри чепуха"): [bonus] * 100,
    }


# What `reasoning_left` tries: bonuses b, chances q to be right, and with CUT the chance to be cut off; SHARES to start from.
BONUSES, RIGHTS = (0.001, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0), (0.4, 0.3, 0.2, 0.15, 0.1, 0.05)
CUT, SHARES = 0.4, (0.45, 0.45, 0.1)


def reasoning_left(scale: bool, steps: int = 400, seeds: int = 5) -> torch.Tensor:
    """The share of reasoning after so many steps: [RIGHTS, BONUSES], the mean over seeds."""
    return torch.stack([torch.stack([
        race(form_earnings(bonus, right, CUT), SHARES, steps, seeds=seeds, scale=scale)[-1, :, 0].mean()
        for bonus in BONUSES]) for right in RIGHTS])


def bonus_maps(left: Mapping[bool, torch.Tensor]) -> Figure:
    """`reasoning_left` with and without division by the std, side by side; the line is where the mean rewards are equal."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    titles = {True: tr(en="divided by the group's std (GRPO)", ru="с делением на std группы (GRPO)"),
              False: tr(en="not divided (Dr. GRPO)", ru="без деления (Dr. GRPO)")}
    for axes, (scale, shares) in zip(panels, left.items(), strict=True):
        axes.imshow(shares.numpy(), cmap="cividis", vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(shares.tolist()):
            for x, share in enumerate(row):
                color = "black" if share > 0.5 else "white"
                axes.text(x, y, f"{share:.2f}", ha="center", va="center", color=color, fontsize=10)
            beaten = sum(bonus < RIGHTS[y] / CUT for bonus in BONUSES) - 0.5     # bonuses below q / t
            axes.plot([beaten, beaten], [y - 0.5, y + 0.5], color=COLORS[1], linewidth=3)
        axes.set(title=titles[scale], xlabel=tr(en="bonus for the form, b", ru="надбавка за форму, b"),
                 xticks=range(len(BONUSES)), xticklabels=[f"{bonus:g}" for bonus in BONUSES],
                 yticks=range(len(RIGHTS)), yticklabels=[f"{right:g}" for right in RIGHTS])
    panels[0].set_ylabel(tr(en="chance q that reasoning is right", ru="доля q верных рассуждений"))
    return figure


# ── closeness ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def closeness(value: float, target: float) -> float:
    """A shaped reward: 1 at the target, less with the relative distance, 0 from a distance of one target on."""
    return max(0.0, 1 - abs(value - target) / target)


def near_misses(tasks: Sequence[dict]) -> dict[int, list[float]]:
    """Changes that a wrong expression (a ∘ b) ∘ c is away from the nearest right one -> closeness of their values.

    A change: one operator for another, or two numbers swapped.
    """
    found: dict[int, list[float]] = {}
    for task in tasks:
        values = {(order, signs): OPERATIONS[signs[1]](OPERATIONS[signs[0]](*(task["nums"][i] for i in order[:2])),
                                                       task["nums"][order[2]])
                  for order in permutations(range(3)) for signs in product("+-*", repeat=2)}
        right = [form for form, value in values.items() if value == task["target"]]
        for form, value in values.items():
            if form not in right and right:
                found.setdefault(min(_changes(form, other) for other in right), []).append(closeness(value, task["target"]))
    return dict(sorted(found.items()))


def sum_or_search(tasks: Sequence[dict], shaped: bool, right: float = 0.3) -> dict[str, list[float]]:
    """Rewards of two habits on these tasks: to answer a + b + c always, or to search and be right with a chance of `right`.

    shaped: pay `closeness`, else 1 for the target and 0 for all else. A search that fails ends anywhere: at each wrong
    expression as likely as at another.
    """
    pay = closeness if shaped else lambda value, target: float(value == target)
    missed = [near if shaped else 0.0 for values in near_misses(tasks).values() for near in values]
    hits = round(len(missed) * right / (1 - right))
    return {
        tr(en="always a + b + c", ru="всегда a + b + c"): [pay(sum(task["nums"]), task["target"]) for task in tasks],
        tr(en="searches", ru="ищет"): [1.0] * hits + missed,
    }


def _changes(one, other) -> int:
    moved = sum(a != b for a, b in zip(one[0], other[0], strict=True))       # 0, 2 or 3 of three numbers
    return max(0, moved - 1) + sum(a != b for a, b in zip(one[1], other[1], strict=True))
