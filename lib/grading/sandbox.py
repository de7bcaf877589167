"""Where the student's code runs: a process of its own, under bubblewrap where there is one, with limits everywhere.

bwrap  its own view of the machine: no network, no other processes, the course's files read-only and only those that the
       homework provides, a small /tmp. This is the wall that a mark can rest on.
plain  a child process with limits and a Python-level refusal (see `guard`). It holds accidents, not a determined attacker,
       who can read what the user who runs the grader can read.

In both, the process and all that it started are killed as one, and its output is captured and cut.
"""
import contextlib
import functools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from lib.grading import wire
from lib.i18n import language, tr

ROOT = Path(__file__).parents[2]
OWN = ("lib/__init__.py", "lib/grading/__init__.py", "lib/grading/worker.py", "lib/grading/wire.py", "lib/grading/guard.py",
       "lib/grading/notebook.py")
ISOLATIONS = ("auto", "bwrap", "plain")
MEMORY = 6 << 30                # bytes of address space: torch alone maps more than 2 GiB of libraries
DISK = 64 << 20                 # bytes of one file
TMP = 128 << 20                 # bytes of /tmp under bubblewrap, where it is memory
CPU = 1800                      # seconds of one worker: ends one whose grader is gone
PROCESSES = 128                 # more than the user has already
START = 120                     # seconds until a worker must have started, on a machine however busy
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
          "/etc/ld.so.conf.d", "/etc/localtime", "/etc/fonts", "/sys/devices/system/cpu")
HIDDEN = tuple(str(ROOT / name) for name in ("homework", "lib", "notebooks", "tests"))     # even inside a readable folder
OUTPUT = 4000                   # bytes kept of what a worker prints: from its beginning, and as many from its end


class Died(Exception):
    """The worker is gone or was killed: `why` is 'timeout', 'died', 'protocol' or 'large'; `detail` is for the report."""

    def __init__(self, why: str, detail: str = ""):
        super().__init__(why, detail)
        self.why, self.detail = why, detail


@functools.cache
def bwrap_problem() -> str:
    """Why bubblewrap cannot be used here; empty where it can."""
    found = shutil.which("bwrap")
    if not found:
        return tr(en="bubblewrap (bwrap) is not installed", ru="bubblewrap (bwrap) не установлен")
    try:
        tried = subprocess.run([found, *_walls(), "--", sys.executable, "-c", ""], capture_output=True, timeout=60,
                               text=True, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        return tr(en=f"bubblewrap does not start: {error}", ru=f"bubblewrap не запускается: {error}")
    if tried.returncode:
        words = tried.stderr.strip()[-200:]
        return tr(en=f"bubblewrap does not work here: {words}", ru=f"bubblewrap здесь не работает: {words}")
    return ""


def choose(isolation: str) -> str:
    """'bwrap' or 'plain'. Raises ValueError where bwrap is asked for and cannot be had."""
    if isolation != "plain" and not (problem := bwrap_problem()):
        return "bwrap"
    if isolation == "bwrap":
        raise ValueError(tr(
            en=f"--isolation bwrap: {problem}. On Debian and Ubuntu: apt install bubblewrap; Ubuntu 24.04 also needs "
               f"sysctl kernel.apparmor_restrict_unprivileged_userns=0",
            ru=f"--isolation bwrap: {problem}. В Debian и Ubuntu: apt install bubblewrap; в Ubuntu 24.04 нужно ещё "
               f"sysctl kernel.apparmor_restrict_unprivileged_userns=0"))
    return "plain"


def _walls() -> list[str]:
    """bubblewrap's options that depend on no submission."""
    binds = []
    for path in dict.fromkeys((*SYSTEM, *_python())):
        binds += ["--ro-bind-try", path, path]
        binds += [part for hidden in HIDDEN if hidden.startswith(path + os.sep) for part in ("--tmpfs", hidden)]
    # /tmp before what is bound: a course that was cloned into /tmp has its Python there
    return ["--unshare-all", "--die-with-parent", "--new-session", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
            "--hostname", "grader", "--clearenv", "--proc", "/proc", "--dev", "/dev",
            "--perms", "1777", "--size", str(TMP), "--tmpfs", "/tmp", "--perms", "1777", "--size", str(TMP), "--tmpfs",
            "/dev/shm", *binds]


@functools.cache
def _python() -> tuple[str, ...]:
    """The folders that this Python and its packages live in."""
    import sysconfig

    paths = sysconfig.get_paths()
    folders = [sys.prefix, sys.base_prefix, *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))]
    folders += [os.path.dirname(os.path.realpath(sys.executable))]
    folders += [os.path.realpath(folder) for folder in folders]
    kept: list[str] = []
    for folder in sorted(set(folders)):
        if folder != "/" and not any(folder.startswith(other + os.sep) for other in kept):
            kept.append(folder)
    return tuple(kept)


