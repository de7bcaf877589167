"""What lesson 05 shows: live curves, settings, replies, seeds, timelines."""
from itertools import pairwise

import pytest
import torch

from lib.llm.evaluate import Samples
from lib.llm.presets import config_for
from lib.ui import trl_lesson
from lib.ui.trl_lesson import LIVE, LiveCurves, controls, replies, settings_that_differ, timelines, trade_off


def row(step, value=0.5):
    return {"step": step} | dict.fromkeys(LIVE, value)


def test_live_curves_are_one_picture_that_changes(monkeypatch):
    shown, updated = [], []

    class Handle:
        def update(self, figure):
            updated.append(figure)

    monkeypatch.setattr(trl_lesson, "display", lambda figure, display_id: shown.append(figure) or Handle())
    live = LiveCurves()
    for step in (5, 10, 15):
        live(row(step, step / 15))
    assert (len(shown), len(updated)) == (1, 2)
    lines = [axes.lines[0].get_xydata().tolist() for axes in updated[-1].axes]
    assert lines == [[[5, 5 / 15], [10, 10 / 15], [15, 1]]] * len(LIVE)


def test_settings_that_differ_are_those(tmp_path, each_language):
    text = settings_that_differ(config_for("tiny", {}, tmp_path)).data
    assert "| `learning_rate` | `1e-06` | `0.0003` |" in text
    assert "| `use_cpu` | `False` | `True` |" in text
    assert "`gradient_checkpointing` | `True` | `False`" in text
    assert "| `lr_scheduler_type` | `linear` | `constant_with_warmup` |" in text
    assert "`beta`" not in text           # TRL's default is 0 as well
    assert str(tmp_path) not in text


def samples(right, texts):
    flags = torch.tensor([[r] for r in right])
    return Samples([[text] for text in texts], torch.ones(len(right), 1), flags, flags, flags)


def test_replies_stand_side_by_side_and_show_their_very_characters(each_language):
    tasks = [{"nums": [1, 2, 3], "target": n} for n in (6, 7, 8)]
    before = samples([True, False, False], ["<think>a</think>", "b1", "c1"])
    after = samples([True, False, True], ["<b>x</b>", "b2", "c2"])
    html = replies(tasks, before, after, count=3).data
    assert html.index("→ 8") < html.index("→ 7") < html.index("→ 6")        # what was learned comes first
    assert "&lt;think&gt;a&lt;/think&gt;" in html
    assert "<b>x</b>" not in html
    assert replies(tasks, before, after, count=1).data.count("<pre") == 2
    assert ("wrong" in html) == (each_language == "en")


@pytest.fixture
def found():
    def score(value):
        return {"accuracy": value, "pass_k": value + 0.3, "format": 1 - value / 10, "tokens": 30.0, "cut": 0.0}

    def seed(n):
        variants = {name: {"after": score(0.6 + n / 100), "best_of": 0.4, "rows": [row(5, n), row(10, n + 1)]}
                    for name in ("limit 150", "limit 150, overlong", "preset")}
        return {"seed": n, "base": score(0.2), "forced": score(0.6), "variants": variants}

    return {"seeds": [seed(0), seed(2)]}


def test_controls_show_every_seed_and_the_mean(found, each_language):
    axes = controls(found).axes[0]
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o"]
    assert [list(x) for x in dots] == [pytest.approx(x) for x in ([0.2] * 2, [0.4] * 2, [0.6] * 2, [0.6, 0.62], [0.5] * 2)]
    assert "0.61 ± 0.13" in [text.get_text() for text in axes.texts]       # 12.7 standard errors of 0.01 for n = 2


def test_trade_off_draws_the_mean_over_seeds(found):
    axes = trade_off(found).axes[0]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[5, 1], [10, 2]]] * 3


def test_timelines_do_not_overlap_and_async_is_shorter(each_language):
    figure = timelines(2.0, 1.0, steps=3)
    ends = []
    for axes in figure.axes:
        bars = sorted((patch.get_y() > 0.5, patch.get_x(), patch.get_width()) for patch in axes.patches)
        for (lane, start, width), (next_lane, next_start, _) in pairwise(bars):
            assert lane != next_lane or start + width <= next_start + 1e-9
        generation = [(x, w) for lane, x, w in bars if lane]
        training = [(x, w) for lane, x, w in bars if not lane]
        assert all(t[0] >= g[0] + g[1] - 1e-9 for g, t in zip(generation, training, strict=True)), "trained before sampled"
        ends.append(max(x + w for _, x, w in bars))
    assert ends == [9.0, 7.0]
