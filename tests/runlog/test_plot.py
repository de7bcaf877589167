"""Plots of run logs: the figures hold the rows' numbers, in the learner's language."""
import pytest

from lib.runlog.names import STEP, TOY_METRICS, label
from lib.runlog.plot import FORMATS, LESSON_METRICS, curves

ROWS = [{"step": i, "reward": 0.1 * i, "completions/mean_length": 4.0 + i, "cot": 0.2 * i,
         "kl": None if i == 1 else float(i)} for i in range(4)]


def lines(axes):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}


def test_a_panel_a_metric_with_the_numbers_of_the_rows():
    figure = curves({"run": ROWS})
    assert [axes.get_title() for axes in figure.axes] == [label(metric) for metric in LESSON_METRICS]
    for axes, metric in zip(figure.axes, LESSON_METRICS, strict=True):
        assert lines(axes) == {"run": ([0, 1, 2, 3], [row[metric] for row in ROWS])}
        assert axes.get_xlabel() == label(STEP)
    assert figure.legends == []                        # one run needs none


def test_several_runs_share_a_panel_and_a_legend():
    other = [{**row, "reward": 1 - row["reward"]} for row in ROWS[:2]]
    figure = curves({"G = 8": ROWS, "G = 2": other}, metrics=["reward", "kl"])
    assert lines(figure.axes[0]) == {"G = 8": ([0, 1, 2, 3], [row["reward"] for row in ROWS]), "G = 2": ([0, 1], [1.0, 0.9])}
    legend, = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["G = 8", "G = 2"]


def test_what_was_not_measured_is_left_out():
    figure = curves({"run": ROWS, "without": [{"step": 0, "reward": 0.5}]}, metrics=["kl"])
    assert lines(figure.axes[0]) == {"run": ([0, 2, 3], [0.0, 2.0, 3.0])}


def test_no_rows_yet_is_an_empty_panel():
    assert [lines(axes) for axes in curves({"run": []}).axes] == [{}] * 3


@pytest.mark.parametrize("metric", ["reward", "cot"])
def test_shares_are_drawn_from_0_to_1_and_no_value_falls_outside(metric):
    axes, = curves({"run": [{"step": 0, metric: 0.4}, {"step": 1, metric: 0.5}]}, metrics=[metric]).axes
    assert axes.get_ylim() == pytest.approx((0, 1.02))
    axes, = curves({"run": [{"step": 0, metric: -0.5}, {"step": 1, metric: 1.5}]}, metrics=[metric]).axes
    low, high = axes.get_ylim()
    assert low <= -0.5
    assert high >= 1.5


def test_length_has_its_own_scale():
    axes, = curves({"run": ROWS}, metrics=["completions/mean_length"]).axes
    assert axes.get_ylim()[0] > 3


@pytest.mark.parametrize("ending", FORMATS)
def test_figures_can_be_saved(tmp_path, ending, in_russian):
    path = tmp_path / f"a{ending}"
    curves({"запуск": ROWS, "ещё один": ROWS}).savefig(path)       # Russian letters are in the font: no warning
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


def test_every_metric_of_the_toy_has_a_label_in_both_languages(monkeypatch):
    for metric in (STEP, *TOY_METRICS):
        labels = []
        for chosen in ("en", "ru"):
            monkeypatch.setenv("COURSE_LANG", chosen)
            labels.append(label(metric))
        assert labels[0] != labels[1] or metric == "loss"
        assert "/" not in labels[0]
    assert label("a/metric/of/another/framework") == "a/metric/of/another/framework"


def test_labels_are_all_different(each_language):
    assert len({label(metric) for metric in TOY_METRICS}) == len(TOY_METRICS)
