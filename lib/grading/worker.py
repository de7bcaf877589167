"""The process that runs the student's code: it knows a function's name and its inputs, and sends back what came out.

It holds no expected value and no check. What it answers is believed no more than any other output of the student's code.
"""
import ast
import contextlib
import io
import linecache
import os
import random
import sys
import types

from lib.grading import wire

LEFT_OUT = ("run_line_magic", "run_cell_magic", "system", "getoutput", "magic")
TRANSPARENT = ("time", "timeit", "capture", "prun")      # cell magics that run the cell's own code


class Server:
    """Answers requests about one namespace. In the worker it is the notebook's own, in a learner's kernel `__main__`."""

    def __init__(self, namespace: dict, driver: str = "", driver_name: str = "driver"):
        """driver: source of the homework's own functions `f(student, *inputs)`, which run loops around the student's."""
        self.namespace = namespace
        self.driver: dict = {"__name__": driver_name}
        exec(compile(driver, driver_name, "exec"), self.driver)

    def handle(self, header: dict, tensors: dict, ask=None) -> tuple[dict, dict]:
        """One request -> one answer, both a header and tensors. ask(name, value): a question back to the grader."""
        out: list = []
        try:
            answer = getattr(self, "do_" + header["do"])(header, tensors, out, ask)
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too: all of it is an answer
            out.clear()
            answer = {"error": describe(error)}
        return answer, {str(i): tensor for i, tensor in enumerate(out)}

    def do_cell(self, header, tensors, out, ask):
        """Executes a cell. Its answer names the lines that were left out."""
        name, left_out = header["name"], []
        linecache.cache[name] = (len(header["source"]), None, header["source"].splitlines(keepends=True), name)
        tree = plain_python(header["source"], name, left_out)
        exec(compile(tree, name, "exec"), self.namespace)
        return {"left_out": left_out}

    def do_call(self, header, tensors, out, ask):
        """Calls a function; differentiates the sum of its output times `weight` by the arguments numbered in `grad`."""
        import torch

        seed_all(header["seed"])
        if header["name"] not in self.namespace:
            return {"error": {"type": "missing", "message": "", "where": ""}}
        arguments = [wire.from_wire(tree, tensors) for tree in header["args"]]
        options = {key: wire.from_wire(tree, tensors) for key, tree in header["kwargs"].items()}
        for position in header["grad"]:
            arguments[position].requires_grad_(True)
        value = self.namespace[header["name"]](*arguments, **options)
        answer = {"value": wire.to_wire(value, out)}
        if header["grad"]:
            weight = tensors["weight"]
            sources = [arguments[position] for position in header["grad"]]
            grads = [None] * len(sources)
            if isinstance(value, torch.Tensor) and value.shape == weight.shape and value.requires_grad:
                grads = torch.autograd.grad((value * weight).sum(), sources, allow_unused=True)
            answer["grads"] = [wire.to_wire(grad, out) for grad in grads]
        return answer

    def do_drive(self, header, tensors, out, ask):
        """Calls a function of the driver, with the student's functions as its first argument."""
        seed_all(header["seed"])
        arguments = [wire.from_wire(tree, tensors) for tree in header["args"]]
        return {"value": wire.to_wire(self.driver[header["name"]](Functions(self.namespace, ask), *arguments), out)}

    def do_uses(self, header, tensors, out, ask):
        """Which global names a function reads, directly or through others of the notebook."""
        seen, todo = set(), [header["name"]]
        while todo:
            code = getattr(self.namespace.get(todo.pop()), "__code__", None)
            for name in set(_names(code)) - seen if code else ():
                seen.add(name)
                todo.append(name)
        return {"value": ["list", [["str", name] for name in sorted(seen)[:1000]]]}


class Functions:
    """What a driver sees of the student: `student.f(...)`, and `student.ask(name, value)`, answered by the grader."""

    def __init__(self, namespace: dict, ask):
        self._namespace, self.ask = namespace, ask

    def __getattr__(self, name: str):
        if name not in self._namespace:
            raise MissingFunction(name)
        return self._namespace[name]

    def replace(self, name: str, function) -> None:
        """From now on the notebook's name stands for another function."""
        self._namespace[name] = function


class MissingFunction(NameError):
    """A function that a driver needs is not in the notebook."""


