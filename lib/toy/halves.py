"""Two cores for a tiny model: each works on its half of the batch, then the gradients are added.

This is data parallelism, what `accelerate` does with whole GPUs. PyTorch's own way, splitting every single operation
between threads, waits for all threads after each of them: on a busy machine that costs several times what it saves, and
this model's operations last microseconds. So one thread an operation, and two halves at a time. The count of halves does
not depend on the machine, so the results do not either.
"""
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

torch.set_num_threads(1)
_parallel = True


def one_core() -> None:
    """From now on this process works its halves off one after the other: for a sweep, with a process on each core."""
    global _parallel
    _parallel = False


@cache
def _second_core() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="half")


def in_halves(work, n: int) -> list:
    """Calls work(rows) for the two halves of range(n) at the same time, rows being a slice; returns both results.

    One item is not split: then the list has one result. An exception in either half is raised here. Not to be nested:
    there is one other thread.
    """
    if n < 2:
        return [work(slice(0, n))]
    if not _parallel:
        return [work(slice(0, n // 2)), work(slice(n // 2, n))]
    with_gradients = torch.is_grad_enabled()   # a setting of the calling thread, to be handed on

    def second():
        with torch.set_grad_enabled(with_gradients):
            return work(slice(n // 2, n))

    other = _second_core().submit(second)
    try:
        first = work(slice(0, n // 2))
    finally:
        other.exception()   # waits: an exception does not leave a half running behind the caller's back
    return [first, other.result()]


def add_gradients(model: torch.nn.Module, loss, n: int) -> list:
    """Sets every parameter's .grad to the gradient of the sum of loss(rows) over the two halves of range(n).

    loss(rows) returns (the half's share of the loss [], anything else). Returns the 'anything else' of each half.
    """
    parameters = list(model.parameters())

    def half(rows):
        value, extra = loss(rows)
        return torch.autograd.grad(value, parameters), extra

    gradients, extras = zip(*in_halves(half, n), strict=True)
    for parameter, *parts in zip(parameters, *gradients, strict=True):
        parameter.grad = sum(parts)
    return list(extras)
