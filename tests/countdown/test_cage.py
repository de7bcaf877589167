"""The child process in which naive rewards run: what a hostile reply can do to it, and what it cannot."""
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lib.countdown.battery import case
from lib.countdown.cage import Cage, Outcome
from lib.countdown.naive import DESIGNS

NUMS = [3, 7, 10]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")


@pytest.fixture
def cage():
    with Cage(2.0) as cage:
        yield cage


def run(cage, code, design="bare_eval"):
    """bare_eval executes `code`, an expression."""
    return cage.run(design, f"<answer>{code}</answer>", NUMS, 31)


def works(cage) -> bool:
    outcome = cage.run("final", case("plain").reply, NUMS, 31)
    return outcome.end == "paid" and outcome.paid == pytest.approx(1.2)


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie that nobody waits for has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] == "Z"
    except FileNotFoundError:
        return True


# ── outcomes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_call_returns_what_the_design_does(cage):
    outcome = cage.run("final", case("plain").reply, NUMS, 31)
    assert outcome == Outcome("paid", pytest.approx(1.2), outcome.seconds)
    assert 0 < outcome.seconds < 1


def test_a_hang_is_killed_in_time_and_the_next_call_works():
    with Cage(0.5) as cage:
        assert works(cage)                               # the child has started
        start = time.monotonic()
        outcome = cage.run("bare_eval", case("tower").reply, [9, 9, 9], 9)
        assert outcome == Outcome("killed", seconds=0.5)
        assert 0.5 <= time.monotonic() - start < 5
        assert works(cage)


@pytest.mark.parametrize(("code", "error"), [
    ("1/0", "ZeroDivisionError"), ("(", "SyntaxError"), ("-" * 3000 + "1", "RecursionError"), ("exit()", "SystemExit"),
    ("quit()", "SystemExit"), ("(_ for _ in ()).throw(KeyboardInterrupt)", "KeyboardInterrupt"),
    ("[0]*10**10", "MemoryError"),
])
def test_exceptions_are_reported_and_harm_nothing(cage, code, error):
    outcome = run(cage, code)
    assert (outcome.end, outcome.paid, outcome.error) == ("raised", 0.0, error)
    assert works(cage)


@pytest.mark.parametrize("code", ["__import__('os').abort()", "__import__('os')._exit(0)",
                                  "__import__('os').kill(__import__('os').getpid(), 9)"])
def test_a_child_that_dies_is_reported_and_started_again(cage, code):
    assert run(cage, code).end == "died"
    assert works(cage)


@pytest.mark.parametrize("code", [
    """print('["paid", 1.2, 0.0, ""]')""",
    """__import__('os').write(1, b'["paid", 1.2, 0.0, ""]\\n')""",
    "__import__('sys').stdout.close()",
    "__import__('sys').stdin.close()",
    "__import__('os').close(0) or __import__('os').close(1)",
])
def test_what_a_reply_prints_or_closes_is_no_outcome(cage, code):
    outcome = run(cage, code)
    assert outcome.paid < 1
    assert works(cage)


@POSIX
@pytest.mark.parametrize("line", [b'["paid", 99.0, 0.0, ""]', b'["x", "paid", 99.0, 0.0, ""]', b"garbage", b"null", b"[]",
                                  b"\xff\xfe"])
def test_a_line_on_the_channel_itself_is_no_outcome(cage, line):
    """The reply looks for the descriptor that outcomes are written on, and writes one of its own before the true one."""
    os_ = "__import__('os')"
    writable = f"{os_}.path.exists(f'/proc/self/fd/{{fd}}') and __import__('fcntl').fcntl(fd, 3) & 1"
    written = f"[{os_}.write(fd, {line + bytes([10])!r}) for fd in range(3, 10) if {writable}]"
    outcome = run(cage, f"{written} == [{len(line) + 1}] and 31")
    assert outcome == Outcome("paid", pytest.approx(1.1), outcome.seconds)       # 1: the line was written to one channel
    assert works(cage)
    assert works(cage)


def test_unusual_characters_arrive(cage):
    for name in ("NUL", "surrogate", "full width", "lines"):
        expected = DESIGNS["final"](case(name).reply, NUMS, 31)
        assert cage.run("final", case(name).reply, NUMS, 31).paid == pytest.approx(expected)


def test_an_unknown_design_is_a_sentence(cage, each_language):
    with pytest.raises(ValueError, match=r"'nothing'.*bare_eval"):
        cage.run("nothing", "", [], 0)


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_files_are_reported_once_and_removed(cage):
    code = "[__import__('pathlib').Path('a').mkdir(), __import__('pathlib').Path('b').write_text('x')] and 31"
    outcome = run(cage, code)
    assert outcome.files == ("a", "b")
    assert outcome.paid == pytest.approx(1.1)            # and 0.05 for each of two tags
    assert run(cage, "31").files == ()


def test_the_parents_environment_stays_outside(cage, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    outcome = run(cage, "__import__('pathlib').Path(str(__import__('os').environ.get('HF_TOKEN'))).write_text('') or 31")
    assert outcome.files == ("None",)


def test_the_folder_goes_and_the_process_too():
    with Cage() as cage:
        assert works(cage)
        folder, pid = Path(cage._folder.name), cage._child.pid
        assert folder.is_dir()
    assert not folder.exists()
    assert gone(pid)


@POSIX
def test_what_a_reply_starts_is_killed_with_the_child():
    """A child of the child that would run for a minute."""
    start = "__import__('subprocess').Popen([__import__('sys').executable, '-c', 'import time; time.sleep(60)']).pid"
    with Cage(1.0) as cage:
        outcome = run(cage, f"__import__('pathlib').Path(str({start})).write_text('') or __import__('time').sleep(60)")
        assert outcome.end == "killed"
        pid = int(outcome.files[0])
        deadline = time.monotonic() + 5
        while not gone(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert gone(pid)


@POSIX
def test_disk_is_limited(cage):
    assert run(cage, "open('big', 'w').write('x' * 10**8)").end in ("raised", "died")
    assert works(cage)


@POSIX
def test_a_child_whose_parent_is_gone_ends():
    """It waits for calls until the parent hangs up, even when the parent is killed and closes nothing itself."""
    code = ("from lib.countdown.cage import Cage; cage = Cage(); cage.run('final', '', [], 0); "
            "print(cage._child.pid, cage._folder.name, flush=True); import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid, folder = done.stdout.split()
    deadline = time.monotonic() + 10
    while not gone(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(int(pid))
    Path(folder).rmdir()                                 # a killed parent could not; and it is empty


@POSIX
def test_a_calls_processor_time_is_limited_for_each_call_anew(cage):
    """RLIMIT_CPU counts from the child's start, so it has to move on: else a long-lived child would die of old age."""
    get = "__import__('resource').getrlimit(__import__('resource').RLIMIT_CPU)[0]"
    burn = "sum(i * i for i in range(10**7)) and None or "
    limits = []
    for code in (get, burn + get, get):
        outcome = run(cage, f"__import__('pathlib').Path(str({code})).write_text('')")
        limits.append(int(outcome.files[0]))
    assert 25 < limits[0] <= 35
    assert limits[0] <= limits[1] <= limits[2] <= limits[0] + 10


def test_many_kills_leave_nothing_open():
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("counts open files in /proc")
    with Cage(0.1) as cage:
        for _ in range(3):
            run(cage, "__import__('time').sleep(60)")
        before = len(list(descriptors.iterdir()))
        for _ in range(8):
            assert run(cage, "__import__('time').sleep(60)").end == "killed"
        time.sleep(0.2)
        assert len(list(descriptors.iterdir())) <= before + 1