class Worker:
    """One worker process. Use as a context manager, or close it: it and all that it started go, and so do its files."""

    def __init__(self, isolation: str, provides: list[str], driver: str = "", root: Path = ROOT):
        """isolation: 'bwrap' or 'plain'. provides: files of `root` that the student's code may import or read."""
        self.output = ""
        self._kept = bytearray()
        self._box = tempfile.TemporaryDirectory(prefix="grader-", ignore_cleanup_errors=True)
        box = Path(self._box.name)
        view, folder = box / "view", box / "work"
        folder.mkdir()
        for name in dict.fromkeys((*OWN, *provides)):
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile((ROOT if name in OWN else root) / name, view / name)
        environment = {"PYTHONPATH": str(view), "HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
                       "MPLBACKEND": "agg", "MPLCONFIGDIR": str(folder), "COURSE_LANG": language(), "PATH": os.defpath,
                       "GRPO_COURSE_GRADING": "1", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1",
                       "OMP_NUM_THREADS": "2"}
        command = [sys.executable, "-c", "from lib.grading import worker; worker.main()"]
        if isolation == "bwrap":
            environment |= {"HOME": "/tmp", "TMPDIR": "/tmp", "MPLCONFIGDIR": "/tmp", "PYTHONPATH": "/course"}
            walls = [*_walls(), "--ro-bind", str(view), "/course", "--chdir", "/tmp"]
            for name, value in environment.items():
                walls += ["--setenv", name, value]
            command = [shutil.which("bwrap"), *walls, "--", *command]
            view, folder = Path("/course"), Path("/tmp")
        elif "SYSTEMROOT" in os.environ:
            environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         cwd=box / "work", env=environment, start_new_session=True)
        self._answers = _Pipe(self._process.stdout)
        threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True).start()
        limits = {"memory": MEMORY, "cpu": CPU, "file_size": DISK, "processes": _own_threads() + PROCESSES}
        try:
            self._send({"limits": limits, "folder": str(folder), "readable": [str(view), *_python()],
                        "hidden": HIDDEN, "driver": driver}, {})
            self._receive(time.monotonic() + START)
        except Died as error:
            output = self.output
            self.close()
            raise OSError(tr(en=f"the grader's worker did not start ({error.why}): {output[-500:]}",
                             ru=f"рабочий процесс проверки не запустился ({error.why}): {output[-500:]}")) from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and not self._answers.closed

    def request(self, header: dict, tensors: dict, seconds: float, answer_question=None) -> tuple[dict, dict]:
        """Sends a request, returns its answer; raises Died, and the worker is gone, when there is none in time.

        answer_question(name, value) -> value answers what the worker's driver asks meanwhile.
        """
        self._kept.clear()
        self.output = ""
        deadline, number = time.monotonic() + seconds, secrets.token_hex(8)
        try:
            self._send({**header, "id": number}, tensors)
            while True:
                reply, returned = self._receive(deadline)
                if reply.get("id") != number:      # nobody but the worker's own loop knows the number
                    raise Died("protocol")
                if "ask" not in reply or answer_question is None:
                    return reply, returned
                value = answer_question(str(reply["ask"]), wire.from_wire(reply.get("value"), returned))
                out: list = []
                tree = wire.to_wire(value, out)
                self._send({"value": tree}, {str(i): tensor for i, tensor in enumerate(out)})
        except wire.ProtocolError as error:
            self.close()
            raise Died("large" if "too large" in str(error) else "protocol", str(error)) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kills the process with all that it started, and removes its files."""
        process = self._process
        for child in descendants(process.pid):
            with contextlib.suppress(Exception):
                child.kill()
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        self._answers.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(RecursionError):      # folders in folders, a thousand deep
            self._box.cleanup()
        if os.path.exists(self._box.name) and (remove := shutil.which("rm")):
            subprocess.run([remove, "-rf", "--", self._box.name], check=False, capture_output=True)

    def _send(self, header, tensors):
        # A worker that does not read must not hang the grader: the write goes through a thread with the same patience.
        frame = wire.pack(header, tensors)
        done = threading.Event()

        def write():
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(frame)
                self._process.stdin.flush()
                done.set()

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        thread.join(30)
        if not done.is_set():
            raise Died("died")

    def _receive(self, deadline):
        prefix = self._answers.read(wire.LENGTHS.size, deadline)
        head, payload = wire.sizes(prefix)
        return wire.unpack(self._answers.read(head, deadline), self._answers.read(payload, deadline))

    def _listen(self, stream):
        """In a thread: keeps the beginning and the end of what the worker prints, and lets the rest go."""
        with contextlib.suppress(OSError, ValueError), stream:
            while piece := stream.read1(65536):
                self._kept += piece
                if len(self._kept) > 2 * OUTPUT:
                    del self._kept[OUTPUT:-OUTPUT]
                self.output = self._kept.decode("utf-8", "replace")


class _Pipe:
    """Reads from a pipe with a deadline, in a thread that never holds more than one frame."""

    def __init__(self, stream):
        self._stream, self.closed = stream, False
        self._ready = threading.Condition()
        self._data, self._wanted = bytearray(), 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError, ValueError):
            while True:
                with self._ready:
                    self._ready.wait_for(lambda: self._wanted > len(self._data) or self.closed)
                    if self.closed:
                        break
                    missing = self._wanted - len(self._data)
                piece = self._stream.read1(min(missing, 1 << 20))
                if not piece:
                    break
                with self._ready:
                    self._data += piece
                    self._ready.notify_all()
        with self._ready:
            self.closed = True
            self._ready.notify_all()
        with contextlib.suppress(OSError, ValueError):
            self._stream.close()

    def read(self, count, deadline):
        """`count` bytes. Raises Died when they do not come in time or the other side is gone."""
        with self._ready:
            self._wanted = count
            self._ready.notify_all()
            self._ready.wait_for(lambda: len(self._data) >= count or self.closed, max(0.0, deadline - time.monotonic()))
            if len(self._data) < count:
                raise Died("died" if self.closed else "timeout")
            data = bytes(self._data[:count])
            del self._data[:count]
            self._wanted = 0
            return data

    def close(self):
        with self._ready:
            self.closed = True
            self._ready.notify_all()


def descendants(pid: int) -> list:
    """All processes that a process started, those that left its session included."""
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _own_threads() -> int:
    """How many threads this user has already: the limit of processes counts them all."""
    import psutil

    total = 0
    if hasattr(os, "getuid"):
        for process in psutil.process_iter(["uids", "num_threads"]):
            if process.info["uids"] and process.info["uids"].real == os.getuid():
                total += process.info["num_threads"] or 0
    return total
