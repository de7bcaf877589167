"""The attack box of lesson 04: a reply typed in the model's name, and what each checker says of it.

    from lib.ui.attack_box import AttackBox
    AttackBox()

Every checker runs in a child process of its own, all at once, and what hangs is killed. Messages of the widgets may come in
a thread of their own, so they only hand their work over to the kernel's main loop, as in `lib.ui.panel`.
"""
import asyncio
import re
from fractions import Fraction
from html import escape
from typing import ClassVar

import ipywidgets as w

from lib.countdown.battery import Case, case
from lib.countdown.cage import Cage, Outcome
from lib.countdown.explain import Explanation, explain
from lib.countdown.naive import DESIGNS
from lib.i18n import tr
from lib.ui.attacks import FINE, LOOKS, happened, judge, verdicts
from lib.ui.widget import Widget

READY = ("plain", "target", "twice", "write a file", "way around", "tower", "206 characters", "3000 signs", "floor",
         "decimal", "draft", "list", "empty", "sprayed", "two thoughts", "equation and more", "tolerance", "full width",
         "3000 parentheses", "tag flood")
SECONDS = 2.0
TYPED = 2000      # characters of a ready-made reply that the text area shows: more would make the page slow


class AttackBox(Widget):
    """Show it as a cell's last value, or with `.show()`."""

    _active: ClassVar["AttackBox | None"] = None     # another one, say of the same cell run before, gives its processes back

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.task: asyncio.Task | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.verdict: Explanation | None = None
        self._cages: dict[str, Cage] = {}
        self._whole: dict[str, str] = {}             # what the text area shows -> the reply that is meant
        if AttackBox._active:
            AttackBox._active.close()
        AttackBox._active = self
        self._build()
        self._fill("plain")
        self._say(tr(en="Write a reply and press Attack, or choose one from the list",
                     ru="Напишите ответ и нажмите «Атаковать» или выберите готовый из списка"))

    def hint(self) -> str:
        return tr(en="Run this cell (Shift+Enter): the attack box appears here.",
                  ru="Выполните эту ячейку (Shift+Enter): здесь появится окно атак.")

    def close(self) -> None:
        """Ends an attack under way and the child processes; the next attack starts them again."""
        if self.task:
            self.task.cancel()
        for cage in self._cages.values():
            cage.close()
        self._cages = {}

    # ── an attack ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def attack(self) -> None:
        """Gives the reply to every checker, unless an attack is under way."""
        if self.task and not self.task.done():
            return
        try:
            nums, target = numbers(self.nums.value), number(self.target.value)
        except ValueError as error:
            self._say(str(error))
            return
        reply = self._whole.get(self.reply.value, self.reply.value)
        self.verdict, self.outcomes = explain(reply, nums, target), {}
        self.task = self.loop.create_task(self._follow(Case("", "", reply, *self.verdict[::2], "", nums, target)))
        self.task.add_done_callback(self._ended)

    async def _follow(self, typed: Case) -> None:
        self._enable(False)
        self._say(tr(en="Running…", ru="Запускаю…"))
        self._show(typed)
        for one in asyncio.as_completed([self._ask(design, typed) for design in DESIGNS]):
            design, outcome = await one
            self.outcomes[design] = outcome
            self._show(typed)
        wrong = sum(judge(typed, outcome) != FINE for outcome in self.outcomes.values())
        self._say(tr(en=f"Done: {wrong} of {len(DESIGNS)} went wrong", ru=f"Готово: ошиблись {wrong} из {len(DESIGNS)}"))

    async def _ask(self, design: str, typed: Case) -> tuple[str, Outcome]:
        if design not in self._cages:
            self._cages[design] = Cage(SECONDS)
        cage = self._cages[design]
        return design, await asyncio.to_thread(cage.run, design, typed.reply, typed.nums, typed.target)

    def _ended(self, task: asyncio.Task) -> None:
        """A task keeps its exception to itself until it is asked: ask, and show it."""
        self._enable(True)
        if not task.cancelled() and (error := task.exception()):
            self._say(tr(en="Error: ", ru="Ошибка: ") + f"{type(error).__name__}: {error}")

    # ── what is on the screen ─────────────────────────────────────────────────────────────────────────────────────────
    def _build(self) -> None:
        wide = w.Layout(width="auto")
        label = {"description_width": "90px"}
        self.ready = w.Dropdown(options=[(f"{name}: {case(name).why}", name) for name in READY], style=label, layout=wide,
                                description=tr(en="ready-made", ru="готовые"))
        self.reply = w.Textarea(style=label, description=tr(en="reply", ru="ответ"),
                                layout=w.Layout(width="auto", height="92px"))
        self.nums = w.Text(style=label, description=tr(en="numbers", ru="числа"), layout=w.Layout(width="260px"))
        self.target = w.Text(style=label, description=tr(en="target", ru="цель"), layout=w.Layout(width="200px"))
        self.button = w.Button(description=tr(en="Attack", ru="Атаковать"), icon="bolt", button_style="primary")
        self.status, self.table = w.HTML(), w.HTML()
        for name in ("ready", "reply", "nums", "target", "button", "status", "table"):     # names for tests to find them by
            getattr(self, name).add_class(f"attack-{name}")
        self.ready.observe(lambda change: self._hand_over(self._choose, change["new"]), names="value")
        self.button.on_click(lambda _: self._hand_over(self.attack))
        warning = tr(en="The first two checkers execute what stands here, in a child process with limits of time and "
                        "memory. That is no prison: write nothing that you would not run yourself.",
                     ru="Первые два проверщика выполняют то, что здесь написано: в дочернем процессе, с ограничением "
                        "времени и памяти. Это не тюрьма: не пишите того, чего не запустили бы сами.")
        line = w.HBox([self.nums, self.target, self.button], layout=w.Layout(flex_flow="row wrap"))
        note = w.HTML(f"<small style='display:block;line-height:1.4'>⚠ {escape(warning)}</small>")
        self.box = w.VBox([self.ready, self.reply, line, note, self.status, self.table], layout=w.Layout(max_width="980px"))

    def _hand_over(self, action, *values) -> None:
        """Called in whatever thread the message came in."""
        self.loop.call_soon_threadsafe(action, *values)

    def _choose(self, name: str) -> None:
        self._fill(name)
        self.attack()

    def _fill(self, name: str) -> None:
        chosen = case(name)
        text = chosen.reply.encode("utf-8", "backslashreplace").decode()       # half a character cannot be sent to the page
        if len(text) > TYPED:
            cut = tr(en=f" … {len(text) - TYPED} characters … ", ru=f" … символов: {len(text) - TYPED} … ")
            text = text[: TYPED // 2] + cut + text[-TYPED // 2 :]
        self._whole = {text: chosen.reply}
        self.reply.value, self.nums.value, self.target.value = text, " ".join(map(str, chosen.nums)), str(chosen.target)

    def _enable(self, on: bool) -> None:
        self.button.disabled = self.ready.disabled = not on

    def _say(self, text: str) -> None:
        self.status.value = escape(text)

    def _show(self, typed: Case) -> None:
        self.table.value = table_html(typed, self.outcomes, self.verdict)


# ── the fields ────────────────────────────────────────────────────────────────────────────────────────────────────────
def numbers(text: str) -> list[int]:
    """The given numbers, separated by spaces or commas. Raises ValueError with what to write."""
    found = re.split(r"[\s,;]+", text.strip())
    if not all(re.fullmatch("[0-9]{1,30}", one) for one in found):
        raise ValueError(tr(en="numbers: write whole numbers, such as 3 7 10",
                            ru="числа: напишите целые числа, например 3 7 10"))
    return [int(one) for one in found]


def number(text: str) -> int | float:
    """The target. Raises ValueError with what to write."""
    text = text.strip()
    if re.fullmatch("-?[0-9]{1,30}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,10}\.[0-9]{1,10}", text) and Fraction(text) == Fraction(float(text)):
        return float(text)
    raise ValueError(tr(en="target: write a number, such as 31 or 3.5", ru="цель: напишите число, например 31 или 3.5"))


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def design_notes() -> dict[str, str]:
    """Each checker in a few words."""
    return {
        "bare_eval": tr(en="Python computes the first answer", ru="первый ответ считает Python"),
        "no_builtins": tr(en="counts numbers, eval without builtins", ru="сверяет числа, eval без builtins"),
        "allowed_characters": tr(en="digits and signs only, no **", ru="только цифры и знаки, без **"),
        "forgiving": tr(en="repairs the answer, catches all errors", ru="чинит ответ, ловит все ошибки"),
        "recursive": tr(en="its own recursive parser", ru="свой рекурсивный парсер"),
        "final": tr(en="the course's reward", ru="награда курса"),
    }


def table_html(typed: Case, outcomes: dict[str, Outcome], verdict: Explanation) -> str:
    """A row a checker, as far as they have answered, and the reasons of the last one below."""
    head = "".join(f"<th style='text-align:left;padding:2px 10px'>{title}</th>" for title in (
        tr(en="checker", ru="проверщик"), "", tr(en="says", ru="говорит"), tr(en="time", ru="время"), ""))
    rows = "".join(_row(design, note, typed, outcomes.get(design)) for design, note in design_notes().items())
    why = "".join(f"<li>{'✓' if holds else '✗'} <b>{title}</b>: {_safe(reason)}</li>" for holds, title, reason in (
        (verdict.form, tr(en="form", ru="форма"), verdict.form_why),
        (verdict.right, tr(en="answer", ru="ответ"), verdict.right_why)))
    title = tr(en="Why the last one says so", ru="Почему последний так решил")
    return (f"<table style='line-height:1.5'><tr>{head}</tr>{rows}</table>"
            f"<p style='margin:8px 0 0'><b>{title}</b></p><ul style='margin:0;list-style:none;padding-left:10px'>{why}</ul>")


def _row(design: str, note: str, typed: Case, outcome: Outcome | None) -> str:
    said, seconds, mark, color = "…", "", "", "transparent"
    if outcome:
        kind = judge(typed, outcome)
        said, seconds = _safe(happened(outcome)).replace("`", ""), duration(outcome.seconds)
        color, mark = LOOKS[kind][0], "✓" if kind == FINE else f"✗ {verdicts()[kind]}"
    cells = (f"<code>{design}</code>", f"<small>{escape(note)}</small>", said, seconds, f"<b>{escape(mark)}</b>")
    return (f"<tr style='background:{color};color:{'black' if outcome else 'inherit'}'>"
            + "".join(f"<td style='padding:2px 10px'>{cell}</td>" for cell in cells) + "</tr>")


def duration(seconds: float) -> str:
    """A call's time in the unit that suits it."""
    if seconds < 0.001:
        return f"{1e6 * seconds:.0f} " + tr(en="µs", ru="мкс")
    if seconds < 0.1:
        return f"{1e3 * seconds:.1f} " + tr(en="ms", ru="мс")
    return f"{seconds:.1f} " + tr(en="s", ru="с")


def _safe(text: str) -> str:
    return escape(text.encode("utf-8", "backslashreplace").decode())
