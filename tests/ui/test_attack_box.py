"""The attack box without a browser: fields are filled, the button is pressed, and the table is read."""
import asyncio
import os
import re
import threading
import time
from html import unescape

import pytest
from loops import drive

from lib.countdown.battery import case
from lib.countdown.cage import Cage, Outcome
from lib.countdown.explain import explain
from lib.countdown.naive import DESIGNS
from lib.ui import attack_box
from lib.ui.attack_box import READY, AttackBox, design_notes, duration, number, numbers


@pytest.fixture(autouse=True)
def no_processes_left():
    yield
    if AttackBox._active:
        AttackBox._active.close()
        AttackBox._active = None


async def attack(box, reply=None, nums=None, target=None):
    """Fills what is given, presses the button and waits for the end."""
    for field, value in ((box.reply, reply), (box.nums, nums), (box.target, target)):
        if value is not None:
            field.value = value
    box.button.click()
    await asyncio.sleep(0)
    if box.task:
        await box.task
        await asyncio.sleep(0)


def text(html: str) -> str:
    return unescape(re.sub("<[^>]*>", " ", html))


# ── attacks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_checker_answers_and_the_last_says_why():
    async def scenario():
        box = AttackBox()
        await attack(box, "<think>x</think><answer>3*7+10=31</answer>", "3 7 10", "31")
        assert list(design_notes()) == list(DESIGNS)
        assert set(box.outcomes) == set(DESIGNS)
        assert box.outcomes["forgiving"].paid == pytest.approx(1.2)
        assert box.outcomes["bare_eval"].error == "SyntaxError"
        assert box.outcomes["final"].paid == pytest.approx(0.2)
        verdict = explain("<think>x</think><answer>3*7+10=31</answer>", [3, 7, 10], 31)
        assert verdict.form_why in text(box.table.value)
        assert verdict.right_why in text(box.table.value)
        assert box.status.value == "Done: 2 of 6 went wrong"
        assert not box.button.disabled
    drive(scenario())


def test_choosing_a_ready_made_attack_fills_the_fields_and_runs():
    async def scenario():
        box = AttackBox()
        box.ready.value = "way around"
        await asyncio.sleep(0)
        await box.task
        assert box.reply.value == case("way around").reply
        assert box.outcomes["no_builtins"].files == ("owned.txt",)
        assert "the reply's code ran" in text(box.table.value)
    drive(scenario())


@pytest.mark.parametrize("name", READY)
def test_ready_made_attacks_are_cases(name):
    assert isinstance(case(name).reply, str)
    assert numbers(" ".join(map(str, case(name).nums))) == case(name).nums
    assert number(str(case(name).target)) == case(name).target


def test_a_long_reply_is_shown_short_and_given_whole():
    async def scenario():
        box = AttackBox()
        box._fill("3000 parentheses")
        assert len(box.reply.value) < 2200
        assert "characters" in box.reply.value
        await attack(box)
        assert box.outcomes["final"].paid == pytest.approx(1.2)      # whole, it is right
        await attack(box, box.reply.value + " ")                      # edited, it is what the text area says
        assert box.outcomes["final"].paid < 1
    drive(scenario())


def test_half_a_character_reaches_the_checkers_but_not_the_page(monkeypatch):
    async def scenario():
        box = AttackBox()
        asked = []
        monkeypatch.setattr(Cage, "run", lambda self, *call: asked.append(call) or Outcome("paid"))
        box._fill("surrogate")
        await attack(box)
        assert {call[1] for call in asked} == {case("surrogate").reply}
        for widget in (box.reply, box.table, box.status):
            widget.value.encode()                                     # raises if it cannot be sent
    drive(scenario())


def test_what_is_typed_is_no_markup():
    async def scenario():
        box = AttackBox()
        await attack(box, "<img src=x onerror=alert(1)><answer><script>&</script></answer>", "3 7 10", "31")
        assert "<img" not in box.table.value
        assert "<script" not in box.table.value
    drive(scenario())


