"""What lesson 03 shows of the table over seeds: intervals against single runs, trends, the odds of a behaviour."""
from collections.abc import Sequence

import pandas as pd
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.i18n import tr
from lib.toy import table
from lib.toy.policy import TinyLM, token_logprobs
from lib.toy.task import PROMPT_LENGTH, answer_mask, corpus
from lib.ui.figures import BLUE, ORANGE

# What single runs with seed 0 gave when the course's first version was written: pass@1 and CoT share after training.
SINGLE_RUNS = {"default": (0.77, 0.98), "p_cot=0.05": (0.30, 0.90), "p_cot=0": (0.10, 0.00), "G=2": (0.53, 0.93)}


def frame(names: Sequence[str]) -> pd.DataFrame:
    """The table's lines for these experiments, as a data frame to look at."""
    head, *lines = table.lines()
    return pd.DataFrame(lines, columns=head).set_index(head[0]).loc[list(names)]


def anecdotes(names: Sequence[str] = tuple(SINGLE_RUNS)) -> Figure:
    """After training, pass@1 of each seed, the mean with its 95 % interval, and the single run as a cross."""
    figure = Figure(figsize=(7.5, 0.75 * len(names) + 1.1), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for y, name in enumerate(names):
        found = table.interval(name, lambda run: run["after"]["pass1"])
        seeds = [run["after"]["pass1"] for run in table.load()["experiments"][name]]
        axes.plot(seeds, [y] * len(seeds), "o", color=BLUE, alpha=0.35, label=tr(en="one seed", ru="один сид"))
        axes.errorbar(found.mean, y, xerr=found.error, fmt="|", color=BLUE, markersize=16, capsize=6, linewidth=2,
                      label=tr(en="mean, 95 % interval", ru="среднее, 95 % интервал"))
        if name in SINGLE_RUNS:
            axes.plot(SINGLE_RUNS[name][0], y + 0.25, "x", color=ORANGE, markersize=9, markeredgewidth=2,
                      label=tr(en="a single run, quoted alone", ru="одиночный запуск, как его обычно цитируют"))
    axes.set(yticks=range(len(names)), yticklabels=names, xlim=(0, 1), ylim=(len(names) - 0.5, -0.5),
             xlabel=tr(en="pass@1 after 150 steps", ru="pass@1 после 150 шагов"))
    axes.grid(axis="x", alpha=0.25)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(*zip(*{label: (handle, label) for handle, label in zip(handles, labels, strict=True)}.values(), strict=True),
                loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


def trend(xs: Sequence[float], names: Sequence[str], panels: dict, xlabel: str) -> Figure:
    """One panel a figure of the runs, over a setting's values: mean over seeds with the 95 % interval.

    xs: the values, evenly spaced on the axis; names: their experiments in the table; panels: title -> run -> figure.
    """
    figure = Figure(figsize=(3.2 * len(panels), 2.9), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, value) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        found = [table.interval(name, value) for name in names]
        axes.errorbar(range(len(xs)), [f.mean for f in found], yerr=[f.error for f in found], marker="o", capsize=4,
                      color=BLUE)
        axes.set(xticks=range(len(xs)), xticklabels=[f"{x:g}" for x in xs], title=title, xlabel=xlabel)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


@torch.no_grad()
def stepwise_odds(model: TinyLM, n: int = 500, seed: int = 0) -> float:
    """The chance that an answer which the model samples is the right one with all its steps: mean over n random prompts.

    From the log-probs of such answers; nothing is sampled, so even odds of one in a billion can be told.
    """
    lines, lengths = corpus(n, 1.0, torch.Generator().manual_seed(seed))
    answers = lines[:, PROMPT_LENGTH:]
    logp, _ = token_logprobs(model, lines[:, :PROMPT_LENGTH], answers)
    return (logp * answer_mask(lengths - PROMPT_LENGTH, answers.shape[1])).sum(1).exp().mean().item()
