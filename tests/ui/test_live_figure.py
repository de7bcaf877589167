"""The panel's curves: a frame drawn in place is the frame drawn anew, scales grow, nothing measured leaves a gap."""
import io

import numpy as np
import pytest
from PIL import Image

from lib.ui.live_figure import METRICS, PINS, LiveFigure


def rows(n, **changed):
    row = {"reward": 0.5, "completions/mean_length": 5.0, "cot": 0.3, "kl": 0.2, "entropy": 0.7} | changed
    return [{"step": step, **row, "reward": step / n} for step in range(n)]


def pixels(picture: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(picture)))


def test_a_frame_on_kept_pixels_equals_one_drawn_anew():
    live, anew = LiveFigure(40), LiveFigure(40)
    for figure in (live, anew):
        figure.compare("beta=0.2", [("default", rows(30))])
    for n in (1, 2, 20, 40):      # frames on top of the same background
        live.show(rows(n))
        live.png()
    anew.show(rows(40))
    assert np.array_equal(pixels(live.png()), pixels(anew.png()))


def test_every_metric_changes_the_picture():
    figure = LiveFigure(10)
    figure.show(rows(10))
    before = pixels(figure.png())
    for metric in METRICS:
        figure.show([{**row, metric: 0.05} for row in rows(10)])
        assert not np.array_equal(before, pixels(figure.png())), metric


def test_frames_have_one_size_and_look_alike():
    figure = LiveFigure(10)
    figure.show(rows(10))
    exact, quick = pixels(figure.png()).astype(int), pixels(figure.jpeg()).astype(int)
    assert exact.shape == quick.shape == (700, 1280, 3)
    assert abs(exact - quick).mean() < 2


def test_scales_grow_with_the_values_and_fit_again_for_the_next_run():
    figure = LiveFigure(10)
    kl, reward = figure.axes["kl"], figure.axes["reward"]
    assert kl.get_ylim() == (0, 1)
    figure.show(rows(5, kl=2.2))
    assert kl.get_ylim() == (0, 3)
    figure.show([{**row, "reward": -0.4} for row in rows(5)])
    assert reward.get_ylim() == (-0.5, 1.02)
    figure.compare("next", [])
    assert kl.get_ylim() == (0, 1)


def test_a_value_that_was_not_measured_is_a_gap():
    figure = LiveFigure(10)
    figure.show([*rows(2), {**rows(1)[0], "kl": None}])
    assert np.isnan(figure.lines["kl"].get_ydata()).tolist() == [False, False, True]
    assert np.isfinite(figure.lines["reward"].get_ydata()).all()
    figure.png()


@pytest.mark.parametrize("count", [0, 1, len(PINS)])
def test_legend_names_the_current_curve_and_each_pin_in_its_own_style(count):
    figure = LiveFigure(10)
    figure.compare("current", [(f"pin {i}", rows(5 + i)) for i in range(count)])
    legend = figure.legend_axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["current", *(f"pin {i}" for i in range(count))]
    drawn = figure.axes["cot"].lines[1:]
    assert [len(line.get_xdata()) for line in drawn] == [5 + i for i in range(count)]
    assert len({line.get_color() for line in drawn}) == len({str(line._dash_pattern) for line in drawn}) == count
    figure.compare("", [])
    assert figure.legend_axes.get_legend() is None
    assert len(figure.axes["cot"].lines) == 1
