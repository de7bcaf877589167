"""The memory panel: what each card holds in GRPO, part by part, under the learner's hands.

    from lib.ui.sizing_panel import SizingPanel
    SizingPanel()

The numbers are those of `lib.llm.sizing`. Messages of the widgets may come in a thread of their own, so they only hand their
work over to the kernel's main loop, as in `lib.ui.panel`.
"""
import asyncio
import io
from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as w
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.i18n import tr
from lib.llm import sizing
from lib.runlog.plot import COLORS
from lib.ui.widget import Widget

# part -> colour and hatching, from the bottom of a bar up: Okabe and Ito's colours, hatched where one serves twice.
LOOKS = {"weights": (COLORS[0], ""), "gradients": (COLORS[4], ""), "optimizer": (COLORS[2], ""),
         "activations": (COLORS[5], ""), "logits": (COLORS[1], ""), "autocast": (COLORS[0], "//"),
         "buffers": (COLORS[4], "\\\\"), "generation": (COLORS[2], ".."), "kv_cache": (COLORS[2], "//"),
         "vllm": (COLORS[3], ""), "cuda": ("#999999", "")}
GBS = (8, 12, 16, 24, 32, 40, 48, 80)
LINKS = (2, 5, 10, 25, 50, 200, 400)           # GB/s: from PCIe through a slot of few lanes to NVLink
BATCHES, LENGTHS = (1, 2, 4, 8, 16, 32), (64, 128, 256, 512, 1024, 2048, 4096)
ACCUMULATION = 4                               # micro-batches of an optimizer step
START = {"model": "Qwen2.5-0.5B", "placement": "copy", "cards": 4, "card_gb": 16, "link": 10, "vllm": "server",
         "completions": 8, "completion_tokens": 256}


class SizingPanel(Widget):
    """Show it as a cell's last value, or with `.show()`. Keyword arguments replace values of START."""

    def __init__(self, **start):
        self.loop = asyncio.get_running_loop()
        self._build(START | start)
        self.draw()

    def hint(self) -> str:
        return tr(en="Run this cell (Shift+Enter): the memory of the cards appears here.",
                  ru="Выполните эту ячейку (Shift+Enter): здесь появится память видеокарт.")

    def values(self) -> dict:
        """What is chosen, by the names of START."""
        return {name: control.value for name, control in self.controls.items()}

    def draw(self) -> None:
        """The picture and the text of what is chosen; where that cannot be, a sentence instead."""
        chosen = self.values()
        try:
            cards, text = plan(**chosen)
        except ValueError as error:
            self.image.layout.display, self.status.value = "none", escape(str(error))
            return
        file = io.BytesIO()
        memory_figure(cards, chosen["card_gb"]).savefig(file, format="png", dpi=110)
        self.image.layout.display, self.image.value, self.status.value = "", file.getvalue(), escape(text)

    def _build(self, start: Mapping) -> None:
        self.controls = {name: _control(name, label, options, start[name]) for name, label, options in _choices()}
        for control in self.controls.values():
            control.observe(lambda _: self._moved(), names="value")
        self.image = w.Image(layout=w.Layout(width="100%", max_width="640px", min_width="0", object_fit="contain"))
        self.status = w.HTML(layout=w.Layout(margin="0 2px"))
        self.image.add_class("sizing-image")            # names for tests to find them by
        self.status.add_class("sizing-status")
        left = w.VBox(list(self.controls.values()), layout=w.Layout(flex="0 0 320px"))
        right = w.Box([self.image], layout=w.Layout(flex="1 1 0", min_width="0", align_items="flex-start"))
        self.box = w.VBox([w.HBox([left, right]), self.status], layout=w.Layout(max_width="980px"))

    def _moved(self) -> None:
        """Called in whatever thread the message came in."""
        self.loop.call_soon_threadsafe(self.draw)


