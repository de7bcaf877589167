"""The grader's parts: frames, submissions, the worker and its walls, messages, the command and its reports."""
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from solved import HOMEWORK, ROOT

from lib.grading import wire
from lib.grading.command import find_submissions
from lib.grading.compare import Mistake, check_call
from lib.grading.grade import Checker, load_homework
from lib.grading.level import Level, Part, Student, Wrong
from lib.grading.notebook import NotPassed, checker
from lib.grading.report import as_markdown
from lib.grading.sandbox import ISOLATIONS, Died, Worker, _walls, bwrap_problem, choose
from lib.grading.submission import read
from lib.grading.worker import Server, plain_python


@pytest.fixture(autouse=True)
def _english(monkeypatch):
    monkeypatch.setenv("COURSE_LANG", "en")


# ── frames ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def over(value):
    """A value as it arrives on the other side."""
    tensors: list = []
    tree = wire.to_wire(value, tensors)
    frame = wire.pack({"value": tree}, {str(i): t for i, t in enumerate(tensors)})
    head, payload = wire.sizes(frame[:16])
    header, returned = wire.unpack(frame[16 : 16 + head], frame[16 + head : 16 + head + payload])
    return wire.from_wire(header["value"], returned)


values = st.recursive(st.none() | st.booleans() | st.integers(-10**30, 10**30) | st.floats(allow_nan=False) | st.text(),
                      lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
                      max_leaves=20)


@given(values)
def test_plain_values_arrive_as_they_were(value):
    assert over(value) == value


def test_tensors_and_arrays_arrive_as_they_were():
    x = torch.randn(3, 4)
    got = over({"a": x.T, "b": [torch.tensor(2, dtype=torch.int64), torch.zeros(0, 3)], "c": (np.float32(0.5),
                                                                                              np.arange(3))})
    assert torch.equal(got["a"], x.T)
    assert got["b"][0].dtype == torch.int64
    assert got["b"][1].shape == (0, 3)
    assert got["c"][0] == 0.5
    assert got["c"][1].tolist() == [0, 1, 2]
    assert np.isnan(over(float("nan")))


@pytest.mark.parametrize("value", [object(), (x for x in [1]), print, 1j, {1, 2}, b"bytes", torch.zeros(2).to_sparse(),
                                   torch.empty(2, device="meta"), torch.zeros(2, dtype=torch.complex64), "x" * 2_000_000,
                                   10**5000, torch.zeros(30_000_000), np.array([object()]), np.array(["a"])],
                         ids=lambda value: type(value).__name__)
def test_what_is_no_value_arrives_as_a_description(value):
    assert isinstance(over(value), wire.Other)


def test_what_is_endless_is_cut():
    loop: list = []
    loop.append(loop)
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for value in (loop, deep, [0] * 200_000):
        over(value)      # arrives, with 'too large' at the place of the rest


@pytest.mark.parametrize("frame", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"a": 1e999999}x'])
def test_what_is_no_header_is_an_error_of_the_protocol(frame):
    with pytest.raises(wire.ProtocolError):
        wire.unpack(frame, b"")


@pytest.mark.parametrize("payload", [b"x", b"\x80\x04K\x01.", b"\x00" * 100, (8).to_bytes(8, "little") + b"{}"])
def test_what_is_no_payload_is_an_error_of_the_protocol(payload):
    try:
        wire.unpack(b"{}", payload)
    except wire.ProtocolError:
        return
    assert payload.endswith(b"{}")       # an empty safetensors file is one


@pytest.mark.parametrize("tree", [None, 1, [], ["eval", "1"], ["float"], ["float", 1.0], ["float", "x"], ["int", "1e5"],
                                  ["tensor", 0], ["tensor", "0"], ["dict", {}], ["dict", [1]], ["list", "ab"], ["list",
                                                                                                                [[]]]])
def test_what_is_no_tree_is_an_error_of_the_protocol(tree):
    with pytest.raises(wire.ProtocolError):
        wire.from_wire(tree, {})


