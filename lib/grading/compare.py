"""A function against its oracle: shape and dtype first, then values, then gradients; a known mistake is named.

Naming a mistake decides nothing: a level fails because its values differ, and the name is looked for afterwards.
"""
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from lib.grading.level import Student, Wrong, describe_call
from lib.grading.wire import Other, show
from lib.i18n import tr

FLOATS = (torch.float32, torch.float64)
NUMBERS = (*FLOATS, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
RTOL, ATOL = 2e-5, 2e-6      # float32 work on numbers of about 1 is off by 1e-6; the smallest mistake here by 1e-4


class Mistake(NamedTuple):
    """A typical wrong solution: `compute` gives what it would return, `says` is what the student is told."""

    name: str
    says: str
    compute: Callable


def check_call(student: Student, name: str, oracle: Callable, inputs: dict, *, options: dict | None = None,
               grad: Sequence[str] = (), mistakes: Sequence[Mistake] = (), dtypes=FLOATS, atol: float = ATOL) -> None:
    """Calls the student's function once and raises Wrong unless value and gradients are the oracle's.

    oracle(*inputs, **options) and each mistake's compute work on float64 tensors; their gradients come from autograd.
    """
    options = options or {}
    expected, expected_grads, weight = _with_grads(oracle, inputs, options, grad)
    returned = student.call(name, inputs, options, grad, weight)
    shown = describe_call(name, inputs, options)
    value = returned.value
    _check_kind(shown, value, expected, dtypes)
    _check_shape(shown, value, expected, inputs, options, mistakes)
    if not _close(value, expected, atol):
        mistake = _recognise(lambda m: _close(value, _value(m.compute, inputs, options), atol), mistakes)
        raise _wrong(shown, value, expected, mistake)
    for key in grad:
        got = returned.grads.get(key)
        if not isinstance(got, torch.Tensor) or got.shape != expected_grads[key].shape:
            raise Wrong(tr(en=f"{shown}: the value is right, but no gradient flows to {key}. Do not detach it, do not work "
                              f"under no_grad, and return what torch computed",
                           ru=f"{shown}: значение верное, но градиент до {key} не доходит. Не отрывайте вход от графа "
                              f"(detach, no_grad, .item()) и верните то, что посчитал torch"), "no_gradient")
        if not _close(got, expected_grads[key], atol):
            mistake = _recognise(lambda m, key=key, got=got: _close(
                got, _with_grads(m.compute, inputs, options, (key,), weight)[1].get(key), atol), mistakes)
            words = _difference(got, expected_grads[key])
            advice = f" {mistake.says}" if mistake else ""
            raise Wrong(tr(en=f"{shown}: the value is right, the gradient by {key} is not: {words}.{advice}",
                           ru=f"{shown}: значение верное, градиент по {key} — нет: {words}.{advice}"),
                        mistake.name if mistake else "wrong_gradient")


def _check_kind(shown, value, expected, dtypes):
    if isinstance(value, torch.Tensor):
        if value.dtype not in dtypes:
            wanted = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes[:2])
            raise Wrong(tr(en=f"{shown} returned a tensor of {value.dtype}, expected {wanted}",
                           ru=f"{shown}: тензор {value.dtype}, а нужен {wanted}"), "dtype")
        return
    if value is None:
        raise Wrong(tr(en=f"{shown} returned None, expected a tensor of shape {list(expected.shape)}: is there a return?",
                       ru=f"{shown}: вернулось None, а нужен тензор формы {list(expected.shape)}. Есть ли return?"), "type")
    kind = value.what if isinstance(value, Other) else type(value).__name__
    said = "" if isinstance(value, Other) else f" {show(value, 100)}"
    raise Wrong(tr(en=f"{shown} returned {kind}{said}, expected a tensor of shape {list(expected.shape)}",
                   ru=f"{shown}: вернулось {kind}{said}, а нужен тензор формы {list(expected.shape)}"), "type")


def _check_shape(shown, value, expected, inputs, options, mistakes):
    if value.shape == expected.shape:
        return
    mistake = _recognise(lambda m: _close(value, _value(m.compute, inputs, options), ATOL), mistakes)
    advice = f" {mistake.says}" if mistake else ""
    raise Wrong(tr(en=f"{shown} returned shape {list(value.shape)}, expected {list(expected.shape)}.{advice}",
                   ru=f"{shown}: форма {list(value.shape)}, а нужна {list(expected.shape)}.{advice}"),
                mistake.name if mistake else "shape")


def _wrong(shown, value, expected, mistake):
    words = _difference(value, expected)
    advice = f" {mistake.says}" if mistake else ""
    return Wrong(tr(en=f"{shown}: {words}.{advice}",
                    ru=f"{shown}: {words}.{advice}"), mistake.name if mistake else "wrong_value")


def _difference(value, expected) -> str:
    """The two values where they can be read, else the place where they differ most."""
    if expected.nelement() <= 12:
        return tr(en=f"returned {show(value)}, expected {show(expected)}",
                  ru=f"вернулось {show(value)}, ожидалось {show(expected)}")
    gap = (value.double() - expected.double()).abs().nan_to_num(nan=float("inf"), posinf=float("inf"))
    place = [int(i) for i in torch.unravel_index(gap.argmax(), gap.shape)]
    got, want = value[tuple(place)].item(), expected[tuple(place)].item()
    return tr(en=f"at {place} returned {got:.6g}, expected {want:.6g}",
              ru=f"в {place} вернулось {got:.6g}, ожидалось {want:.6g}")


def _value(compute, inputs, options):
    """What a wrong solution returns on these inputs; None where it cannot work on them."""
    try:
        value = compute(*[_double(x) for x in inputs.values()], **options)
    except (RuntimeError, IndexError):
        return None
    return value if isinstance(value, torch.Tensor) else None


def _with_grads(compute, inputs, options, grad, weight=None):
    """(value, gradients of the sum of value * weight by name, weight). The weight is drawn once, from the inputs' count."""
    given = {key: _double(value) for key, value in inputs.items()}
    for key in grad:
        given[key] = given[key].clone().requires_grad_(True)
    try:
        value = compute(*given.values(), **options)
    except (RuntimeError, IndexError):
        return None, {}, weight
    if weight is None:       # different weights at different places, so that no place can hide behind another
        weight = 0.5 + torch.rand(value.shape, generator=torch.Generator().manual_seed(value.nelement()))
    grads = {}
    if grad and value.shape == weight.shape:
        if value.requires_grad:
            found = torch.autograd.grad((value * weight.double()).sum(), [given[key] for key in grad], allow_unused=True)
        else:
            found = [None] * len(grad)
        grads = {key: torch.zeros_like(given[key]) if g is None else g for key, g in zip(grad, found, strict=True)}
    return value.detach(), grads, weight


def _double(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _close(value, expected, atol) -> bool:
    """Same shape, and everywhere |value - expected| <= atol + RTOL * |expected|. nan is close to nothing."""
    if expected is None or value.shape != expected.shape:
        return False
    return bool(torch.isclose(value.double(), expected.double(), rtol=RTOL, atol=atol).all())


def _recognise(fits, mistakes) -> Mistake | None:
    return next((mistake for mistake in mistakes if fits(mistake)), None)
