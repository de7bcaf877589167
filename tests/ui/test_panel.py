"""The slider panel without a browser: its sliders are moved, its buttons pressed and its runs awaited in an asyncio loop."""
import asyncio
import csv
import io
import re
import threading
from dataclasses import replace

import ipywidgets
import numpy as np
import pytest
from loops import drive
from PIL import Image

from lib.toy.base import load_base
from lib.toy.evaluate import evaluate
from lib.toy.experiment import Run, Settings
from lib.toy.reward import rule_reward
from lib.ui import panel as panel_module
from lib.ui.panel import Panel
from lib.ui.panel_texts import differences

SHORT = Settings(steps=5, B=4)
LONG = Settings(steps=10_000, B=2)   # far longer than any test waits


async def rows(panel, n):
    """Waits until the panel's run has n rows."""
    for _ in range(2000):
        if panel.run and len(panel.run.rows) >= n:
            return
        await asyncio.sleep(0.005)
    pytest.fail(f"the run did not come to {n} rows: {panel.status.value}")


async def move(panel, name, value):
    """Moves a slider; returns the task of the run that this starts."""
    before = panel.task
    panel.sliders[name].value = value
    while panel.task is before:
        await asyncio.sleep(0)
    return panel.task


async def click(panel, button):
    panel.buttons[button].click()
    await asyncio.sleep(0)


def pixels(panel) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(panel.image.value)))


def curve(panel, metric="reward") -> list[float]:
    return panel.figure.lines[metric].get_ydata().tolist()


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_to_the_end_is_the_run_of_its_settings_and_stands_in_the_table():
    async def scenario():
        panel = Panel(SHORT)
        empty = pixels(panel)
        panel.start()
        await panel.task
        expected = Run(SHORT)
        assert panel.results[0].rows == list(expected)
        after = evaluate(expected.policy)
        assert (panel.results[0].before, panel.results[0].after) == (evaluate(load_base(0.3)), after)
        assert "400 × 8" in panel.table.value
        assert f"→ {after.pass1:.2f} ± {after.pass1_error:.2f}<" in panel.table.value
        assert f"→ {after.passk:.2f}<" in panel.table.value
        assert curve(panel) == [row["reward"] for row in expected.rows]
        assert not np.array_equal(pixels(panel), empty)
        assert panel.image.format == "png"
        assert panel.bar.value == panel.bar.max == 5
        assert "Done: 5 steps" in panel.status.value
    drive(scenario())


@pytest.mark.parametrize(("name", "value"), [("p_cot", 0.5), ("beta", 0.0), ("G", 3), ("lr", 2e-3), ("loss", "dr_grpo"),
                                             ("length_penalty", 0.5), ("seed", 4)])
def test_moving_any_slider_starts_a_run_with_its_value(name, value):
    async def scenario():
        panel = Panel(LONG)
        await move(panel, name, value)
        await rows(panel, 1)
        assert panel.run.settings == replace(LONG, **{name: value})
        panel.stop()
    drive(scenario())


def test_sliders_stand_at_the_lessons_settings_even_where_a_value_is_no_step_of_theirs():
    async def scenario():
        assert Panel().settings == Settings()
        odd = Settings(beta=0.03, lr=3e-4, steps=5)
        assert Panel(odd).settings == odd
    drive(scenario())


def test_a_second_move_cancels_the_first_run():
    async def scenario():
        panel = Panel(LONG)
        await move(panel, "G", 4)
        await rows(panel, 2)
        first, first_run = panel.task, panel.run
        panel.defaults = replace(LONG, steps=3)
        await (await move(panel, "G", 5))
        assert first.cancelled()
        assert len(first_run.rows) < 1000
        assert [r.settings for r in panel.results] == [replace(LONG, steps=3, G=5)]
        assert panel.run is not first_run
    drive(scenario())


def test_a_dragged_slider_starts_one_run(monkeypatch):
    started = []

    def counted(settings, **options):
        started.append(settings)
        return Run(settings, **options)

    monkeypatch.setattr(panel_module, "Run", counted)
    monkeypatch.setattr(panel_module, "SETTLE_SECONDS", 0.5)   # far longer than the pause between two moves, even if busy

    async def scenario():
        panel = Panel(SHORT)
        started.clear()
        for G in range(3, 20):
            await move(panel, "G", G)
            await asyncio.sleep(0.005)
        await panel.task
        assert [s.G for s in started] == [19]
    drive(scenario())


