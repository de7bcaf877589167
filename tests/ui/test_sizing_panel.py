"""The memory panel without a browser: controls are moved, and the picture and the sentence below it are read."""
import asyncio
import itertools
import threading
from html import unescape

import pytest
from loops import drive
from matplotlib.colors import to_hex

from lib.llm import sizing
from lib.llm.sizing import CARDS, MODELS, memory
from lib.ui import sizing_panel
from lib.ui.sizing_panel import START, SizingPanel, memory_figure, nearest, plan


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


async def move(panel, **values):
    for name, value in values.items():
        panel.controls[name].value = value
    await asyncio.sleep(0)


# ── the picture ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_bars_are_the_parts_stacked():
    cards = memory(MODELS["Qwen2.5-0.5B"], 4, "copy", vllm="server", card_gb=16)
    axes = memory_figure(cards, 16).axes[0]
    for number, card in enumerate(cards):
        stacked = sorted((bar.get_y(), bar.get_height()) for group in axes.containers for bar in [group[number]]
                         if bar.get_height())
        assert sorted(height for _, height in stacked) == pytest.approx(sorted(gb for gb in card.values() if gb))
        for (y, height), (above, _) in itertools.pairwise(stacked):
            assert y + height == pytest.approx(above)
        assert axes.texts[number].get_text() == f"{sum(card.values()):.1f}"
    assert list(axes.lines[0].get_ydata()) == [16, 16]


def test_the_legend_names_what_is_there_in_the_order_of_the_bars():
    names = legend(memory_figure([{"weights": 2.0, "optimizer": 4.0, "logits": 0.0}, {"kv_cache": 1.0}], 16))
    assert names == ["KV cache", "Adam's state", "weights", "a card's 16 GB"]


def test_the_picture_speaks_the_learners_language(in_russian):
    figure = memory_figure([{"weights": 2.0}], 8)
    assert legend(figure) == ["веса", "8 ГБ карты"]
    assert figure.axes[0].get_ylabel() == "ГБ"


def test_parts_look_different_each():
    parts = {part: 1.0 for vllm in ("", "server", "colocate") for card in memory(MODELS["Qwen2.5-0.5B"], 2, vllm=vllm)
             for part in card}
    axes = memory_figure([parts], 16).axes[0]
    looks = {(to_hex(group[0].get_facecolor()), group[0].get_hatch() or "") for group in axes.containers}
    assert len(looks) == len(parts) == len(sizing_panel.LOOKS)


def test_a_total_beyond_the_card_is_bold_and_in_the_picture():
    axes = memory_figure([{"weights": 30.0}, {"weights": 5.0}], 16).axes[0]
    assert [text.get_fontweight() for text in axes.texts] == ["bold", "normal"]
    assert axes.get_ylim()[1] > 30
    assert memory_figure([{"weights": 5.0}], 16).axes[0].get_ylim()[1] > 16


@pytest.mark.parametrize("number", [1, 8])
def test_nothing_overlaps(number, each_language):
    cards = memory(MODELS["Qwen2.5-7B"], number, "copy", card_gb=16, vllm="colocate")
    figure = memory_figure(cards, 16)
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    ticks = [label.get_window_extent() for label in axes.get_xticklabels()]
    for row in (boxes, ticks):
        assert not any(one.overlaps(other) for one, other in itertools.pairwise(row))
    assert not axes.get_window_extent().overlaps(figure.legends[0].get_window_extent())


# ── the panel ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_move_redraws():
    async def scenario():
        panel = SizingPanel()
        assert panel.image.value[:4] == b"\x89PNG"
        assert panel.values() == START
        for name, value in {"model": "Qwen2.5-3B", "placement": "zero2", "cards": 8, "card_gb": 24, "vllm": "colocate",
                            "completions": 32, "completion_tokens": 4096}.items():
            before = panel.image.value, panel.status.value
            await move(panel, **{name: value})
            assert panel.image.value != before[0], name
            assert panel.status.value != before[1], name
        assert unescape(panel.status.value) == plan(**panel.values())[1]
    drive(scenario())