def seed_all(seed: int) -> None:
    """The global generators that a solution might use, all of them."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def describe(error: BaseException) -> dict:
    """An exception as a student can use it: type, message, and the line of the notebook where it was raised."""
    if isinstance(error, MissingFunction):
        return {"type": "missing", "message": str(error), "where": ""}
    where, trace = "", error.__traceback__
    while trace:
        file, number = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        if _of_notebook(file):
            where = _place(file, number, linecache.getline(file, number))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and _of_notebook(str(error.filename)):
        where = _place(error.filename, error.lineno, error.text or "")
    try:
        message = str(error)[:1000]
    except BaseException:  # noqa: BLE001 - an exception that cannot be shown is an exception all the same
        message = ""
    return {"type": type(error).__name__[:100], "message": message, "where": where}


def _of_notebook(file: str) -> bool:
    """A cell that the worker ran, or one that a learner's kernel ran."""
    return file.startswith("<cell") or os.path.basename(os.path.dirname(file)).startswith("ipykernel_")


def _place(file: str, number: int, line: str) -> str:
    cell = f"{file.strip('<>')}, " if file.startswith("<cell") else ""
    return f"{cell}line {number}: {line.strip()[:160]}"


# ── notebooks are not quite Python ────────────────────────────────────────────────────────────────────────────────────
def plain_python(source: str, name: str, left_out: list[str]) -> ast.Module:
    """The cell as Python: magics and shell lines are left out (and named), a `%%time` cell keeps its body."""
    first, _, body = source.lstrip().partition("\n")
    if first.startswith("%%"):
        left_out.append(first.strip()[:80])
        words = first[2:].split()
        source = "\n" + body if words and words[0] in TRANSPARENT else ""
    try:
        return ast.parse(source, name)
    except SyntaxError:
        if not any(line.lstrip().startswith(("%", "!", "?")) or line.rstrip().endswith("?") or "= !" in line or "= %" in line
                   for line in source.splitlines()):
            raise
    from IPython.core.inputtransformer2 import TransformerManager

    tree = _WithoutMagics(left_out).visit(ast.parse(TransformerManager().transform_cell(source), name))
    return ast.fix_missing_locations(tree)


class _WithoutMagics(ast.NodeTransformer):
    def __init__(self, left_out):
        self.left_out = left_out

    def visit_Expr(self, node):
        return self._keep(node)

    def visit_Assign(self, node):
        return self._keep(node)

    def _keep(self, node):
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=attribute)) \
                    if attribute in LEFT_OUT:
                words = [a.value for a in node.value.args if isinstance(a, ast.Constant)]
                self.left_out.append(" ".join(map(str, words))[:80])
                return ast.Pass()
        return node


# ── the process ───────────────────────────────────────────────────────────────────────────────────────────────────────
def serve(requests, answers) -> None:
    """Reads requests and writes answers until the grader hangs up. The first one starts the worker."""
    hello, _ = read(requests)
    limits, folder = hello["limits"], hello["folder"]
    from lib.grading import guard

    os.chdir(folder)
    sys.path[:] = [path for path in sys.path if path]      # the work folder is for files, not for modules
    prepare()
    guard.limit(**limits)
    guard.refuse(folder, hello["readable"], hello["hidden"])
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    server = Server(main.__dict__, hello["driver"])
    write(answers, {"ready": True}, {})

    def ask(name, value):
        out: list = []
        write(answers, {"id": current, "ask": name, "value": wire.to_wire(value, out)},
              {str(i): tensor for i, tensor in enumerate(out)})
        reply, tensors = read(requests)
        return wire.from_wire(reply["value"], tensors)

    while True:
        header, tensors = read(requests)
        current = header["id"]
        answer, out = server.handle(header, tensors, ask)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        write(answers, {**answer, "id": current}, out)


def prepare() -> None:
    """Imports before the limits and the refusals what imports itself late and asks for much: torch's optimizers."""
    import torch

    torch.set_num_threads(1)
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1)
    torch.optim.Adam([parameter]).step()


def read(stream: io.BufferedIOBase) -> tuple[dict, dict]:
    """The next frame; the end of the stream ends the process."""
    prefix = stream.read(wire.LENGTHS.size)
    if len(prefix) < wire.LENGTHS.size:
        os._exit(0)
    head, payload = wire.sizes(prefix)
    return wire.unpack(stream.read(head), stream.read(payload))


def write(stream: io.BufferedIOBase, header: dict, tensors: dict) -> None:
    stream.write(wire.pack(header, tensors))
    stream.flush()


def main() -> None:
    """The protocol takes the descriptors 0 and 1 for itself: what the student's code prints goes where errors go."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    serve(requests, answers)


if __name__ == "__main__":
    main()
