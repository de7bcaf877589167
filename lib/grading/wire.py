"""What grader and worker say to each other: frames of JSON and safetensors bytes, and nothing that could be executed.

A frame is two lengths (8 bytes each, big-endian), a JSON header and a safetensors payload. A value goes over as a tree of
tagged lists, such as ["float", 1.0], ["tensor", 0, "float32"] (the number of the tensor in the payload) or
["dict", [[key, value], …]]. The receiver rebuilds tensors, numbers, texts and containers of them, and nothing else:
what is something else arrives as `Other`, which says what it was.
"""
import json
import math
import re
import struct
from typing import NamedTuple

LENGTHS = struct.Struct(">QQ")
LARGEST = 64 << 20      # bytes of a frame: three times what any level sends
DEEPEST = 12            # containers in containers
MOST = 100_000          # items of all containers of a value
LONGEST = 1_000_000     # characters of a text
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ProtocolError(Exception):
    """What arrived is no frame. The other side is not to be talked to any more."""


class Other(NamedTuple):
    """A value that cannot go over: an object, a generator, a function, something endless or too large."""

    what: str


def pack(header: dict, tensors: dict) -> bytes:
    """A frame as bytes. tensors: name -> dense CPU tensor."""
    from safetensors.torch import save

    head = json.dumps(header).encode()
    payload = save(tensors) if tensors else b""
    return LENGTHS.pack(len(head), len(payload)) + head + payload


def sizes(prefix: bytes, largest: int = LARGEST) -> tuple[int, int]:
    """The two lengths that a frame begins with. Raises ProtocolError when it would be larger than allowed."""
    head, payload = LENGTHS.unpack(prefix)
    if head + payload > largest:
        raise ProtocolError("too large")
    return head, payload


def unpack(head: bytes, payload: bytes) -> tuple[dict, dict]:
    """Header and tensors of a frame. Raises ProtocolError for anything that is not one."""
    try:
        header = json.loads(head)
        if not isinstance(header, dict):
            raise ProtocolError("no header")
        tensors = {}
        if payload:
            from safetensors.torch import load

            tensors = load(payload)
    except ProtocolError:
        raise
    except Exception as error:
        raise ProtocolError(type(error).__name__) from error
    return header, tensors


# ── values ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def to_wire(value, tensors: list):
    """The tree of a value; its tensors are appended to `tensors`. What cannot go over becomes ["other", what it was]."""
    return _Writer(tensors).write(value, 0)


class _Writer:
    def __init__(self, tensors: list):
        self.tensors, self.left = tensors, MOST

    def write(self, value, depth):
        import torch

        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            return ["other", "too large"]
        # The exact types of Python first: a subclass may lie about itself, what is written is what the base type holds.
        if value is None:
            return ["none"]
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, bool):
            return ["bool", value]
        if isinstance(value, int):
            small = int.bit_length(value) < 1000
            return ["int", str(int.__index__(value))] if small else ["other", "int, too large"]
        if isinstance(value, float):
            return ["float", repr(float.__float__(value))]
        if isinstance(value, str):
            text = str.__str__(value)
            return ["str", text.encode("utf-8", "replace").decode()] if len(text) <= LONGEST else ["other", "str, too long"]
        if type(value).__module__ == "numpy":
            return self._numpy(value, depth)
        if isinstance(value, list | tuple):
            name = "list" if isinstance(value, list) else "tuple"
            return [name, [self.write(item, depth + 1) for item in (list if name == "list" else tuple).__iter__(value)]]
        if isinstance(value, dict):
            items = [[str(key)[:200], self.write(item, depth + 1)] for key, item in dict.items(value)]
            return ["dict", items]
        return ["other", type(value).__name__]

    def _numpy(self, value, depth):
        import numpy as np
        import torch

        if isinstance(value, np.ndarray):
            return ["array", self._tensor(torch.tensor(np.asarray(value)))] if value.dtype.kind in "fiub" else \
                   ["other", f"numpy.{value.dtype}"]
        if isinstance(value, np.bool_ | np.integer | np.floating):
            return self.write(value.item(), depth)
        return ["other", type(value).__name__]

    def _tensor(self, value):
        import torch

        if value.is_sparse or value.device.type != "cpu" or value.is_complex() or value.is_quantized:
            return ["other", "tensor, but not a dense real one on the CPU"]
        if value.nelement() * value.element_size() > LARGEST // 4:
            return ["other", f"tensor of {value.nelement()} elements, too large"]
        # .data is a plain tensor whatever the subclass; clone gives it memory of its own, which safetensors asks for
        plain = torch.Tensor.detach(value).as_subclass(torch.Tensor).contiguous().clone()
        self.tensors.append(plain)
        return ["tensor", len(self.tensors) - 1]


def from_wire(tree, tensors: dict):
    """The value of a tree. Raises ProtocolError for a tree that `to_wire` does not make."""
    try:
        return _read(tree, tensors, 0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ProtocolError(f"no value: {type(error).__name__}") from error


def _read(tree, tensors, depth):
    if depth > DEEPEST + 2:
        raise ProtocolError("too deep")
    match tree:
        case ["none"]:
            return None
        case ["bool", bool(value)]:
            return value
        case ["int", str(digits)]:
            return int(digits[:400])
        case ["float", str(digits)]:
            return float(digits[:100])
        case ["str", str(text)]:
            return text[:LONGEST]
        case ["tensor", int(index)]:
            return tensors[str(index)]
        case ["array", inner]:
            return _read(inner, tensors, depth + 1).numpy()
        case ["list", list(items)]:
            return [_read(item, tensors, depth + 1) for item in items]
        case ["tuple", list(items)]:
            return tuple(_read(item, tensors, depth + 1) for item in items)
        case ["dict", list(items)]:
            return {str(key): _read(item, tensors, depth + 1) for key, item in items}
        case ["other", str(what)]:
            return Other(what[:200])
    raise ProtocolError("no value")


def clean(text: str) -> str:
    """A student's words for a report: what moves a terminal's cursor, turns the line round or is no text is replaced."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def show(value, most: int = 400) -> str:
    """A value as a student would read it: tensors as lists of rounded numbers."""
    text = _show(value)
    return text if len(text) <= most else text[:most] + " …"


def _show(value) -> str:
    if isinstance(value, Other):
        return f"<{value.what}>"
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return _show(value.tolist()) if math.prod(value.shape) <= 200 else f"tensor {list(value.shape)}"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(_show(item) for item in value[:50])
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_show(item)}" for key, item in list(value.items())[:50]) + "}"
    return repr(value)