def plan(model: str, placement: str, cards: int, card_gb: float, link: float, vllm: str, completions: int,
         completion_tokens: int) -> tuple[list[dict[str, float]], str]:
    """GB by part of each card, and what that means in words. Raises ValueError where it cannot be."""
    sizes = sizing.MODELS[model]
    settings = {"card_gb": card_gb, "vllm": vllm, "completions": completions, "completion_tokens": completion_tokens,
                "sampled": completions * ACCUMULATION}
    found = sizing.memory(sizes, cards, placement, **settings)
    said = [sizing.verdict(sizes, cards, placement, **settings).text]
    training, gpu = cards - (vllm == "server"), nearest(card_gb)
    if vllm == "server":
        sent, speed = f"{sizing.transfer_seconds(sizes, link, placement):.2g}", f"{link:g}"
        kind = "float32" if placement == "copy" else "bfloat16"
        said.append(tr(en=f"Sending the weights ({kind}) at {speed} GB/s: {sent} s a step.",
                       ru=f"Отправка весов ({kind}) на скорости {speed} ГБ/с: {sent} с на шаг."))
    answers = completions * ACCUMULATION * training
    times = sizing.step_seconds(sizes, gpu, answers, completion_tokens=completion_tokens,
                                engine="vllm" if vllm else "transformers", cards=training, placement=placement)
    generation, trains = f"{times['generation']:.1f}", f"{times['training']:.1f}"
    share = f"{100 * times['generation'] / sum(times.values()):.0f}"
    said.append(tr(en=f"A step of {answers} completions on cards like {gpu.name}, roughly: generation {generation} s, "
                      f"training {trains} s, so generation is {share} %.",
                   ru=f"Шаг из {answers} ответов на картах вроде {gpu.name}, грубо: генерация {generation} с, "
                      f"обучение {trains} с, то есть на генерацию уходит {share} %."))
    return found, " ".join(said)


def nearest(card_gb: float) -> sizing.Card:
    """The first of CARDS with so much memory, else the largest: its speed stands for that of the panel's cards."""
    return next((card for card in sizing.CARDS.values() if card.memory >= card_gb), list(sizing.CARDS.values())[-1])


def memory_figure(cards: Sequence[Mapping[str, float]], card_gb: float) -> Figure:
    """A bar a card, stacked of the parts of `lib.llm.sizing.memory`, and a line where the card is full."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    bottom = [0.0] * len(cards)
    for part, (color, hatch) in LOOKS.items():
        heights = [card.get(part, 0.0) for card in cards]
        if any(heights):
            axes.bar(range(len(cards)), heights, bottom=bottom, width=0.7, color=color, hatch=hatch, edgecolor="white",
                     linewidth=0.6, label=sizing.part_name(part))
            bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    full, most = f"{card_gb:g}", max(card_gb, *bottom)
    axes.axhline(card_gb, color="black", linestyle="--", linewidth=1.5,
                 label=tr(en=f"a card's {full} GB", ru=f"{full} ГБ карты"))
    for card, total in enumerate(bottom):
        axes.text(card, total + 0.015 * most, f"{total:.1f}", ha="center", va="bottom", fontsize=9,
                  fontweight="bold" if total > card_gb else "normal",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.set(xlim=(-0.6, len(cards) - 0.4), ylim=(0, 1.12 * most), ylabel=tr(en="GB", ru="ГБ"), xticks=range(len(cards)),
             xlabel=tr(en="card", ru="карта"))
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside right upper", frameon=False, fontsize=9)      # as in the bars
    return figure


# ── controls ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _choices() -> list[tuple[str, str, list[tuple[str, object]]]]:
    """(name in START, label, options) of each control."""
    def plain(values):
        return [(str(value), value) for value in values]

    placements = [(sizing.placement_name(name), name) for name in sizing.PLACEMENTS]
    engines = [(tr(en="none", ru="нет"), ""), (tr(en="server, on card 0", ru="сервер на карте 0"), "server"),
               (tr(en="colocate, on every card", ru="colocate, на каждой карте"), "colocate")]
    return [
        ("model", tr(en="model", ru="модель"), plain(sizing.MODELS)),
        ("placement", tr(en="placement", ru="размещение"), placements),
        ("cards", tr(en="cards", ru="карт"), plain(range(1, 9))),
        ("card_gb", tr(en="GB of a card", ru="ГБ на карте"), plain(GBS)),
        ("link", tr(en="link, GB/s", ru="обмен, ГБ/с"), plain(LINKS)),
        ("vllm", "vLLM", engines),
        ("completions", tr(en="micro-batch", ru="микробатч"), plain(BATCHES)),
        ("completion_tokens", tr(en="tokens, at most", ru="токенов, не больше"), plain(LENGTHS)),
    ]


def _control(name: str, label: str, options: list, start) -> w.Widget:
    if start not in [value for _, value in options]:
        known = ", ".join(str(value) for _, value in options)
        raise ValueError(tr(en=f"{name}={start} is not one of {known}", ru=f"{name}={start} — не одно из {known}"))
    kind = w.Dropdown if name in ("model", "placement", "vllm") else w.SelectionSlider
    control = kind(options=options, value=start, description=label, style={"description_width": "128px"},
                   layout=w.Layout(width="auto", height="28px", margin="0"))
    control.add_class(f"sizing-{name}")
    return control
