"""What lesson 05 shows of a TRL run: curves while it goes on, replies before and after, five seeds, who waits for whom."""
import dataclasses
from collections.abc import Mapping, Sequence
from html import escape

from IPython.display import HTML, Markdown, display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.i18n import tr
from lib.runlog.names import STEP
from lib.runlog.plot import COLORS, curves
from lib.ui.cells import table

LIVE = ("rewards/correctness_reward/mean", "completions/mean_length", "completions/clipped_ratio", "entropy")


class LiveCurves:
    """Called with each new row of a run, draws its curves in place: Rows(LiveCurves())."""

    def __init__(self, metrics: Sequence[str] = LIVE):
        self.metrics, self.rows, self.handle = metrics, [], None

    def __call__(self, row: Mapping) -> None:
        self.rows.append(row)
        figure = curves({"": self.rows}, self.metrics)
        if self.handle is None:
            self.handle = display(figure, display_id=True)
        else:
            self.handle.update(figure)


def settings_that_differ(config) -> Markdown:
    """A table of what a GRPOConfig has otherwise than TRL's defaults."""
    lines = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        default = field.default_factory() if field.default is dataclasses.MISSING else field.default
        if field.init and default is not dataclasses.MISSING and value != default and field.name in SHOWN:
            lines.append([f"`{field.name}`", f"`{default}`", f"`{getattr(value, 'value', value)}`"])   # an enum's word
    head = [tr(en="field", ru="поле"), tr(en="TRL's default", ru="по умолчанию в TRL"), tr(en="here", ru="здесь")]
    return table(head, lines)


# Fields that a run's settings may decide; others (folders, what TRL derives from these) would only fill the table.
SHOWN = ("per_device_train_batch_size", "gradient_accumulation_steps", "max_completion_length", "learning_rate", "max_steps",
         "lr_scheduler_type", "warmup_steps", "beta", "loss_type", "epsilon_high", "logging_steps", "log_completions",
         "num_completions_to_print", "save_steps", "save_total_limit", "use_cpu", "bf16", "gradient_checkpointing")


def replies(tasks: Sequence[Mapping], before, after, count: int = 3) -> HTML:
    """The first reply of both models to some tasks, side by side; before and after: Samples of the same tasks.

    Tasks that the first model did not solve come first: there is more to see in them.
    """
    order = sorted(range(len(tasks)), key=lambda i: (bool(before.right[i, 0]), not bool(after.right[i, 0])))
    head = [tr(en="task", ru="задача"), tr(en="before", ru="до"), tr(en="after", ru="после")]
    rows = ["".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)]
    for i in order[:count]:
        nums, target = tasks[i]["nums"], tasks[i]["target"]
        cells = [f"{nums} → {target}"]
        for samples in (before, after):
            verdict = tr(en="right", ru="верно") if samples.right[i, 0] else tr(en="wrong", ru="неверно")
            cells.append(f"<pre style='margin:0'>{escape(samples.texts[i][0])}</pre><b>{escape(verdict)}</b>")
        rows.append("".join(f"<td style='text-align:left;vertical-align:top'>{cell}</td>" for cell in cells))
    return HTML("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")


# ── five seeds ────────────────────────────────────────────────────────────────────────────────────────────────────────
def controls(found: Mapping) -> Figure:
    """pass@1 on the test tasks over the seeds of lib.llm.table: the base, the two controls, GRPO."""
    from lib.toy.evaluate import mean_interval

    cases = {
        tr(en="base", ru="база"): [seed["base"]["accuracy"] for seed in found["seeds"]],
        tr(en="base, best of k\nat the same tokens", ru="база, лучший из k\nпри тех же токенах"):
            [seed["variants"]["preset"]["best_of"] for seed in found["seeds"]],
        tr(en="base, forced to search\nuntil its ✓", ru="база, вынужденная\nискать до своего ✓"):
            [seed["forced"]["accuracy"] for seed in found["seeds"]],
        tr(en="after GRPO", ru="после GRPO"): [seed["variants"]["preset"]["after"]["accuracy"] for seed in found["seeds"]],
        tr(en="base, pass@8", ru="база, pass@8"): [seed["base"]["pass_k"] for seed in found["seeds"]],
    }
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for y, (values, color) in enumerate(zip(cases.values(), COLORS, strict=False)):
        mean = mean_interval(values)
        axes.plot(values, [y] * len(values), "o", color=color, alpha=0.35)
        axes.errorbar(mean.mean, y, xerr=mean.error, fmt="|", color=color, markersize=16, capsize=6, linewidth=2)
        axes.text(1.01, y, str(mean), va="center", fontsize=9, transform=axes.get_yaxis_transform())
    axes.set(yticks=range(len(cases)), yticklabels=list(cases), xlim=(0, 1), ylim=(len(cases) - 0.5, -0.5),
             xlabel=tr(en="share of right replies", ru="доля верных ответов"))
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def trade_off(found: Mapping) -> Figure:
    """Mean curves over the seeds, a line for each variant of lib.llm.table: right answers, length, cut off."""
    names = {"limit 150": tr(en="limit 150", ru="лимит 150"),
             "limit 150, overlong": tr(en="limit 150, soft punishment", ru="лимит 150, мягкий штраф"),
             "preset": tr(en="limit 200, soft punishment", ru="лимит 200, мягкий штраф")}
    runs = {names[variant]: _mean_rows([seed["variants"][variant]["rows"] for seed in found["seeds"]]) for variant in names}
    return curves(runs, LIVE[:3])


def _mean_rows(runs: Sequence[Sequence[Mapping]]) -> list[dict]:
    """Rows of the means over runs, step by step."""
    found = []
    for rows in zip(*runs, strict=True):
        found.append({STEP: rows[0][STEP]} | {name: sum(row[name] for row in rows) / len(rows) for name in LIVE})
    return found


# ── who waits for whom ────────────────────────────────────────────────────────────────────────────────────────────────
def timelines(generation: float, training: float, steps: int = 3) -> Figure:
    """Two timelines in seconds: the synchronous run, where one side waits for the other, and one that is a step behind."""
    figure = Figure(figsize=(8.5, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 1, sharex=True)
    both = generation + training
    starts = {tr(en="synchronous", ru="синхронно"): [(i * both, i * both + generation) for i in range(steps)]}
    slower = max(generation, training)
    starts[tr(en="asynchronous, the sampling policy one step behind", ru="асинхронно, сэмплирует политика шагом старше")] = [
        (i * slower, (i + 1) * slower) for i in range(steps)]
    for axes, (title, pairs) in zip(panels, starts.items(), strict=True):
        for i, (at, then) in enumerate(pairs):
            for y, start, length, name in ((1, at, generation, 0), (0, then, training, 1)):
                axes.barh(y, length, left=start, height=0.7, color=COLORS[name], edgecolor="white")
                axes.text(start + length / 2, y, str(i + 1), ha="center", va="center", color="white", fontsize=9)
        axes.set(title=title, yticks=(0, 1), yticklabels=(tr(en="cards 1–3: training", ru="карты 1–3: обучение"),
                                                          tr(en="card 0: generation", ru="карта 0: генерация")))
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].set_xlabel(tr(en="seconds, estimated", ru="секунды, оценка"))
    return figure