# ── while one runs ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_quick_checkers_are_shown_before_the_slow_one_and_the_loop_stays_free(monkeypatch):
    slow = threading.Event()

    def run(self, design, *call):
        if design == "bare_eval":
            slow.wait(10)
        return Outcome("paid", 0.2, 0.001)

    async def scenario():
        monkeypatch.setattr(Cage, "run", run)
        box = AttackBox()
        box.reply.value = "<think>x</think><answer>1</answer>"
        box.button.click()
        deadline = time.monotonic() + 10
        while len(box.outcomes) < len(DESIGNS) - 1 and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        assert "bare_eval" not in box.outcomes
        assert box.button.disabled
        assert box.ready.disabled
        assert box.status.value == "Running…"
        assert text(box.table.value).count("0.20") == len(DESIGNS) - 1
        task = box.task
        box.attack()                                                  # a second click is no second attack
        assert box.task is task
        slow.set()
        await task
        await asyncio.sleep(0)
        assert not box.button.disabled
    drive(scenario())


def test_a_hang_is_killed_and_the_next_attack_works(monkeypatch):
    monkeypatch.setattr(attack_box, "SECONDS", 0.5)

    async def scenario():
        box = AttackBox()
        await attack(box, case("tower").reply, "9 9 9", "9")
        assert box.outcomes["bare_eval"].end == "killed"
        await attack(box, case("plain").reply, "3 7 10", "31")
        assert {outcome.end for outcome in box.outcomes.values()} == {"paid"}
        assert box.status.value == "Done: 0 of 6 went wrong"
    drive(scenario())


def test_an_error_of_the_box_is_shown(monkeypatch):
    async def scenario():
        def run(*_):
            raise OSError("no process today")

        monkeypatch.setattr(Cage, "run", run)
        box = AttackBox()
        box.button.click()
        await asyncio.sleep(0)
        await asyncio.wait([box.task])
        await asyncio.sleep(0)
        assert box.status.value == "Error: OSError: no process today"
        assert not box.button.disabled
    drive(scenario())


def test_a_new_box_takes_the_processes_of_the_old_one():
    async def scenario():
        old = AttackBox()
        await attack(old, case("plain").reply, "3 7 10", "31")
        children = [cage._child.pid for cage in old._cages.values()]
        assert len(children) == len(DESIGNS)
        AttackBox()
        for pid in children:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        await attack(old)                                             # the old one still works
        assert set(old.outcomes) == set(DESIGNS)
        old.close()
    drive(scenario())


def test_messages_from_another_thread_are_handed_over():
    async def scenario():
        box = AttackBox()
        threads = []
        box.attack = lambda: threads.append(threading.current_thread())
        message = threading.Thread(target=box.button.click)
        message.start()
        message.join()
        await asyncio.sleep(0.01)
        assert threads == [threading.main_thread()]
    drive(scenario())


# ── fields and texts ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("written", "meant"), [("3 7 10", [3, 7, 10]), ("3,7, 10", [3, 7, 10]), (" 5 ", [5]),
                                                ("0;1", [0, 1])])
def test_numbers(written, meant):
    assert numbers(written) == meant


@pytest.mark.parametrize("written", ["", "three", "3 -7", "1.5", "3 7 x", "٣", "9" * 31])
def test_numbers_that_are_none(written, each_language):
    with pytest.raises(ValueError, match="3 7 10"):
        numbers(written)


@pytest.mark.parametrize(("written", "meant"), [("31", 31), (" 31 ", 31), ("-4", -4), ("3.5", 3.5)])
def test_target(written, meant):
    assert number(written) == meant


@pytest.mark.parametrize("written", ["", "x", "0.1", "1e3", "nan", "7/2", "9" * 31])      # 0.1 is no exact fraction
def test_targets_that_are_none(written, each_language):
    with pytest.raises(ValueError, match=r"3\.5"):
        number(written)


def test_bad_fields_are_a_sentence_and_nothing_runs():
    async def scenario():
        box = AttackBox()
        await attack(box, "<answer>1</answer>", "three", "1")
        assert "3 7 10" in box.status.value
        await attack(box, "<answer>1</answer>", "1", "one")
        assert "3.5" in box.status.value
        assert box.task is None
    drive(scenario())


def test_a_reader_without_a_kernel_is_told_what_to_do(each_language):
    async def scenario():
        bundle = AttackBox()._repr_mimebundle_()
        assert "Shift+Enter" in bundle["text/html"]
        assert "application/vnd.jupyter.widget-view+json" in bundle
    drive(scenario())


@pytest.mark.parametrize(("seconds", "shown"), [(3e-6, "3 µs"), (0.0123, "12.3 ms"), (2.0, "2.0 s")])
def test_duration(seconds, shown):
    assert duration(seconds) == shown
