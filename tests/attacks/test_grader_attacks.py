"""The grader against submissions that mean harm or are broken: no undeserved point, no hang, no harm, always a report."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest
from attacks import BROKEN_FILES, EMPTY_FILES, SUBMISSIONS, Submission
from solved import HOMEWORK, QUICK, ROOT, reference_cells

from lib.grading.command import main
from lib.grading.grade import grade, load_homework
from lib.grading.sandbox import bwrap_problem
from lib.grading.submission import read

CHECK = (sys.executable, ROOT / "homework" / "check.py", HOMEWORK)
SECONDS = 100       # of any one grading; the slowest of them takes a tenth of it
WATCHED = ("lib", "homework", "tests", "check.py", "README.md")


def files_of_the_course() -> dict[str, str]:
    files = [path for name in WATCHED for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
            if path.is_file() and "__pycache__" not in path.parts and ".ipynb_checkpoints" not in path.parts}


@pytest.fixture(autouse=True)
def no_harm(tmp_path, monkeypatch):
    """Afterwards the course's files are as they were, no process is left, and no temporary file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = files_of_the_course()
    yield
    after = files_of_the_course()
    assert {name for name in before | after if before.get(name) != after.get(name)} == set()
    assert [child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE] == []
    assert list(temporary.iterdir()) == []


@pytest.fixture(scope="session")
def reference() -> list[str]:
    return reference_cells()


@pytest.fixture(scope="session")
def points() -> dict[str, dict[str, int]]:
    """level -> function -> points."""
    return {level.id: {part.function: part.points for part in level.parts} for level in load_homework(HOMEWORK).levels()}


@pytest.fixture(scope="session")
def steps() -> dict[str, list[float]]:
    """What one right step does to a constant policy: it could be known by heart, were the policy not drawn anew."""
    import importlib.util
    import random

    import torch

    spec = importlib.util.spec_from_file_location("training", ROOT / "homework" / HOMEWORK / "training.py")
    training = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(training)
    g, setting = torch.Generator().manual_seed(0), training.draw_setting(random.Random(0))
    mixed, easy, hopeless = (training.simulate(setting, *counts, g) for counts in ((700, 1400), (2000, 0), (0, 1000)))
    steps = {"grpo": training.expected_step(setting, mixed), "kl": training.expected_step(setting, hopeless, 1.0),
             "dapo": training.expected_step(setting, easy, average="token", keep_all=False)}
    return {name: (training.SMALL * step).tolist() for name, step in steps.items()}


