"""verl's console log becomes rows: colours, prefixes, numpy's numbers, what is cut off, what stands twice."""
import math

import pytest

from lib.runlog.verl import ACCURACY, TRL, line, read_console, row_of, rows_of

PREFIX = "\x1b[36m(TaskRunnerV1 pid=29537)\x1b[0m "
STEP_0 = (PREFIX + "step:0 - val-core/countdown/acc/mean@8:np.float64(0.239) - "
          "val-aux/countdown/format/mean@8:np.float64(1.0)")
STEP_1 = (PREFIX + "step:1 - actor/entropy:0.18359375 - critic/score/mean:0.528 - response_length/mean:33.75 - "
          "response_length/clip_ratio:0.015625 - num_turns/min:np.int32(2) - actor/grad_norm:1.7e-05 - timing_s/step:5.0 - "
          "actor/loss:-0.0555")


def test_a_row_has_trls_names():
    assert row_of(STEP_1) == {
        "step": 1, "entropy": 0.18359375, "reward": 0.528, "completions/mean_length": 33.75,
        "response_length/clip_ratio": 0.015625, "num_turns/min": 2.0, "grad_norm": 1.7e-05, "step_time": 5.0,
        "loss": -0.0555}
    assert row_of(STEP_0)[ACCURACY] == 0.239


def test_verls_clip_ratio_is_not_taken_for_trls():
    assert "completions/clipped_ratio" not in TRL.values()


@pytest.mark.parametrize("text", ["", "step:", "step:x - a:1", "footstep:1 - ", "step:1 - nothing here", "epoch 1 - a:2"])
def test_other_lines_are_none(text):
    assert row_of(text) is None


def test_nan_stays_and_a_broken_number_is_left_out():
    row = row_of("step:3 - actor/loss:nan - actor/grad_norm:inf - critic/score/mean:0.5 - actor/entropy:0.1e")
    assert math.isnan(row["loss"])
    assert row["grad_norm"] == math.inf
    assert "entropy" not in row
    assert row["reward"] == 0.5


def test_rows_are_in_order_and_a_step_counts_once(tmp_path):
    again = STEP_1.replace("0.528", "0.6")
    path = tmp_path / "console.log"
    path.write_bytes("\n".join(["noise \x00", STEP_1, STEP_0, again, "step:2 - critic/sco"]).encode() + b"\xff\n")
    rows = read_console(path)
    assert [row["step"] for row in rows] == [0, 1]
    assert rows[1]["reward"] == 0.6
    assert rows_of([]) == []


def test_a_log_without_rows_is_told(tmp_path, each_language):
    (tmp_path / "x.log").write_text("hello\n")
    with pytest.raises(ValueError, match=r"trainer\.logger=console"):
        read_console(tmp_path / "x.log")


def test_a_line_of_text(each_language):
    assert "0.239" in line(row_of(STEP_0))
    assert "–" in line(row_of("step:4 - critic/score/mean:nan"))