def test_the_link_sets_the_time_to_send():
    async def scenario():
        panel = SizingPanel(placement="zero2")
        assert "(bfloat16) at 10 GB/s: 0.099 s a step" in unescape(panel.status.value)
        await move(panel, link=2)
        assert "at 2 GB/s: 0.49 s a step" in unescape(panel.status.value)
        await move(panel, placement="copy")
        assert "(float32) at 2 GB/s: 0.99 s a step" in unescape(panel.status.value)
        await move(panel, vllm="colocate")                                 # nothing goes over a link
        assert "Sending" not in panel.status.value
    drive(scenario())


def test_a_server_on_the_only_card_is_a_sentence_and_goes_away(each_language):
    async def scenario():
        panel = SizingPanel(cards=1)
        assert "colocate" in panel.status.value
        assert panel.image.layout.display == "none"
        await move(panel, cards=2)
        assert panel.image.layout.display == ""
        assert "GB" in panel.status.value or "ГБ" in panel.status.value
    drive(scenario())


def test_no_choice_is_a_traceback(each_language):
    names = ("model", "placement", "vllm", "cards")
    for model, placement, vllm, cards in itertools.product(MODELS, sizing.PLACEMENTS, ("", "server", "colocate"), (1, 2, 8)):
        chosen = START | dict(zip(names, (model, placement, vllm, cards), strict=True))
        if vllm == "server" and cards == 1:
            with pytest.raises(ValueError, match="colocate"):
                plan(**chosen)
        else:
            found, text = plan(**chosen)
            assert len(found) == cards
            assert sizing.verdict(MODELS[model], cards, placement, vllm=vllm, sampled=32).text in text


def test_the_split_of_a_step():
    text = plan(**START)[1]
    times = sizing.step_seconds(MODELS["Qwen2.5-0.5B"], CARDS["RTX 4080"], 96, engine="vllm", cards=3)
    share = 100 * times["generation"] / sum(times.values())
    assert (f"A step of 96 completions on cards like RTX 4080, roughly: generation {times['generation']:.1f} s, "
            f"training {times['training']:.1f} s, so generation is {share:.0f} %") in text
    slow = sizing.step_seconds(MODELS["Qwen2.5-0.5B"], CARDS["RTX 4080"], 128, cards=4)
    assert f"generation {slow['generation']:.1f} s, training {slow['training']:.1f} s" in plan(**START | {"vllm": ""})[1]
    lora = sizing.step_seconds(MODELS["Qwen2.5-3B"], CARDS["RTX 4080"], 96, engine="vllm", cards=3, placement="lora")
    assert f"training {lora['training']:.1f} s" in plan(**START | {"model": "Qwen2.5-3B", "placement": "lora"})[1]


@pytest.mark.parametrize(("gb", "name"), [(8, "RTX 4080"), (16, "RTX 4080"), (24, "RTX 4090"), (32, "A100 80GB"),
                                          (80, "A100 80GB"), (141, "H100 80GB")])
def test_the_card_whose_speed_is_taken(gb, name):
    assert nearest(gb).name == name


def test_messages_from_another_thread_are_handed_over(monkeypatch):
    async def scenario():
        panel, threads = SizingPanel(), []
        monkeypatch.setattr(panel, "draw", lambda: threads.append(threading.current_thread()))
        message = threading.Thread(target=lambda: setattr(panel.controls["cards"], "value", 2))
        message.start()
        message.join()
        await asyncio.sleep(0.01)
        assert threads == [threading.main_thread()]
    drive(scenario())


def test_a_start_that_no_control_has(each_language):
    async def scenario():
        with pytest.raises(ValueError, match="card_gb=17"):
            SizingPanel(card_gb=17)
    drive(scenario())


def test_a_reader_without_a_kernel_is_told_what_to_do(each_language):
    async def scenario():
        bundle = SizingPanel()._repr_mimebundle_()
        assert "Shift+Enter" in bundle["text/html"]
        assert "application/vnd.jupyter.widget-view+json" in bundle
    drive(scenario())