def test_other_messages_are_handled_between_any_two_steps():
    async def scenario():
        panel = Panel(LONG)
        panel.start()
        await rows(panel, 1)
        steps_seen = []
        for _ in range(5):   # a message takes several turns of the kernel's loop: all of them between two steps
            before = len(panel.run.rows)
            for _ in range(4):
                await asyncio.sleep(0)
            steps_seen.append(len(panel.run.rows) - before)
        assert max(steps_seen) <= 1
        panel.stop()
    drive(scenario())


def test_messages_from_another_thread_do_their_work_in_the_kernels_own(monkeypatch):
    """JupyterLab delivers widget messages in a subshell's thread: drawing or cancelling there would race with the run."""
    threads = set()

    class Watched(Run):
        def __next__(self):
            threads.add(threading.current_thread())
            return super().__next__()

    async def scenario():
        panel = Panel(LONG)
        monkeypatch.setattr(panel_module, "Run", Watched)
        panel.status.observe(lambda _: threads.add(threading.current_thread()), names="value")
        await asyncio.to_thread(setattr, panel.sliders["G"], "value", 4)
        await rows(panel, 2)
        await asyncio.to_thread(panel.buttons["stop"].click)
        await asyncio.sleep(0.05)
        assert "Stopped" in panel.status.value
        assert threads == {threading.current_thread()}
    drive(scenario())


def test_stop_in_mid_run_keeps_the_curve():
    async def scenario():
        panel = Panel(LONG)
        panel.start()
        await rows(panel, 3)
        panel.stop()
        done = len(panel.run.rows)
        assert panel.status.value == f"Stopped at step {done - 1} of 10000"
        assert curve(panel) == [row["reward"] for row in panel.run.rows]
        picture = pixels(panel)
        await asyncio.sleep(0.1)
        assert len(panel.run.rows) == done
        assert np.array_equal(pixels(panel), picture)
        assert not panel.results
        panel.stop()
        assert panel.status.value == "Nothing is running"
    drive(scenario())


@pytest.mark.parametrize("by_a_run", [True, False])
def test_a_kernel_makes_one_run_at_a_time(by_a_run):
    async def scenario():
        other = Panel(SHORT)
        panel = Panel(LONG)
        panel.start()
        await rows(panel, 2)
        if by_a_run:
            other.start()
        else:
            Panel(SHORT)     # the cell is run again
        done = len(panel.run.rows)
        assert "Stopped" in panel.status.value
        if by_a_run:
            await other.task
            assert len(other.results) == 1
        await asyncio.sleep(0.05)
        assert len(panel.run.rows) == done
    drive(scenario())


def test_an_exception_in_a_run_is_shown_and_the_next_run_works(monkeypatch):
    class Faulty(Run):
        def __next__(self):
            if len(self.rows) == 2:
                raise FloatingPointError("the loss is <nan>")
            return super().__next__()

    async def scenario():
        panel = Panel(SHORT)
        monkeypatch.setattr(panel_module, "Run", Faulty)
        panel.start()
        await asyncio.wait([panel.task])
        await asyncio.sleep(0)
        assert panel.status.value == "Error: FloatingPointError: the loss is &lt;nan&gt;"
        monkeypatch.undo()
        panel.start()
        await panel.task
        assert "Done" in panel.status.value
    drive(scenario())


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def legend(panel) -> list[str]:
    box = panel.figure.legend_axes.get_legend()
    return [text.get_text() for text in box.get_texts()] if box else []


def test_pin_keeps_a_curve_with_its_settings_in_the_legend_and_reset_takes_all_away():
    async def scenario():
        panel = Panel(SHORT)
        panel.pin()
        assert panel.status.value == "There is no curve to pin yet"
        await (await move(panel, "beta", 0.2))
        panel.pin()
        pinned = curve(panel)
        await (await move(panel, "loss", "dapo"))
        assert legend(panel) == ["beta=0.2, loss=dapo", "beta=0.2"]
        assert panel.figure.axes["reward"].lines[1].get_ydata().tolist() == pinned
        panel.reset()
        assert legend(panel) == []
        assert curve(panel) == []
        assert panel.settings == SHORT
        assert panel.task is None
        assert len(panel.results) == 2
    drive(scenario())


def test_a_pinned_curve_that_was_stopped_says_so_and_the_oldest_pin_makes_room():
    async def scenario():
        panel = Panel(LONG)
        for G in (3, 4, 5, 6, 7):
            await move(panel, "G", G)
            await rows(panel, 1)
            panel.stop()
            panel.pin()
        assert [run.settings.G for run in panel.pins.values()] == [4, 5, 6, 7]
        assert legend(panel)[1] == f"G=4 (stopped at {len(next(iter(panel.pins.values())).rows) - 1})"
    drive(scenario())


def test_differences_name_what_is_not_default():
    assert differences(replace(SHORT, beta=0.0, lr=5e-4, loss="dapo"), SHORT) == "beta=0, lr=0.0005, loss=dapo"
    assert differences(SHORT, SHORT) == "default settings"


