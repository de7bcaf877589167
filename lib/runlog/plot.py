"""Curves of one or more runs, one panel a metric."""
from collections.abc import Mapping, Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.runlog.names import EQUAL_GROUPS, STEP, label

LESSON_METRICS = ("reward", "completions/mean_length", "cot")
FORMATS = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, which stay apart for colour-blind eyes; markers tell the runs apart without any colour.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P")
PANEL_INCHES = (3.6, 3.0)
SHARES = {"reward", "cot", "frac_reward_zero_std", "completions/clipped_ratio", "rewards/rule_reward/mean",
          "rewards/correctness_reward/mean", EQUAL_GROUPS}   # 0 to 1


def curves(runs: Mapping[str, Sequence[Mapping]], metrics: Sequence[str] = LESSON_METRICS) -> Figure:
    """Draws each metric of each run over its steps.

    runs: name -> rows of its log, in the order to draw; a run without a metric is left out of that panel. The figure
    belongs to no window: show it as a cell's value or save it with `figure.savefig`.
    """
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(metrics), height), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, metric in zip(figure.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True):
        for number, (name, rows) in enumerate(runs.items()):
            rows = [row for row in rows if row.get(metric) is not None]
            if rows:
                axes.plot([row[STEP] for row in rows], [row[metric] for row in rows], label=name, linewidth=1.3,
                          color=COLORS[number % len(COLORS)], marker=MARKERS[number % len(MARKERS)], markersize=5,
                          markevery=max(1, len(rows) // 6))
        style_panel(axes, metric)
    if len(runs) > 1:
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)), frameon=False)
    return figure


def style_panel(axes, metric: str) -> None:
    """Title, grid and scale of a metric's panel."""
    axes.set_title(label(metric), fontsize=11)
    axes.set_xlabel(label(STEP))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if metric in SHARES:
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]), top=max(1.02, axes.get_ylim()[1]))