@pytest.fixture
def listener():
    """A port of this machine that nobody may reach."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.0)
        yield server.getsockname()[1]
        with pytest.raises(BlockingIOError):
            server.accept()


def need(isolation: str) -> None:
    if isolation == "bwrap" and (problem := bwrap_problem()):
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)


def in_time(work, seconds=SECONDS):
    """What work() returns or raises; a failure where it does not come back."""
    result: list = []

    def run():
        try:
            result.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            result.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert result, f"the grader hangs: nothing within {seconds} s"
    value, error = result[0]
    if error is not None:
        raise error
    return value


def as_notebook(path: Path, cells: list[str]) -> Path:
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}), encoding="ascii")
    return path


def command(file: Path, levels, isolation: str, patience: float, folder: Path) -> tuple[int, dict, str]:
    """Runs check.py as a process of its own: (exit code, report, what it printed)."""
    report = folder / "report.json"
    done = subprocess.run([*CHECK, "--submission", file, "--isolation", isolation, "--patience", str(patience),
                           "--seed", "5", "--json", report, "--junit", folder / "report.xml",
                           "--summary", folder / "report.md", "--level", *levels],
                          capture_output=True, text=True, errors="replace", timeout=SECONDS)
    assert report.is_file(), done.stderr
    assert ElementTree.parse(folder / "report.xml").getroot().tag == "testsuites"
    return done.returncode, json.loads(report.read_text(encoding="utf-8")), done.stdout + done.stderr


def cells_of(submission: Submission, reference, **words) -> list[str]:
    cells = [attack.code for attack in submission.attacks if attack.code]
    for word, value in words.items():
        cells = [cell.replace(f"@{word}@", str(value)) for cell in cells]
    return [*reference, *cells]


@pytest.mark.parametrize(("submission", "isolation"), [
    pytest.param(submission, isolation, id=f"{submission.name}-{isolation}")
    for submission in SUBMISSIONS for isolation in submission.where])
def test_an_attack_earns_nothing_and_costs_nothing_else(submission, isolation, reference, points, steps, listener, tmp_path,
                                                        monkeypatch):
    need(isolation)
    monkeypatch.setattr("lib.grading.grade.CELL_SECONDS", submission.cell_seconds)
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    cells = cells_of(submission, reference, ROOT=ROOT, PORT=listener, PID=os.getpid(), STEPS=steps, OUTSIDE=outside)
    file = as_notebook(tmp_path / "hostile.ipynb", cells)
    if submission.process:
        code, report, printed = command(file, submission.levels, isolation, submission.patience, tmp_path)
        assert code in (0, 1), printed
        assert report["error"] == ""
        found = {level["id"]: (level["parts"], level["message"]) for level in report["levels"]}
        total = report["points"]
        assert re.findall(r"^(\d+) of \d+ points$", printed, re.MULTILINE) == [str(total)]
    else:
        *_, last = in_time(lambda: list(grade(HOMEWORK, read(file), isolation=isolation, seed=5, asked=submission.levels,
                                              patience=submission.patience)))
        code = last.exit_code
        found = {level.id: (level.parts, level.message) for level in last.levels}
        total = last.points
    assert outside.read_text() == "untouched"
    targets = {attack.target for attack in submission.attacks}
    assert found.keys() == set(submission.levels)
    for level, (parts, message) in found.items():
        for function, paid in parts.items():
            if function not in submission.lost:
                deserved = 0 if function in targets else points[level][function]
                assert paid == deserved, f"{function}: {paid} points, deserved {deserved}. {message}"
    assert total == sum(sum(parts.values()) for parts, _ in found.values())
    assert code == (0 if total == sum(sum(points[level].values()) for level in found) else 1)


@pytest.mark.parametrize(("name", "content", "size"), BROKEN_FILES, ids=[name for name, *_ in BROKEN_FILES])
def test_a_file_that_cannot_be_graded_gets_no_mark(name, content, size, tmp_path, capsys):
    file, report = tmp_path / name, tmp_path / "report.json"
    file.write_bytes(content)
    if size:
        os.truncate(file, size)
    code = in_time(lambda: main([HOMEWORK, "--submission", str(file), "--isolation", "plain", "--json", str(report)]))
    data = json.loads(report.read_text(encoding="utf-8"))
    assert code == 2
    assert data["points"] is None
    assert name in data["error"]
    assert "Traceback" not in data["error"] + capsys.readouterr().err


@pytest.mark.parametrize(("name", "content"), EMPTY_FILES, ids=[name for name, _ in EMPTY_FILES])
def test_a_file_without_solutions_can_be_read(name, content, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    assert "def " not in "".join(cell.source for cell in read(file))


def test_a_notebook_without_solutions_gets_no_points(tmp_path):
    name, content = EMPTY_FILES[-1]
    file = tmp_path / name
    file.write_bytes(content)
    *_, last = in_time(lambda: list(grade(HOMEWORK, read(file), isolation="plain", asked=("1", "6"), patience=0.2)))
    assert [level.points for level in last.levels] == [0, 0]
    assert {level.mistake for level in last.levels} == {"missing"}


def test_the_command_itself_refuses_a_file_that_is_none(tmp_path):
    file = tmp_path / "deep.ipynb"
    file.write_bytes(b"[" * 100_000)
    code, report, printed = command(file, QUICK, "plain", 1.0, tmp_path)
    assert code == 2
    assert report["points"] is None
    assert "Traceback" not in printed


def test_there_are_attacks_enough():
    names = [attack.name for submission in SUBMISSIONS for attack in submission.attacks]
    assert len(set(names)) >= 32
    assert all(attack.target or attack.code for submission in SUBMISSIONS for attack in submission.attacks)


def test_a_grader_that_is_killed_takes_its_worker_with_it(reference, tmp_path):
    need("bwrap")
    file = as_notebook(tmp_path / "hangs.ipynb", [*reference, "while True:\n    pass"])
    process = subprocess.Popen([*CHECK, "--submission", file, "--isolation", "bwrap", "--level", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end, workers = time.monotonic() + SECONDS, []
        while not any("lib.grading" in " ".join(words) for words in map(_words, workers)) and time.monotonic() < end:
            time.sleep(0.2)
            workers = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=20)
    for child in alive:
        with contextlib.suppress(psutil.Error):
            child.kill()
    assert not alive
    for box in Path(os.environ["TMPDIR"]).glob("grader-*"):      # nobody is left to remove it
        shutil.rmtree(box)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