def test_a_frame_that_says_it_is_huge_is_refused_before_it_is_read():
    with pytest.raises(wire.ProtocolError):
        wire.sizes((1 << 62).to_bytes(8, "big") + bytes(8))


# ── submissions ───────────────────────────────────────────────────────────────────────────────────────────────────────
def notebook(*cells, **extra):
    return json.dumps({"cells": list(cells), "nbformat": 4, **extra})


def code(source, **extra):
    return {"cell_type": "code", "source": source, **extra}


def test_a_notebooks_code_is_read_whatever_else_was_done_to_it(tmp_path):
    file = tmp_path / "any name.ipynb"
    file.write_text(notebook(code("a = 1"), code(["b = 2\n", "c = 3"], id="same"), {"cell_type": "markdown", "source": "x"},
                             code("b = 2", id="same", metadata={"nbgrader": {"grade_id": "zzz"}}), "nonsense", None,
                             {"cell_type": "code"}, code("   ")), encoding="utf-8-sig")
    assert [cell.source for cell in read(file)] == ["a = 1", "b = 2\nc = 3", "b = 2"]
    file.write_text(json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["old"]}]}], "nbformat": 3}))
    assert [cell.source for cell in read(file)] == ["old"]


def test_a_script_is_split_into_cells(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("a = 1\n# %%\nb = 2\n#%% [markdown]\n# text\n")
    assert [cell.number for cell in read(file)] == [1, 2, 3]


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.ipynb", b"", "not a notebook"), ("a.ipynb", b"{", "not a notebook"), ("a.ipynb", b"[1]", "not a notebook"),
    ("a.ipynb", b'{"cells": 3}', "not a notebook"), ("a.ipynb", b"[" * 200_000, "not a notebook"),
    ("a.ipynb", b"\xff\xfe\x00", "not UTF-8"), ("a.txt", b"x", ".ipynb or a .py"), ("a.py", b"x" * 3_000_000,
                                                                                    "characters of code"),
])
def test_what_cannot_be_graded_says_why(tmp_path, name, content, words):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read(file)


def test_a_missing_file_and_a_huge_one(tmp_path):
    with pytest.raises(ValueError, match="is not there"):
        read(tmp_path / "no.ipynb")
    huge = tmp_path / "huge.ipynb"
    with huge.open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(ValueError, match="clear the outputs"):
        read(huge)


@pytest.mark.parametrize(("source", "value", "left_out"), [
    ("%matplotlib inline\nx = 1", 1, ["matplotlib inline"]),
    ("!pip install torch\nx = 2", 2, ["pip install torch"]),
    ("y = !ls\nx = 3", 3, ["ls"]),
    ("%%time\nx = 4", 4, ["%%time"]),
    ("%%bash\nx = 5", None, ["%%bash"]),
    ("x = 6\nx?", 6, ["pinfo x"]),
    ("x = 7 % 4\nx = '''\n%not a magic\n!nor this'''", "\n%not a magic\n!nor this", []),
])
def test_magics_and_shell_lines_are_left_out_and_named(source, value, left_out):
    named: list[str] = []
    space: dict = {}
    exec(compile(plain_python(source, "<cell 1>", named), "<cell 1>", "exec"), space)  # noqa: S102
    assert space.get("x") == value
    assert [line.strip() for line in named] == left_out or len(named) == len(left_out)


# ── one function against its oracle ───────────────────────────────────────────────────────────────────────────────────
def local(source: str) -> Student:
    namespace: dict = {}
    server = Server(namespace)
    exec("import torch\n" + source, namespace)  # noqa: S102
    return Student(lambda header, tensors, _, ask, __: server.handle(header, tensors, ask), random.Random(0))


X = {"x": torch.tensor([[1.0, 2.0], [3.0, -4.0]])}
TWICE = Mistake("twice", "That is doubled twice.", lambda x: 4 * x)


