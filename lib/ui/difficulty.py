"""How hard sets of Countdown tasks are, as a picture."""
from collections.abc import Mapping, Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.countdown.tasks import with_difficulty
from lib.i18n import tr
from lib.runlog.plot import COLORS

HATCHES = ("", "//", "..", "xx")
MOST = 6       # solutions; more share one place


def difficulties(sets: Mapping[str, Sequence[dict]]) -> Figure:
    """Left: how many distinct solutions the tasks of each set have. Right: the share that + and - alone solve."""
    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(2.2, 1))
    width = 0.8 / len(sets)
    for number, (name, tasks) in enumerate(sets.items()):
        tasks = with_difficulty(tasks)
        counts = [min(task["solutions"], MOST) for task in tasks]
        shares = [counts.count(k) / len(counts) for k in range(1, MOST + 1)]
        look = {"color": COLORS[number], "hatch": HATCHES[number], "edgecolor": "white"}
        left.bar([k + width * (number - (len(sets) - 1) / 2) for k in range(1, MOST + 1)], shares, width, label=name, **look)
        easy = sum(task["plus_minus"] for task in tasks) / len(tasks)
        right.bar_label(right.bar(number, easy, 0.7, **look), [f"{easy:.0%}"])
    more = tr(en=f"{MOST} or more", ru=f"{MOST} и больше")
    left.set(xticks=range(1, MOST + 1), xticklabels=[*range(1, MOST), more],
             xlabel=tr(en="distinct solutions of a task", ru="различных решений у задачи"),
             ylabel=tr(en="share of tasks", ru="доля задач"))
    right.set(xticks=[], title=tr(en="solvable with + and − alone", ru="решаются одними + и −"), ylim=(0, 1))
    for axes in (left, right):
        axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
        axes.grid(alpha=0.25, axis="y")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(sets), frameon=False)
    return figure
