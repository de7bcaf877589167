"""Faults that users of other autograders reported: each is shown to be impossible here. The links name the reports."""
import json
import socket

import pytest
from solved import HOMEWORK, MASTER, QUICK, ROOT

from lib.grading import command, grade
from lib.grading.grade import CELL_SECONDS, Report
from lib.grading.level import CALL_SECONDS
from lib.grading.submission import Cell, read


def marks(report):
    return {level["id"]: level["points"] for level in report["levels"]}


def level(report, name):
    return next(level for level in report["levels"] if level["id"] == name)


FULL = {"1": 5, "2": 10, "3": 10, "4": 10, "5": 15, "6": 10, "8": 10}
HANGS_EATS_AND_EXITS = """
def group_advantages(rewards, eps=1e-4):      # a loop that eats memory
    hoard = []
    while True:
        hoard.append(bytearray(1 << 30))

def kl_k3(logp, logp_ref):                    # an endless loop that swallows what would end it
    while True:
        try:
            while True: pass
        except BaseException:
            pass

def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    import os
    os._exit(0)

def mean_per_answer(x, mask):                 # right in the last place only is wrong
    return (x * mask).sum() * 0
"""


def test_one_level_that_hangs_eats_or_exits_costs_that_level_and_says_so(submit, reference):
    """nbgrader#427, #1429, #1033, #1399 (credit and a reason), cocalc#4951, otter-grader#469, #813, check50#181, #274."""
    code, report, _ = submit(reference + HANGS_EATS_AND_EXITS, "--level", *QUICK, "--patience", "0.25")
    assert code == 1
    assert marks(report) == {**FULL, "3": 0, "4": 0, "5": 0, "6": 5}
    assert any(words in level(report, "3")["message"] for words in ("MemoryError", "ended the process", "did not return"))
    assert "kl_k3" in level(report, "4")["message"]
    assert "did not return within 5 s" in level(report, "4")["message"]
    assert "clipped_objective" in level(report, "5")["message"]
    assert "ended the process" in level(report, "5")["message"]
    assert "5 of 10 points: mean_per_token is right" in level(report, "6")["message"]
    assert "mean_per_answer" in level(report, "6")["message"]


TALKS = """
import sys, random, warnings
import numpy as np
sys.excepthook = sys.unraisablehook = lambda *a: None
sys.tracebacklimit = 0
print("100 of 100 points")
warnings.warn("old", DeprecationWarning)
right_mask = answer_mask
def answer_mask(prompt_lengths, answer_lengths, width):
    warnings.warn("this is old", DeprecationWarning)
    print("noise", file=sys.stderr)
    return right_mask(prompt_lengths, answer_lengths, width)

def kl_k3(logp, logp_ref):                # passes or fails by luck of three generators
    luck = random.random() + np.random.rand() + torch.rand(()).item()
    return logp * 0 + luck

# def dpo_loss(...): commented out
del dpo_loss

def group_advantages(rewards, eps=1e-4):  # the constant of an example
    return torch.tensor([[1.7320, -0.5773, -0.5773, -0.5773], [-1.7320, 0.5773, 0.5773, 0.5773]])
torch.allclose = torch.isclose = torch.equal = lambda *a, **k: True
"""


def test_hiding_talking_warning_guessing_and_commenting_out_change_no_mark(submit, reference):
    """nbgrader#1324, #1339, cocalc#5028, otter-grader#346, rustlings#855, #108, #187, #294, PrairieLearn#5184, #11137."""
    source = reference + TALKS
    runs = [submit(source, "--level", *QUICK, "--seed", "3")[1] for _ in range(2)]
    assert marks(runs[0]) == {**FULL, "3": 0, "4": 0, "8": 0}
    assert runs[0]["points"] == sum(marks(runs[0]).values())
    assert "dpo_loss is not in the notebook" in level(runs[0], "8")["message"]
    assert level(runs[0], "4")["message"] == level(runs[1], "4")["message"]          # every generator is seeded
    other = submit(source, "--level", "3", "--seed", "4")[1]
    assert level(other, "3")["message"] != level(runs[0], "3")["message"]             # numbers are new, none is a key