@pytest.mark.parametrize(("body", "mistake"), [
    ("return 2 * x", ""), ("return 2 * x.double()", ""), ("return (2 * x).detach()", "no_gradient"), ("return 4 * x",
                                                                                                      "twice"),
    ("return 2 * x + 1e-3", "wrong_value"), ("return (2 * x).half()", "dtype"), ("return (2 * x)[0]", "shape"),
    ("return (2 * x)[None]", "shape"), ("return None", "type"), ("return 5", "type"), ("return (2 * x).tolist()", "type"),
    ("return x * float('nan')", "wrong_value"), ("return 2 * x.detach() + x - x.detach()", "wrong_gradient"),
    ("raise ValueError('no')", "exception"), ("raise NotImplementedError", "unsolved"), ("raise SystemExit", "exception"),
    ("return 2 * torch.tensor(x.tolist(), requires_grad=True)", "no_gradient"), ("return (y for y in x)", "type"),
])
def test_shape_type_value_and_gradient(body, mistake):
    student = local(f"def f(x):\n    {body}")
    if not mistake:
        check_call(student, "f", lambda x: 2 * x, X, grad=("x",), mistakes=[TWICE])
        return
    with pytest.raises(Wrong) as wrong:
        check_call(student, "f", lambda x: 2 * x, X, grad=("x",), mistakes=[TWICE])
    assert wrong.value.mistake == mistake
    assert "f" in wrong.value.message
    if mistake == "twice":
        assert "doubled twice" in wrong.value.message
        assert "expected [[2, 4], [6, -8]]" in wrong.value.message


def test_a_function_of_another_name_is_missing():
    with pytest.raises(Wrong, match="exactly this name"):
        check_call(local("def g(x): return x"), "f", lambda x: x, X)


def test_an_exception_is_told_with_its_line():
    server = Server({})
    server.handle({"do": "cell", "name": "<cell 7>", "source": "def f(x):\n    y = x\n    return y / nothing"}, {})
    student = Student(lambda header, tensors, _, ask, __: server.handle(header, tensors, ask), random.Random(0))
    with pytest.raises(Wrong, match=r"NameError: name 'nothing' is not defined \(cell 7, line 3: return y / nothing\)"):
        student.call("f", X)


def test_an_exception_in_a_learners_kernel_is_told_with_its_line():
    namespace = {}
    exec(compile("def f():\n    return 1 / 0", "/tmp/ipykernel_17/123.py", "exec"), namespace)  # noqa: S102
    answer, _ = Server(namespace).handle({"do": "call", "name": "f", "args": [], "kwargs": {}, "grad": [], "seed": 0}, {})
    assert answer["error"]["type"] == "ZeroDivisionError"
    assert answer["error"]["where"].startswith("line 2")


def test_a_level_that_is_not_there_is_told_in_a_sentence_in_the_notebook_too():
    with pytest.raises(NotPassed, match="there is no level 33"):
        checker(HOMEWORK)(33)


def test_a_report_that_cannot_be_written_leaves_no_file_behind(tmp_path):
    taken = tmp_path / "report"
    taken.write_text("mine")
    done = check(HOMEWORK, "--json", taken, "--junit", taken)
    assert done.returncode == 2
    assert "the same file" in done.stderr
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report", "mine")]


def test_a_level_is_skipped_only_where_its_solution_uses_a_failed_one():
    def fails(student, rng):
        raise Wrong("no", "x")

    def passes(student, rng):
        return None

    levels = [Level("1", "one", (Part("a", 1, fails),), ()), Level("2", "two", (Part("b", 2, fails),), (), needs=("1",)),
              Level("3", "three", (Part("c", 2, fails),), (), needs=("1",)),
              Level("4", "four", (Part("d", 2, passes),), (), needs=("1",)),
              Level("5", "five", (Part("e", 2, passes), Part("f", 3, fails)), ())]
    namespace: dict = {}
    server = Server(namespace)
    source = "def a(): pass\ndef helper(): a()\ndef b(): return [helper() for _ in '1']\ndef c(): pass\ndef d(): a()"
    exec(source, namespace)  # noqa: S102
    checker = Checker(levels, lambda header, tensors, _, ask, __: server.handle(header, tensors, ask), 0)
    assert [checker.result(level).status for level in levels] == ["failed", "skipped", "failed", "passed", "failed"]
    assert "needs level 1" in checker.result(levels[1]).message
    assert checker.result(levels[4]).points == 2
    assert "2 of 5" in checker.result(levels[4]).message


