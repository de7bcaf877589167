"""The panel's curves: five small plots that are redrawn in place, fast enough to follow a run."""
import io
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from lib.runlog.names import STEP
from lib.runlog.plot import style_panel
from lib.toy.task import MAX_NEW

METRICS = ("reward", "completions/mean_length", "cot", "kl", "entropy")
LIMITS = {"completions/mean_length": (0, MAX_NEW + 0.3), "kl": (0, 1), "entropy": (0, 1)}   # the others: 0 to 1
CURRENT = {"color": "black", "linestyle": "-", "linewidth": 1.8}
# Okabe and Ito's colours, which stay apart for colour-blind eyes; the dashes tell the curves apart without any colour.
PINS = tuple({"color": color, "linestyle": dashes, "linewidth": 1.3} for color, dashes in (
    ("#D55E00", (0, (5, 1.5))), ("#0072B2", (0, (1.2, 1.2))),
    ("#009E73", (0, (5, 1.5, 1.2, 1.5))), ("#CC79A7", (0, (2.5, 1)))))
INCHES, DPI = (6.4, 3.5), 200   # shown half as large: crisp on any screen
# The legend's font size and width in characters, by how many lines it may then have: long names make it smaller.
LEGEND = ((8, 8, 24), (11, 7, 28), (14, 6, 34))


class LiveFigure:
    """Five plots and a legend. `show` sets the current curve, `compare` the pinned ones, `png` and `jpeg` draw.

    What stays the same from one frame to the next (axes, texts, pinned curves) is drawn once and kept as pixels; a frame
    puts those back and draws only the current curve on top.
    """

    def __init__(self, steps: int):
        self.figure = Figure(figsize=INCHES, dpi=DPI)
        self.canvas = FigureCanvasAgg(self.figure)
        grid = self.figure.subplots(2, 3).flatten()
        self.figure.subplots_adjust(left=0.05, right=0.975, bottom=0.115, top=0.93, wspace=0.25, hspace=0.42)
        self.axes = dict(zip(METRICS, grid, strict=False))
        self.lines = {metric: axes.plot([], [], animated=True, marker="o", markersize=4, markevery=[-1], **CURRENT)[0]
                      for metric, axes in self.axes.items()}
        self.legend_axes = grid[-1]
        self.legend_axes.axis("off")
        for metric, axes in self.axes.items():
            style_panel(axes, metric)
            axes.set(xlim=(0, steps), ylim=LIMITS.get(metric, (0, 1.02)))
            axes.title.set_fontsize(9)
            axes.xaxis.label.set_fontsize(8)
            axes.tick_params(labelsize=8, length=2.5, pad=2)
            axes.yaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
        for axes in grid[:2]:
            axes.set_xlabel("")   # the plots below them say it
        self.pinned: list = []
        self.background = None    # the still part's pixels; None: to be drawn again

    def show(self, rows: Sequence[dict]) -> None:
        """Sets the current curve: the rows so far."""
        for metric, line in self.lines.items():
            values = _column(rows, metric)
            line.set_data(_column(rows, STEP), values)
            self._make_room(metric, values)

    def compare(self, name: str, pins: Iterable[tuple[str, Sequence[dict]]]) -> None:
        """Sets the current curve's name and the pinned curves, name and rows each, and fits the plots to these."""
        for line in self.pinned:
            line.remove()
        self.pinned, handles, names = [], [self.lines["reward"]] * bool(name), [name] * bool(name)
        for metric, axes in self.axes.items():
            axes.set_ylim(LIMITS.get(metric, (0, 1.02)))
        for style, (pin, rows) in zip(PINS, pins, strict=False):
            for metric, axes in self.axes.items():
                values = _column(rows, metric)
                self.pinned += axes.plot(_column(rows, STEP), values, zorder=1.5, **style)
                self._make_room(metric, values)
            handles.append(self.pinned[-1])
            names.append(pin)
        if old := self.legend_axes.get_legend():
            old.remove()
        if names:
            size, texts = _fit(names)
            self.legend_axes.legend(handles, texts, loc="upper left", fontsize=size, bbox_to_anchor=(-0.14, 1.1),
                                    frameon=False, handlelength=16 / size, borderaxespad=0)
        self.background = None

    def png(self) -> bytes:
        """The picture as it is now, exact: for a curve at rest."""
        return self._encode("PNG", compress_level=1)

    def jpeg(self) -> bytes:
        """The picture as it is now, in a fifth of the time: for a frame among many."""
        return self._encode("JPEG", quality=75, subsampling=0)

    def draw_still(self) -> None:
        """Draws what stays the same, where that has changed."""
        if self.background is None:
            self.canvas.draw()    # animated lines are left out of it
            self.background = self.canvas.copy_from_bbox(self.figure.bbox)

    def _encode(self, kind: str, **options) -> bytes:
        self.draw_still()
        self.canvas.restore_region(self.background)
        for metric, line in self.lines.items():
            self.axes[metric].draw_artist(line)
        picture = io.BytesIO()
        Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3]).save(picture, kind, **options)
        return picture.getvalue()

    def _make_room(self, metric: str, values: np.ndarray) -> None:
        """Widens a plot's scale in large steps (1, 1.5, 2, 3, 5, 7, 10, ...), so that few frames have to be drawn anew."""
        values = values[np.isfinite(values)]
        bottom, top = self.axes[metric].get_ylim()
        if len(values) and (values.max() > top or values.min() < bottom):
            top = _round_up(values.max()) if values.max() > top else top
            bottom = -_round_up(-values.min()) if values.min() < bottom else bottom
            self.axes[metric].set_ylim(bottom, top)
            self.background = None


def _fit(names: Sequence[str]) -> tuple[int, list[str]]:
    """The largest font size in which the legend has room for all names, and the names broken into lines."""
    for lines, size, width in LEGEND:   # noqa: B007  the last size has to do
        texts = [textwrap.fill(name, width, max_lines=3, placeholder=" …") for name in names]
        if sum(text.count("\n") + 1 for text in texts) <= lines:
            break
    return size, texts


def _column(rows: Sequence[dict], name: str) -> np.ndarray:
    """One metric of all rows, nan where it was not measured."""
    return np.array([row[name] for row in rows], dtype=float)


def _round_up(value: float) -> float:
    """The next of ..., 0.7, 1, 1.5, 2, 3, 5, 7, 10, ... that is not below a positive value."""
    power = 10.0 ** np.floor(np.log10(value))
    return next(m * power for m in (1, 1.5, 2, 3, 5, 7, 10) if m * power >= value)