def test_samples_are_the_same_prompts_before_and_after_with_the_right_ones_marked():
    async def scenario():
        panel = Panel(replace(SHORT, p_cot=1.0))
        before = re.findall(r"\d{4}=", panel.samples.value)
        panel.start()
        await panel.task
        assert re.findall(r"\d{4}=", panel.samples.value) == before
        assert len(before) == 6
        lines = re.findall(r"<td>(\d{4}=)</td>(.*?)</tr>", panel.samples.value)
        marks = [(prompt, *found) for prompt, cells in lines for found in re.findall(r"([✓✗]) ([\d,.=]+)", cells)]
        assert len(marks) == 12
        for prompt, mark, answer in marks:
            assert mark == ("✓" if rule_reward(prompt, answer) else "✗")
        assert {mark for _, mark, _ in marks} >= {"✓"}
    drive(scenario())


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def read(path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_saved_csv_holds_every_run_and_never_overwrites(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def scenario():
        panel = Panel(SHORT)
        panel.save_csv()
        assert panel.status.value == "There is no run to save yet"
        await (await move(panel, "G", 4))
        panel.pin()
        panel.defaults = LONG
        await move(panel, "beta", 0.2)
        await rows(panel, 2)
        panel.stop()
        await click(panel, "save_csv")
        assert "grpo_panel_curves.csv" in panel.status.value
        assert str(tmp_path) in panel.status.value
        panel.save_csv()

        curves, table = read(tmp_path / "grpo_panel_curves.csv"), read(tmp_path / "grpo_panel_runs.csv")
        expected = [(1, row) for row in panel.results[0].rows] + [(2, row) for row in panel.run.rows]
        assert [(int(line["run"]), int(line["step"]), float(line["reward"]), float(line["loss"])) for line in curves] == [
            (number, row["step"], row["reward"], row["loss"]) for number, row in expected]
        assert {(line["setting_G"], line["setting_beta"], line["setting_loss"]) for line in curves} == {
            ("4", "0.02", "grpo"), ("4", "0.2", "grpo")}
        assert [float(line["after_pass1"]) for line in table] == [panel.results[0].after.pass1]
        assert (table[0]["before_n"], table[0]["before_samples"]) == ("400", "8")
        assert curves == read(tmp_path / "grpo_panel_curves-1.csv")
    drive(scenario())


def test_saved_png_is_the_picture_and_never_overwrites(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grpo_panel.png").write_text("mine")

    async def scenario():
        panel = Panel(SHORT)
        await click(panel, "save_png")
        await click(panel, "save_png")
        assert (tmp_path / "grpo_panel.png").read_text() == "mine"
        assert "grpo_panel-2.png" in panel.status.value
        assert np.array_equal(np.asarray(Image.open(tmp_path / "grpo_panel-1.png")), pixels(panel))
    drive(scenario())


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    async def scenario():
        panel = Panel(SHORT)
        await click(panel, "save_png")
        assert panel.status.value.startswith("Error: FileNotFoundError")
    drive(scenario())


# ── languages ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def texts(widget) -> list[str]:
    found = [getattr(widget, name, None) for name in ("description", "tooltip")]
    found += [widget.value] if isinstance(widget, ipywidgets.HTML) else []
    for child in getattr(widget, "children", ()):
        found += texts(child)
    return [re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL) for text in found if text]


def test_each_language_says_everything_in_itself(each_language):
    async def scenario():
        panel = Panel(SHORT)
        said = []
        panel.status.observe(lambda change: said.append(change.new), names="value")
        panel.stop()
        panel.pin()
        await (await move(panel, "length_penalty", 0.5))
        panel.start()
        await asyncio.sleep(0)
        panel.stop()
        panel.start()
        await panel.task
        panel.pin()
        said += texts(panel.box)
        panel.reset()
        words = [word for text in said for word in re.findall(r"[^\W\d_]{3,}", text)]
        russian = [word for word in words if re.search("[а-яё]", word.lower())]
        if each_language == "en":
            assert not russian
        else:   # what stays English is the field's own names
            assert {word.lower() for word in words} - {word.lower() for word in russian} <= {
                "cot", "beta", "learning", "rate", "loss", "csv", "png", "pass"}
        assert all(slider.description for slider in panel.sliders.values())
        assert all(button.description and button.tooltip for button in panel.buttons.values())
    drive(scenario())


def test_a_panel_is_shown_as_a_cells_last_value():
    async def scenario():
        assert "application/vnd.jupyter.widget-view+json" in Panel(SHORT)._repr_mimebundle_()
    drive(scenario())