# ── the worker and its walls ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(params=["bwrap", "plain"])
def worker(request):
    if request.param == "bwrap" and bwrap_problem() and not os.environ.get("CI"):
        pytest.skip(bwrap_problem())
    with Worker(request.param, load_homework(HOMEWORK).PROVIDES) as worker:
        yield worker


def run(worker, source, seconds=20):
    answer, _ = worker.request({"do": "cell", "name": "<cell 1>", "source": source}, {}, seconds)
    return answer.get("error", {}).get("type", ""), answer.get("error", {}).get("message", "")


SEEN_FILES = [ROOT / "homework" / HOMEWORK / "levels.py", ROOT / "homework" / "source" / HOMEWORK / "homework.ipynb",
              ROOT / "lib" / "toy" / "grpo.py", ROOT / "tests" / "solved.py", ROOT / "pyproject.toml"]


def test_what_graded_code_can_and_cannot_do(worker):
    assert run(worker, "import torch, numpy, scipy.stats, pandas, matplotlib.pyplot as plt\nplt.plot([1])")[0] == ""
    assert run(worker, "from lib.toy.base import load_base\nfrom lib.toy.policy import sample\nload_base(0.3)")[0] == ""
    assert run(worker, "open('mine.txt', 'w').write('x')\nassert open('mine.txt').read() == 'x'")[0] == ""
    for module in ("lib.toy.grpo", "lib.toy.reward", "lib.toy.evaluate", "lib.toy.experiment", "lib.grading.level",
                   "lib.ui"):
        assert run(worker, f"import {module}")[0] == "ModuleNotFoundError", module
    for file in SEEN_FILES:
        assert run(worker, f"open({str(file)!r}).read()")[0] in ("PermissionError", "FileNotFoundError"), file
        before, (fault, _) = file.read_bytes(), run(worker, f"open({str(file)!r}, 'a').write('spoiled')")
        own = str(file).startswith("/tmp/")      # the worker's /tmp is its own: it may make a file of that name there
        assert fault in ("PermissionError", "FileNotFoundError", "OSError") or own, file
        assert file.read_bytes() == before, file
    for attempt in ("import os; os.listdir('/work') if os.path.isdir('/work') else os.listdir('/root')",
                    "import os; os.fork()",
                    "import subprocess; subprocess.run(['true'])", "import os; os.system('true')",
                    "import socket; socket.create_connection(('127.0.0.1', 22), 1)", "import os; os.kill(os.getppid(), 9)",
                    "import os; os.remove('/usr/bin/env')", "import ctypes; ctypes.CDLL(None).kill"):
        assert run(worker, attempt)[0] in ("PermissionError", "OSError", "FileNotFoundError"), attempt
    assert worker.alive


def test_prints_go_to_the_report_cut_and_never_into_the_channel(worker):
    error, _ = run(worker,
                   "import sys, os\nprint('begin')\nsys.stderr.write('x' * 10**6)\nos.write(1, b'raw')\nprint('the end')")
    assert error == ""
    for _ in range(50):
        if worker.output.endswith("the end\n"):
            break
        time.sleep(0.1)
    assert worker.output.startswith("begin")
    assert worker.output.endswith("the end\n")
    assert len(worker.output) < 10_000


