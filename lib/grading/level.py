"""What a homework is made of: levels with checks. A homework's levels.py holds them, and is all that it needs.

    def levels() -> list[Level]      called in the language in force
    PROVIDES: list[str]              files of the course that graded code may import
    DRIVER: Path                     functions f(student, *inputs) that run in the worker, around the student's own

A check is a function (student, rng) that returns None where all is right and raises `Wrong` with a sentence where it is
not. It computes what is right by itself; of the student it sees values.
"""
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lib.grading import wire
from lib.i18n import tr

CALL_SECONDS = 20.0      # of one call of a small function, which takes milliseconds


class Wrong(Exception):
    """The level is not passed. `mistake` names a fault that was recognised."""

    def __init__(self, message: str, mistake: str = ""):
        super().__init__(message)
        self.message, self.mistake = message, mistake


@dataclass(frozen=True)
class Part:
    """A function of a level and what it is worth."""

    function: str
    points: int
    check: Callable[["Student", random.Random], None]


@dataclass(frozen=True)
class Level:
    """A level: its parts are checked one by one, and each is worth its points."""

    id: str
    title: str
    parts: tuple[Part, ...]
    hints: tuple[str, ...]
    lesson: str = ""                    # where it is explained, such as 'notebooks/en/02_grpo_step.ipynb, section 7'
    needs: tuple[str, ...] = ()         # levels whose functions the solution is built on
    slow: bool = False                  # trains: seconds, not milliseconds

    @property
    def points(self) -> int:
        return sum(part.points for part in self.parts)

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(part.function for part in self.parts)


class Returned(NamedTuple):
    """What a call gave: the value, and by name the gradients that were asked for (None where there is none)."""

    value: Any
    grads: dict[str, Any]


class Student:
    """The student's functions as a check sees them. `send` carries a request to where they live."""

    def __init__(self, send: Callable[..., tuple[dict, dict]], rng: random.Random, patience: float = 1.0):
        """send(header, tensors, seconds, answer_question) -> (header, tensors); raises Wrong where nothing came back."""
        self._send, self._rng, self.patience = send, rng, patience

    def call(self, name: str, inputs: dict, options: dict | None = None, grad: Sequence[str] = (), weight=None,
             seconds: float = CALL_SECONDS) -> Returned:
        """Calls a function with `inputs` by position and `options` by keyword.

        grad: the inputs by which the sum of output * weight is differentiated, by the worker. Raises Wrong where the
        function is missing, raises, or does not return in time.
        """
        tensors: list = []
        names = list(inputs)
        header = {"do": "call", "name": name, "args": [wire.to_wire(value, tensors) for value in inputs.values()],
                  "kwargs": {key: wire.to_wire(value, tensors) for key, value in (options or {}).items()},
                  "grad": [names.index(key) for key in grad], "seed": self._rng.getrandbits(32)}
        payload = {str(i): tensor for i, tensor in enumerate(tensors)}
        if weight is not None:
            payload["weight"] = weight
        shown = describe_call(name, inputs, options)
        answer, returned = self._send(header, payload, seconds * self.patience, None, shown)
        raise_error(answer, name, shown)
        try:
            grads = [wire.from_wire(tree, returned) for tree in answer.get("grads", [])]
            value = wire.from_wire(answer.get("value"), returned)
        except wire.ProtocolError:
            raise Wrong(tr(en=f"{shown} returned nothing that can be read", ru=f"{shown}: результат нельзя прочитать"),
                        "protocol") from None
        return Returned(value, dict(zip(grad, grads, strict=False)))

    def drive(self, driver: str, *inputs, function: str, seconds: float, answer_question=None):
        """Runs a function of the homework's driver around the student's `function`, and returns its value."""
        tensors: list = []
        header = {"do": "drive", "name": driver, "args": [wire.to_wire(value, tensors) for value in inputs],
                  "seed": self._rng.getrandbits(32)}
        payload = {str(i): tensor for i, tensor in enumerate(tensors)}
        answer, returned = self._send(header, payload, seconds * self.patience, answer_question, function)
        raise_error(answer, function, function)
        try:
            return wire.from_wire(answer.get("value"), returned)
        except wire.ProtocolError:
            raise Wrong(tr(en=f"{function} returned nothing that can be read",
                           ru=f"{function}: результат нельзя прочитать"), "protocol") from None

    def uses(self, name: str) -> list[str]:
        """Which global names a function of the notebook reads, directly or through others."""
        answer, returned = self._send({"do": "uses", "name": name}, {}, CALL_SECONDS * self.patience, None, name)
        value = wire.from_wire(answer.get("value", ["list", []]), returned)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def describe_call(name: str, inputs: dict, options: dict | None = None) -> str:
    """A call as a student would write it; what is too large to read is shown by its shape."""
    parts = [f"{key}={_short(value)}" for key, value in {**inputs, **(options or {})}.items()]
    return f"{name}({', '.join(parts)})"


def _short(value) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and value.nelement() > 12:
        return "tensor" + str(list(shape)).replace(" ", "")
    text = wire.show(value)
    return text if len(text) <= 120 else text[:60] + "…" + text[-20:]


def raise_error(answer: dict, name: str, shown: str) -> None:
    """Raises Wrong for an answer that says what was raised instead of a value."""
    error = answer.get("error")
    if error is None:
        return
    error = error if isinstance(error, dict) else {}
    kind, message, where = (str(error.get(key, ""))[:1000] for key in ("type", "message", "where"))
    if kind == "missing":
        missing = message or name
        raise Wrong(tr(en=f"{missing} is not in the notebook: the function must have exactly this name",
                       ru=f"в блокноте нет {missing}: функция должна называться именно так"), "missing")
    if kind == "NotImplementedError":
        raise Wrong(tr(en=f"{name} is not written yet", ru=f"{name} ещё не написана"), "unsolved")
    said = f"{kind}: {message}" if message else kind
    place = f" ({where})" if where else ""
    raise Wrong(tr(en=f"{shown} raised {said}{place}", ru=f"{shown}: исключение {said}{place}"), "exception")


@dataclass
class Result:
    """What became of a level. status: 'passed', 'failed' or 'skipped' (it needs a level that is not passed)."""

    id: str
    title: str
    status: str
    points: int
    max_points: int
    message: str
    mistake: str = ""
    seconds: float = 0.0
    output: str = ""                    # what the student's code printed meanwhile, cut
    lesson: str = ""
    parts: dict[str, int] = field(default_factory=dict)