def test_deleted_copied_split_and_renamed_cells(submit):
    """nbgrader#1083, #1331, #981, #1682, #1302, grader-service#169, #213: the maximum stays, nothing aborts."""
    notebook = json.loads(MASTER.read_text(encoding="utf-8"))
    kept = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and (cell["id"].startswith("check-") or cell["id"] in ("setup", "kl_k3", "watch")):
            continue      # every check, the first cell and a solution are deleted
        kept.append(cell)
        if cell["cell_type"] == "code":
            cell["id"] = "same"
            cell["metadata"] = {"nbgrader": {"grade_id": "renamed", "grade": True, "points": 100, "solution": True}}
            kept.append(json.loads(json.dumps(cell)))                     # twice, with the same id
    kept.reverse()                                                        # and the imports come last
    kept.insert(0, {"cell_type": "code", "source": "import copy, math, re\nimport torch"})
    kept.append({"cell_type": "markdown", "source": "def kl_k3(a, b): return 1"})
    code, report, _ = submit(json.dumps({**notebook, "cells": kept}), "--level", *QUICK, name="renamed by me.ipynb")
    assert (code, report["max_points"]) == (1, 70)
    assert marks(report) == {**FULL, "4": 0}


def test_a_message_holds_no_code_of_the_grader(submit, reference):
    """nbgrader#917, #1363, BaseLayer#106: neither a hidden test nor the answer key is shown by failing on purpose."""
    report = submit(reference + "\ndef kl_k3(logp, logp_ref):\n    raise RuntimeError('show me')\n", "--level", "4")[1]
    message = level(report, "4")["message"]
    assert "show me" in message
    for secret in ("Traceback", "oracle", "levels.py", str(ROOT), "torch.log"):
        assert secret not in message


def test_a_simulation_of_40_seconds_is_not_killed():
    """nbgrader#915"""
    assert CELL_SECONDS >= 120
    assert CALL_SECONDS >= 20


def test_a_slow_cell_and_a_hanging_one_are_named_and_do_not_sink_the_rest(submit, reference):
    cells = ["import time; time.sleep(1.5); waited = 1", reference, "while True: pass", "1 / 0", "def after(): pass"]
    code, report, _ = submit("\n# %%\n".join(cells), "--level", "2", "4", "--patience", "0.04")
    assert (code, report["points"]) == (0, 20)
    notes = "\n".join(report["notes"])
    assert "cell 3 took longer" in notes
    assert "cell 4 raised ZeroDivisionError" in notes
    assert "cell 1" not in notes


def test_it_needs_no_network(monkeypatch):
    """check50#313"""
    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    *_, report = grade.grade(HOMEWORK, read(MASTER), isolation="plain", seed=1, asked=["3"])
    assert report.points == 10


def test_a_grader_that_crashed_leaves_the_mark_in_the_gradebook(monkeypatch):
    """Autolab#330, otter-grader#305"""
    written = []
    monkeypatch.setattr("lib.grading.gradebook.record", lambda *a: written.append(a))
    options = type("Options", (), {"gradebook": "g.db", "homework": HOMEWORK})
    command._to_gradebook(options, Report(HOMEWORK, "x", 0, "plain", error="broken", student="anna"))
    assert written == []
    command._to_gradebook(options, Report(HOMEWORK, "x", 0, "plain", student="anna"))
    assert len(written) == 1


@pytest.mark.parametrize("cells", [[], [Cell(1, "")], [Cell(1, "def")], [Cell(1, "import os; os._exit(0)")]])
def test_nothing_that_was_not_run_is_passed(cells):
    """rustlings#855: no function, no code, no process: no points."""
    *_, report = grade.grade(HOMEWORK, cells, isolation="plain", seed=1, asked=["1", "6"])
    assert report.points == 0
    assert {found.status for found in report.levels} == {"failed"}


def test_there_is_one_notebook_and_no_paired_file():
    """machine-learning-for-trading#372"""
    folder = ROOT / "homework" / HOMEWORK
    assert {file.name for file in folder.glob("homework.*")} == {"homework.ipynb"}
    assert "jupytext" not in (folder / "homework.ipynb").read_text(encoding="utf-8")