@pytest.mark.parametrize(("source", "why"), [
    ("import os; os._exit(0)", "died"), ("import os; os.abort()", "died"), ("while True: pass", "timeout"),
    ("while True:\n    try:\n        while True: pass\n    except BaseException: pass", "timeout"),
    ("sum(iter(int, 1))", "timeout"), ("import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass", "timeout"),
    ("import os\nfor fd in range(3, 50):\n    try: os.write(fd, b'x' * 64)\n    except OSError: pass", ""),
    ("import os; os.closerange(0, 50)", ""),
])
def test_a_dead_hung_or_forging_worker_is_gone(worker, source, why):
    start = time.monotonic()
    with pytest.raises(Died) as died:
        run(worker, source, 1.5)
    assert died.value.why == why or not why
    assert time.monotonic() - start < 10
    assert not worker.alive


def test_memory_is_limited(worker):
    assert run(worker, "import torch\nx = torch.ones(3 * 10**9)")[0] == "RuntimeError"
    assert run(worker, "x = bytearray(20 << 30)")[0] == "MemoryError"


def test_a_file_is_limited(worker):
    assert run(worker, "f = open('big', 'wb')\nfor _ in range(200): f.write(bytes(1 << 20))")[0] in ("OSError", "")
    assert run(worker, "import os; assert os.path.getsize('big') <= 64 << 20")[0] == ""


def test_closing_a_worker_leaves_nothing_behind():
    import psutil

    with Worker("plain", []) as worker:
        box = Path(worker._box.name)
        process = psutil.Process(worker._process.pid)
        assert box.is_dir()
    assert not box.exists()
    assert not process.is_running()


def test_bwrap_or_nothing(monkeypatch):
    monkeypatch.setattr("lib.grading.sandbox.bwrap_problem", lambda: "bubblewrap (bwrap) is not installed")
    assert [choose(kind) for kind in ISOLATIONS if kind != "bwrap"] == ["plain", "plain"]
    with pytest.raises(ValueError, match="apt install bubblewrap"):
        choose("bwrap")


def test_a_course_in_tmp_is_bound_over_the_workers_own_tmp():
    walls = _walls()
    assert walls.index("/tmp") < walls.index("--ro-bind-try")


# ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────────
def check(*arguments, script="homework/check.py", cwd=ROOT, language="en"):
    return subprocess.run([sys.executable, ROOT / script, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          timeout=300, env={**os.environ, "COURSE_LANG": language})


GOOD_ONE = """
def kl_k3(logp, logp_ref):
    d = logp_ref - logp
    return d.exp() - 1 - d
"""


@pytest.mark.parametrize("script", ["check.py", "homework/check.py"])
def test_a_passed_level_is_exit_code_0_from_anywhere(script, tmp_path):
    file = tmp_path / "мой код.py"
    file.write_text(GOOD_ONE)
    done = check(HOMEWORK, "--level", 4, "--submission", file, script=script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "10 of 10 points" in done.stdout


def test_list_and_hints(tmp_path):
    listed = check(HOMEWORK, "--list").stdout
    assert "100 points" in listed
    assert "boss" in listed
    one, two = check(HOMEWORK, "--hint", 5).stdout, check(HOMEWORK, "--hint", 5, 2).stdout
    assert two.startswith(one.splitlines()[0])
    assert len(two) > len(one)
    assert "(1 из 3" in check(HOMEWORK, "--hint", "boss", 0, language="ru").stdout


def test_the_help_is_russian_throughout():
    said = check("--help", language="ru").stdout
    for english in ("positional", "options", "show this", "default", "[])", ": )"):
        assert english not in said
    assert "нужно значение" in check(HOMEWORK, "--level", language="ru").stderr


def test_a_link_to_the_script_works(tmp_path):
    link = tmp_path / "grade.py"
    link.symlink_to(ROOT / "check.py")
    done = subprocess.run([sys.executable, link, HOMEWORK, "--list"], capture_output=True, text=True, cwd=tmp_path,
                          timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["nothing"], "there is no homework"), ([HOMEWORK, "--level", "9"], "no level 9"), ([HOMEWORK, "--submission",
                                                                                         "no.py"], "not there"),
    ([HOMEWORK, "--seed", "-1"], "whole number"), ([HOMEWORK, "--patience", "0"], "above 0"), ([HOMEWORK, "--submitted",
                                                                                                "no"], "not a folder"),
    ([HOMEWORK, "--json", "no/folder/x.json"], "no folder"), (["../" + HOMEWORK], "there is no homework"), ([], "required"),
    ([HOMEWORK, "--isolation", "chroot"], "invalid choice"), ([HOMEWORK, "--patience", "nan"], "finite"),
    ([HOMEWORK, "--patience", "inf"], "finite"), ([HOMEWORK, "--json", "lib"], "is a folder"),
    ([HOMEWORK, "--json", "/tmp/x", "--junit", "/tmp/x"], "the same file"), ([HOMEWORK, "--submitted", "lib",
                                                                              "--list"], "does not go with it"),
    ([HOMEWORK, "--submitted", "lib", "--submission", "a.py"], "does not go"), ([HOMEWORK, "--gradebook",
                                                                                 "g.db"], "needs --submitted"),
])
def test_what_cannot_be_graded_is_exit_code_2(arguments, words):
    done = check(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_reports_are_written_when_it_cannot_grade_and_leave_an_earlier_one(tmp_path):
    bad = tmp_path / "a.ipynb"
    bad.write_text("no json")
    files = {kind: tmp_path / f"r.{kind}" for kind in ("json", "junit", "summary")}
    files["json"].write_text('{"points": 95}')
    done = check(HOMEWORK, "--submission", bad, *(x for kind, file in files.items() for x in (f"--{kind}", file)))
    assert done.returncode == 2
    report = json.loads(files["json"].read_text())
    assert report["points"] is None
    assert "not a notebook" in report["error"]
    assert json.loads((tmp_path / "r-earlier.json").read_text()) == {"points": 95}
    assert ET.parse(files["junit"]).find(".//error") is not None
    assert "not a notebook" in files["summary"].read_text()


def test_reports_of_a_graded_submission(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(GOOD_ONE + "\ndef dpo_loss(a, b, c, d, beta=0.1):\n    raise ValueError('<b>&|`\\x00')\n")
    files = {kind: tmp_path / f"r.{kind}" for kind in ("json", "junit", "summary")}
    done = check(HOMEWORK, "--submission", file, "--level", 4, 8, "--seed", 5, "--isolation", "plain",
                 *(x for kind, file in files.items() for x in (f"--{kind}", file)))
    assert done.returncode == 1
    report = json.loads(files["json"].read_text())
    assert (report["points"], report["max_points"], report["seed"], report["isolation"]) == (10, 20, 5, "plain")
    assert [set(level) >= {"id", "title", "status", "points", "max_points",
                           "message"} for level in report["levels"]] == [True] * 2
    cases = ET.parse(files["junit"]).findall(".//testcase")
    assert [case.find("failure") is not None for case in cases] == [False, True]
    summary = files["summary"].read_text()
    assert "10 of 20 points" in summary
    assert "<b>" not in summary


def test_a_fault_of_the_grader_itself_is_exit_code_2_with_a_report(tmp_path):
    file, report = tmp_path / "a.py", tmp_path / "r.json"
    file.write_text(GOOD_ONE)
    script = ("import sys; from lib.grading import command, grade\n"
              "def broken(self, level): raise KeyError('inside')\n"
              "grade.Checker.result = broken\n"
              f"sys.exit(command.main(['{HOMEWORK}', '--submission', {str(file)!r}, '--json', {str(report)!r}]))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120,
                          env={**os.environ, "COURSE_LANG": "en"})
    assert done.returncode == 2
    assert "the grader itself failed" in json.loads(report.read_text())["error"]


def test_folders_of_submissions(tmp_path):
    for name in ("anna/s6-hw02-grpo/homework.ipynb", "boris/renamed.ipynb", "clara/s6-hw02-grpo/a.ipynb",
                 "clara/s6-hw02-grpo/b.ipynb",
                 "dora/homework.ipynb", "dora/draft.ipynb", "egor.py", ".hidden/x.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "Fedor.IPYNB").write_text("{}")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    found = dict(find_submissions(tmp_path, HOMEWORK))
    assert list(found) == ["Fedor", "anna", "boris", "clara", "dora", "egor", "empty", "gone"]
    with pytest.raises(ValueError, match="not there"):
        read(found["gone"])
    assert found["boris"].name == "renamed.ipynb"
    assert found["dora"].name == "homework.ipynb"
    assert "several" in found["clara"]
    assert "no notebook" in found["empty"]


def test_two_submissions_of_one_name_are_told_apart_by_nobody(tmp_path):
    for name in ("anna.py", "anna.ipynb", "boris.py"):
        (tmp_path / name).write_text(GOOD_ONE)
    found = find_submissions(tmp_path, HOMEWORK)
    assert [student for student, _ in found] == ["anna", "anna", "boris"]
    assert all("several submissions are named anna" in why for student, why in found if student == "anna")


def _workers(pid):
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):       # a grader that has just ended
            if "lib.grading" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_a_folder_keeps_what_was_graded_and_leaves_nothing_behind(tmp_path, number):
    folder, report = tmp_path / "submitted", tmp_path / "all.json"
    folder.mkdir()
    (folder / "a.py").write_text(GOOD_ONE)
    for name in ("b", "c"):
        (folder / f"{name}.py").write_text("while True:\n    pass")
    process = subprocess.Popen([sys.executable, ROOT / "check.py", HOMEWORK, "--submitted", folder, "--level", "4",
                                "--jobs", "1", "--json", report],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, "COURSE_LANG": "en", "TMPDIR": str(tmp_path)})
    try:
        assert any(line.endswith("a  \n") for line in iter(process.stdout.readline, ""))
        end = time.monotonic() + 60
        while not (started := _workers(process.pid)) and time.monotonic() < end:
            time.sleep(0.1)
        assert started
        process.send_signal(number)
        assert process.wait(40) == 130
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    _, alive = psutil.wait_procs(started, timeout=20)
    assert not alive
    marks = {found["student"]: found["points"] for found in json.loads(report.read_text())["submissions"]}
    assert marks == {"a": 10, "b": None, "c": None}
    assert not list(tmp_path.glob("grader-*"))


def test_one_bad_submission_does_not_stop_the_rest(tmp_path):
    folder = tmp_path / "submitted"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD_ONE)
    (folder / "broken.ipynb").write_text("{")
    (folder / "dead.py").write_text("import os\nos._exit(0)")
    (folder / "-odd имя.py").write_text(GOOD_ONE)
    report = tmp_path / "all.json"
    done = check(HOMEWORK, "--submitted", folder, "--level", 4, "--json", report, "--jobs", 2)
    assert done.returncode == 2
    marks = {found["student"]: found["points"] for found in json.loads(report.read_text())["submissions"]}
    assert marks == {"good": 10, "broken": None, "dead": 0, "-odd имя": 10}


def test_watching_grades_again_on_every_save(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1")
    process = subprocess.Popen([sys.executable, ROOT / "check.py", HOMEWORK, "--watch", "--level", "4", "--submission",
                                file],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ,
                                                                                                 "COURSE_LANG": "en"})
    try:
        lines = iter(process.stdout.readline, "")
        assert any("0 of 10 points" in line for line in lines)
        file.write_text(GOOD_ONE)
        assert any("10 of 10 points" in line for line in lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 130)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_students_words_make_no_markup():
    from lib.grading.grade import Report
    from lib.grading.level import Result

    bad = Result("1", "t", "failed", 0, 5, "![x](http://a) | </td><script>\nnext")
    text = as_markdown([Report("h", "s", 1, "plain", [bad], ["# note"])])
    assert "<script>" not in text
    assert "![x]" not in text
    assert sum(line.startswith("| ✗") for line in text.splitlines()) == 1
