"""The slider panel: a GRPO run under the learner's hands, drawn while it goes on.

    from lib.ui.panel import Panel
    Panel()

A run is an asyncio task in the kernel's main loop. After every step it gives way, so that messages of sliders and buttons
get through; a new move cancels it and starts the next run from the shipped base model. JupyterLab may deliver those
messages in a thread of their own (a subshell), and that thread ends when the page is closed: so they only hand their work
over to the main loop, where everything of a panel happens.
"""
import asyncio
import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields, replace
from html import escape
from pathlib import Path
from typing import IO, ClassVar

import ipywidgets as w

from lib.files import open_new
from lib.i18n import tr
from lib.runlog.names import STEP, TOY_METRICS
from lib.toy.base import SHIPPED_P_COT
from lib.toy.evaluate import Evaluation, evaluate
from lib.toy.experiment import Result, Run, Settings
from lib.toy.grpo import LOSSES
from lib.toy.policy import TinyLM
from lib.ui.live_figure import PINS, LiveFigure
from lib.ui.panel_texts import differences, results_html, samples_html
from lib.ui.widget import Widget

CHOICES = {
    "p_cot": SHIPPED_P_COT,
    "beta": (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    "G": range(2, 33),
    "lr": (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2),
    "loss": LOSSES,
    "length_penalty": (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
    "seed": range(30),
}
SETTLE_SECONDS = 0.06   # a dragged slider reports every place it passes: wait so long for the next before a run starts
FRAME_SECONDS = 0.2


class Panel(Widget):
    """Show it as a cell's last value, or with `.show()`. settings: what the sliders start from and go back to."""

    _active: ClassVar["Panel | None"] = None   # the panel whose run is under way: a kernel makes one run at a time

    def __init__(self, settings: Settings | None = None):
        self.defaults = replace(settings or Settings(), pretrain=False)   # a move starts its run at once
        self.loop = asyncio.get_running_loop()      # the kernel's: a cell runs in it
        self.run: Run | None = None                 # the current curve
        self.pins: dict[Settings, Run] = {}
        self.results: list[Result] = []             # finished runs
        self.task: asyncio.Task | None = None
        self._before: dict[float, Evaluation] = {}  # p_cot -> evaluation of its base model
        self._next_frame = 0.0
        self._take_over()
        self.figure = LiveFigure(self.defaults.steps)
        self._build()
        # The first optimizer of a process takes a second of imports, which no slider should have to wait for.
        self._show_samples(Run(self.defaults).base)
        self._show_curves(at_rest=True)
        self._show_results()
        self._say(tr(en="Move a slider or press Run", ru="Подвиньте слайдер или нажмите «Запуск»"))

    def hint(self) -> str:
        return tr(en="Run this cell (Shift+Enter): the panel with the sliders appears here.",
                  ru="Выполните эту ячейку (Shift+Enter): здесь появится панель со слайдерами.")

    @property
    def settings(self) -> Settings:
        """What the sliders say now."""
        return replace(self.defaults, **{name: slider.value for name, slider in self.sliders.items()})

    # ── buttons ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def start(self) -> None:
        """Starts a run from the base model, instead of the one under way in this panel or in another."""
        self._take_over()
        self._cancel()
        self.run = None
        self.task = self.loop.create_task(self._follow(self.settings))
        self.task.add_done_callback(self._ended)

    def stop(self) -> None:
        """Ends the run under way; its curve stays."""
        if not self._cancel():
            self._say(tr(en="Nothing is running", ru="Сейчас ничего не запущено"))
            return
        self._show_curves(at_rest=True)
        if self.run:
            self._show_samples(self.run.base, self.run.policy)
        done, steps = self._progress()
        self._say(tr(en=f"Stopped at step {done} of {steps}", ru=f"Остановлено на шаге {done} из {steps}"))

    def pin(self) -> None:
        """Keeps the current curve to compare the next ones with; one of the same settings is replaced."""
        if not (self.run and self.run.rows):
            self._say(tr(en="There is no curve to pin yet", ru="Закреплять пока нечего"))
            return
        self.pins.pop(self.run.settings, None)
        self.pins[self.run.settings] = self.run
        while len(self.pins) > len(PINS):
            del self.pins[next(iter(self.pins))]
        self._show_curves(at_rest=not self._running())
        name = differences(self.run.settings, self.defaults)
        self._say(tr(en=f"Pinned: {name}", ru=f"Закреплено: {name}"))

    def reset(self) -> None:
        """Sliders back to where they started, curves and pins gone; the table of runs stays."""
        self._cancel()
        self.run, self.pins = None, {}
        self._hear_sliders(False)
        for name, slider in self.sliders.items():
            slider.value = getattr(self.defaults, name)
        self._hear_sliders(True)
        self.bar.value = 0
        self._show_curves(at_rest=True)
        self._show_samples(self.defaults.make_base())
        self._say(tr(en="Sliders are back to their defaults", ru="Слайдеры возвращены к исходным значениям"))

    def save_csv(self) -> None:
        """Writes two files: the rows of every run, one a step, and the table of finished runs."""
        runs = [(r.settings, r.rows) for r in self.results]
        runs += [(run.settings, run.rows) for run in (*self.pins.values(), self.run) if run]
        runs = list({id(rows): (settings, rows) for settings, rows in runs if rows}.values())
        if not runs:
            self._say(tr(en="There is no run to save yet", ru="Сохранять пока нечего"))
            return
        curves, table = open_new("grpo_panel_curves.csv", newline=""), open_new("grpo_panel_runs.csv", newline="")
        _write_csv(curves, ((n, s, row) for n, (s, rows) in enumerate(runs, 1) for row in rows), (STEP, *TOY_METRICS))
        _write_csv(table, ((n, r.settings, _before_after(r)) for n, r in enumerate(self.results, 1)),
                   [f"{when}_{field}" for when in ("before", "after") for field in Evaluation._fields])
        self._say_saved(curves.name, table.name)

    def save_png(self) -> None:
        """Saves the picture of the curves."""
        with open_new("grpo_panel.png", "xb") as file:
            file.write(self.figure.png())
        self._say_saved(file.name)

    # ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def _follow(self, settings: Settings) -> None:
        """Makes a run and shows it as it goes on, then evaluates it."""
        self._say(tr(en="Starting…", ru="Запускаю…"))
        self.bar.value = 0
        await asyncio.sleep(SETTLE_SECONDS)
        self.run = run = Run(settings, progress=False)
        self._name_curves()
        self._show_samples(run.base)
        start = time.perf_counter()
        for _ in run:
            if time.perf_counter() >= self._next_frame:
                self._show_frame()
            await _let_messages_in()
        seconds = time.perf_counter() - start
        self._show_frame(at_rest=True)
        self._say(tr(en="Evaluating…", ru="Оцениваю…"))
        await _let_messages_in()
        if settings.p_cot not in self._before:
            self._before[settings.p_cot] = evaluate(run.base)
            await _let_messages_in()
        self.results.append(Result(settings, self._before[settings.p_cot], evaluate(run.policy), run.rows))
        self._show_results()
        self._show_samples(run.base, run.policy)
        self._say(tr(en=f"Done: {settings.steps} steps in {seconds:.1f} s",
                     ru=f"Готово: {settings.steps} шагов за {seconds:.1f} с"))

    def _take_over(self) -> None:
        """Makes this panel the one that may run; the run of another, say of the same cell run before, ends."""
        other, Panel._active = Panel._active, self
        if other not in (None, self) and other._running():
            other.stop()

    def _running(self) -> bool:
        return self.task is not None and not self.task.done()

    def _cancel(self) -> bool:
        """Ends the run under way; says whether there was one."""
        running = self._running()
        if running:
            self.task.cancel()
        self.task = None
        return running

    def _ended(self, task: asyncio.Task) -> None:
        """A task keeps its exception to itself until it is asked: ask, and show it."""
        if not task.cancelled() and (error := task.exception()):
            self._say_error(error)

    def _progress(self) -> tuple[int, int]:
        """Last step done and steps in all."""
        return (self.run.rows[-1][STEP], self.run.settings.steps) if self.run and self.run.rows else (0, self.defaults.steps)

    # ── what is on the screen ─────────────────────────────────────────────────────────────────────────────────────────
    def _build(self) -> None:
        self.sliders = {name: _slider(name, getattr(self.defaults, name)) for name in CHOICES}
        self._hear_sliders(True)
        self.buttons = {}
        for action, text, icon, tooltip in _buttons():
            self.buttons[action] = w.Button(description=text, icon=icon, tooltip=tooltip,
                                            layout=w.Layout(width="100px", margin="1px"))
            self.buttons[action].on_click(lambda _, action=action: self._hand_over(action))
        self.bar = w.IntProgress(max=self.defaults.steps, layout=w.Layout(width="auto", height="14px", margin="4px 2px"))
        self.status = w.HTML(layout=w.Layout(min_height="54px", margin="0 2px"))
        self.image = w.Image(layout=w.Layout(width="100%", max_width="720px", min_width="0", object_fit="contain"))
        self.table, self.samples = w.HTML(), w.HTML()
        for name in ("status", "image", "table", "samples"):   # names for tests to find them by
            getattr(self, name).add_class(f"grpo-{name}")
        scroll = {"max_height": "200px", "overflow": "auto"}
        buttons = w.HBox(list(self.buttons.values()), layout=w.Layout(flex_flow="row wrap"))
        controls = w.VBox([*self.sliders.values(), buttons, self.bar, self.status], layout=w.Layout(flex="0 0 312px"))
        controls.add_class("grpo-controls")
        self.box = w.VBox([
            w.HBox([controls, w.Box([self.image], layout=w.Layout(flex="1 1 0", min_width="0", align_items="flex-start"))]),
            w.HBox([w.Box([self.table], layout=w.Layout(flex="0 1 640px", min_width="0", **scroll)),
                    w.Box([self.samples], layout=w.Layout(flex="0 0 auto", **scroll))]),
        ])

    def _hear_sliders(self, on: bool) -> None:
        for slider in self.sliders.values():
            (slider.observe if on else slider.unobserve)(self._moved, names="value")

    def _moved(self, _) -> None:
        self._hand_over("start")

    def _hand_over(self, action: str) -> None:
        """Called in whatever thread the message came in."""
        self.loop.call_soon_threadsafe(self._do, action)

    def _do(self, action: str) -> None:
        try:
            getattr(self, action)()
        except OSError as error:      # a folder that cannot be written to, a full disk
            self._say_error(error)
        except Exception as error:    # a bug: on the screen, and its traceback in the log
            self._say_error(error)
            raise

    def _say(self, text: str) -> None:
        self.status.value = escape(text)

    def _say_error(self, error: BaseException) -> None:
        self._say(tr(en="Error: ", ru="Ошибка: ") + f"{type(error).__name__}: {error}")

    def _say_saved(self, *names: str) -> None:
        files, folder = ", ".join(names), Path.cwd()
        self._say(tr(en=f"Saved {files} in {folder}", ru=f"Сохранено: {files} в папке {folder}"))

    def _name_curves(self) -> None:
        """Pinned curves and the legend, anew."""
        name = differences(self.run.settings, self.defaults) if self.run else ""
        self.figure.compare(name, [(self._pin_name(run), run.rows) for run in self.pins.values()])

    def _pin_name(self, run: Run) -> str:
        name, done = differences(run.settings, self.defaults), len(run.rows) - 1
        if done == run.settings.steps or (run is self.run and self._running()):
            return name
        return name + tr(en=f" (stopped at {done})", ru=f" (до шага {done})")

    def _show_curves(self, at_rest: bool) -> None:
        self._name_curves()
        self._show_frame(at_rest)

    def _show_frame(self, at_rest: bool = False) -> None:
        """Draws the current curve as far as it has come; the next frame waits so long that drawing stays a small share."""
        self.figure.show(self.run.rows if self.run else [])
        self.figure.draw_still()      # about once a run, so the next frame need not wait for that
        start = time.perf_counter()
        with self.image.hold_sync():
            self.image.format, self.image.value = ("png", self.figure.png()) if at_rest else ("jpeg", self.figure.jpeg())
        self.bar.value = self._progress()[0]
        if not at_rest:
            done, steps = self._progress()
            self._say(tr(en=f"Step {done} of {steps}", ru=f"Шаг {done} из {steps}"))
        end = time.perf_counter()
        self._next_frame = end + max(FRAME_SECONDS, 3 * (end - start))

    def _show_results(self) -> None:
        self.table.value = results_html(self.results, self.defaults)

    def _show_samples(self, base: TinyLM, policy: TinyLM | None = None) -> None:
        self.samples.value = samples_html(base, policy)


# ── widgets ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _slider(name: str, start) -> w.Widget:
    labels = {"beta": tr(en="beta (KL)", ru="beta (KL)"), "lr": tr(en="learning rate", ru="learning rate"),
              "length_penalty": tr(en="length penalty", ru="штраф за длину"), "seed": tr(en="seed", ru="сид")}
    values = list(CHOICES[name])
    if start not in values:
        values = sorted([*values, start])
    options = [(v if isinstance(v, str) else f"{v:g}", v) for v in values]
    kind = w.Dropdown if name == "loss" else w.SelectionSlider
    return kind(options=options, value=start, description=labels.get(name, name), style={"description_width": "112px"},
                layout=w.Layout(width="auto", height="28px", margin="0"))


def _buttons() -> list[tuple[str, str, str, str]]:
    """(method of the panel, text, icon, what it does) of each button."""
    return [
        ("start", tr(en="Run", ru="Запуск"), "play",
         tr(en="start from the base model with these settings", ru="начать от базовой модели с этими настройками")),
        ("stop", tr(en="Stop", ru="Стоп"), "stop",
         tr(en="end the run, keep its curve", ru="прервать запуск, кривую оставить")),
        ("pin", tr(en="Pin", ru="Закрепить"), "thumb-tack",
         tr(en="keep this curve to compare with", ru="оставить эту кривую для сравнения")),
        ("reset", tr(en="Reset", ru="Сброс"), "undo",
         tr(en="sliders back to their defaults, curves away", ru="вернуть слайдеры, убрать кривые")),
        ("save_csv", tr(en="Save CSV", ru="В CSV"), "save",
         tr(en="save the rows of all runs and the table", ru="сохранить строки всех запусков и таблицу")),
        ("save_png", tr(en="Save PNG", ru="В PNG"), "save",
         tr(en="save the picture of the curves", ru="сохранить графики картинкой")),
    ]


async def _let_messages_in() -> None:
    """Gives way to the kernel's loop, for as many turns as a message takes from the socket to its slider."""
    for _ in range(8):
        await asyncio.sleep(0)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _write_csv(file: IO, lines: Iterable[tuple[int, Settings, dict]], columns: Sequence[str]) -> None:
    """Run number, settings and columns of each line; closes the file."""
    with file:
        settings_columns = [f"setting_{f.name}" for f in fields(Settings)]   # 'loss' alone would be the metric
        writer = csv.DictWriter(file, ["run", *settings_columns, *columns], extrasaction="ignore")
        writer.writeheader()
        for number, settings, row in lines:
            writer.writerow({"run": number, **dict(zip(settings_columns, astuple(settings), strict=True)), **row})


def _before_after(result: Result) -> dict:
    return {f"{when}_{name}": value for when in ("before", "after")
            for name, value in getattr(result, when)._asdict().items()}
