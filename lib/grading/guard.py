"""The worker's limits: what the operating system enforces, and a refusal of what graded code has no need of.

The refusal is a Python audit hook. It makes an accident harmless (a loop that deletes files, a request to the network) and
names what was refused. Code written to get round it gets round it: the wall is bubblewrap, see `sandbox`.
"""
import os
import sys

try:
    import resource
except ModuleNotFoundError:      # Windows has no such limits; the grader's clock holds there too
    resource = None

REFUSED = frozenset({
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.kill",
    "os.killpg", "os.startfile", "pty.spawn", "socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo",
    "ctypes.dlopen", "ctypes.dlsym", "signal.pthread_kill", "sys.remote_exec",
})
WRITES = frozenset({
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "os.mkfifo", "os.mknod", "shutil.rmtree", "shutil.move", "shutil.copyfile",
})
READS = frozenset({"os.listdir", "os.scandir", "os.chdir"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/opt", "/sys", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/dev")


def limit(memory: int, cpu: int, file_size: int, processes: int) -> None:
    """Limits of this process and all that it starts: bytes, seconds, bytes a file, processes of this user."""
    if not resource:
        return
    wanted = (("RLIMIT_AS", memory), ("RLIMIT_CPU", cpu), ("RLIMIT_FSIZE", file_size), ("RLIMIT_NPROC", processes),
              ("RLIMIT_CORE", 0))
    for name, value in wanted:
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):     # macOS knows RLIMIT_AS by name only
            continue


def refuse(folder: str, readable: list[str], hidden: list[str]) -> None:
    """From now on: files are written in `folder` only and read there, in `readable` and in the system's, but not in
    `hidden`; no processes, no network, no calls into C libraries. Cannot be taken back.
    """
    write_roots = (os.path.realpath(folder),)
    read_roots = (*write_roots, *(os.path.realpath(path) for path in readable), *SYSTEM)
    hidden = tuple(os.path.realpath(path) for path in hidden)

    def under(path, roots):
        return any(path == root or path.startswith(root + os.sep) for root in roots)

    def inside(path, roots):
        if isinstance(path, int):
            return True                       # an open descriptor
        path = os.path.realpath(os.fsdecode(path or "."))
        return path in DEVICES or (under(path, roots) and not under(path, hidden))

    def hook(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            writing = flags & WRITING if isinstance(flags, int) and flags else bool(set(mode or "r") & set("wax+"))
            if not inside(path, write_roots if writing else read_roots):
                raise PermissionError(f"graded code may not {'write' if writing else 'read'} {os.fsdecode(path)}")
        elif event in WRITES:
            if not all(inside(path, write_roots) for path in arguments if isinstance(path, str | bytes | os.PathLike)):
                raise PermissionError(f"graded code may not do {event} outside its own folder")
        elif event in READS:
            if not inside(arguments[0], read_roots):
                raise PermissionError(f"graded code may not read {arguments[0]}")
        elif event in REFUSED:
            raise PermissionError(f"graded code may not do {event}")

    sys.addaudithook(hook)
