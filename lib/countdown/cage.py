"""A process of its own for rewards that execute or trust what a model wrote, with limits of time, memory and disk.

    with Cage() as cage:
        cage.run("bare_eval", "<answer>9**9**9</answer>", [9, 9, 9], 1)      # Outcome(end="killed", …)

The child runs in an empty folder, without the parent's environment, and is killed with all that it started when the time
is up. This keeps an accident small. It is no prison: code that it runs can still read your files and use your network, so
type no more into it than you would run yourself.
"""
import contextlib
import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from lib.countdown.naive import DESIGNS
from lib.i18n import language, tr

try:
    import resource
except ModuleNotFoundError:      # Windows has no such limits; the parent's clock holds there too
    resource = None

ROOT = Path(__file__).parents[2]
MEMORY, DISK = 1 << 30, 1 << 20          # bytes
CPU = 30                                 # seconds of one call: ends a child whose parent is gone and cannot kill it
KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP")     # of the environment: without these some systems start no process


class Outcome(NamedTuple):
    """What became of one reply: end is 'paid' (it returned), 'raised', 'killed' (out of time) or 'died' (the process)."""

    end: str
    paid: float = 0.0            # the reward
    seconds: float = 0.0         # of the call alone, or the limit
    error: str = ""              # name of the exception
    files: tuple[str, ...] = ()  # files that the reply wrote: proof that its code was executed


class Cage:
    """Calls designs of `lib.countdown.naive` in a child process, which lives until it has to be killed.

    seconds: the limit of one call. Close it, or use it as a context manager: the child and its folder go then.
    """

    def __init__(self, seconds: float = 2.0):
        self.seconds = seconds
        self._child: subprocess.Popen | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="countdown-", ignore_cleanup_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Ends the child and removes its folder."""
        self._kill()
        self._folder.cleanup()

    def run(self, design: str, text: str, nums: list[int], target: int) -> Outcome:
        """What the design does with a reply. Raises ValueError for a design that there is none of."""
        if design not in DESIGNS:
            named = ", ".join(DESIGNS)
            raise ValueError(tr(en=f"there is no design {design!r}: choose one of {named}",
                                ru=f"проверщика {design!r} нет: выберите из {named}"))
        if self._child is None or self._child.poll() is not None:
            self._start()
        call = secrets.token_hex(8)      # so that a line which the reply itself wrote is not taken for an outcome
        try:
            self._child.stdin.write(json.dumps([call, design, text, list(nums), target]) + "\n")
            self._child.stdin.flush()
            answer = self._wait_for(call)
        except (queue.Empty, OSError) as error:
            self._kill()
            killed = isinstance(error, queue.Empty)
            return Outcome("killed" if killed else "died", seconds=self.seconds * killed, files=self._new_files())
        if answer is None:
            self._kill()
            return Outcome("died", files=self._new_files())
        end, paid, seconds, name = answer
        return Outcome(end, paid, seconds, name, self._new_files())

    def _wait_for(self, call: str) -> list | None:
        """The outcome of a call, or None when the child is gone. Raises queue.Empty when the time is up."""
        deadline = time.monotonic() + self.seconds
        while True:
            match self._answers.get(timeout=max(0.0, deadline - time.monotonic())):
                case None:
                    return None
                case [str(answered), *outcome] if answered == call:
                    return outcome

    def _start(self) -> None:
        self._kill()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"PYTHONPATH": str(ROOT), "COURSE_LANG": language(), "PYTHONDONTWRITEBYTECODE": "1"}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "lib.countdown.cage"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=self._folder.name, env=environment, encoding="utf-8", errors="replace",
            start_new_session=True)
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(self._child.stdout, self._answers), daemon=True).start()
        if not self._answers.get(timeout=60):        # it is ready: the time of its start is no reply's
            raise OSError(tr(en="the child process did not start", ru="дочерний процесс не запустился"))

    def _kill(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        if hasattr(os, "killpg"):            # and what it started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()
        child.stdin.close()

    def _new_files(self) -> tuple[str, ...]:
        files = sorted(Path(self._folder.name).iterdir())
        for file in files:
            shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
        return tuple(file.name for file in files)


def _listen(stream, answers: queue.SimpleQueue) -> None:
    """In a thread: the child's lines, one a reply, and None when it is gone."""
    with stream:
        for line in stream:
            with contextlib.suppress(ValueError):      # what is no JSON is no outcome
                answers.put(json.loads(line) or False)
    answers.put(None)


# ── the child ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def serve() -> None:
    """Reads a call a line, writes an outcome a line, until the parent hangs up."""
    _limit_space()
    calls, out = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)     # what a reply prints is no outcome, and exit() closes only sys.stdin
    os.dup2(null, 0)
    os.dup2(null, 1)
    print(json.dumps(True), file=out, flush=True)
    for line in calls:
        call, design, *reply = json.loads(line)
        _limit_time()
        start = time.perf_counter()
        try:
            end, paid, error = "paid", DESIGNS[design](*reply), ""
        except BaseException as raised:  # noqa: BLE001 - SystemExit too, and all is reported
            end, paid, error = "raised", 0.0, type(raised).__name__
        print(json.dumps([call, end, paid, time.perf_counter() - start, error]), file=out, flush=True)


def _limit_space() -> None:
    if resource:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time() -> None:
    if resource:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (round(time.process_time()) + CPU, hard))


if __name__ == "__main__":
    serve()
