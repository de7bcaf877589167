"""Two halves at a time: the same results as the whole, and nothing lost on the way."""
import threading
import time

import pytest
import torch

from lib.toy import halves
from lib.toy.halves import add_gradients, in_halves


@pytest.fixture(params=["two cores", "one core"])
def cores(request, monkeypatch):
    monkeypatch.setattr(halves, "_parallel", True)     # and put back after the test
    if request.param == "one core":
        halves.one_core()
    return request.param


@pytest.mark.parametrize("n", range(1, 8))
def test_the_halves_cover_every_item_once_in_order(cores, n):
    items = list(range(n))
    parts = in_halves(lambda rows: items[rows], n)
    assert [item for part in parts for item in part] == items
    assert len(parts) == min(n, 2)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_they_run_at_the_same_time_on_two_cores(cores):
    threads = in_halves(lambda rows: threading.get_ident(), 2)
    assert len(set(threads)) == (2 if cores == "two cores" else 1)
    if cores == "two cores":
        meeting = threading.Barrier(2, timeout=10)     # breaks unless both halves are there together
        in_halves(lambda rows: meeting.wait(), 2)


@pytest.mark.parametrize("bad", [0, 1])
def test_an_exception_in_either_half_is_raised(cores, bad):
    def work(rows):
        if rows.start == bad:
            raise LookupError(f"half {bad}")
    with pytest.raises(LookupError, match=f"half {bad}"):
        in_halves(work, 2)
    assert in_halves(lambda rows: rows.start, 2) == [0, 1]      # and the next call works


def test_no_half_is_left_running_behind_an_exception(monkeypatch):
    monkeypatch.setattr(halves, "_parallel", True)
    finished = []

    def work(rows):
        if rows.start == 0:
            raise LookupError
        time.sleep(0.2)
        finished.append(rows)

    with pytest.raises(LookupError):
        in_halves(work, 2)
    assert len(finished) == 1


@pytest.mark.parametrize("on", [True, False])
def test_grad_mode_is_handed_on(cores, on):
    with torch.set_grad_enabled(on):
        assert in_halves(lambda rows: torch.is_grad_enabled(), 2) == [on, on]
        assert torch.is_grad_enabled() is on


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_gradients_are_those_of_the_whole_batch(cores, n):
    """Mean squared error of a linear model, whose gradient is known: 2/n * sum of error * (x, 1)."""
    rng = torch.Generator().manual_seed(n)
    x, y = torch.randn(n, 3, generator=rng), torch.randn(n, 1, generator=rng)
    model = torch.nn.Linear(3, 1)
    calls = []

    def share(rows):
        calls.append(rows)
        return ((model(x[rows]) - y[rows]) ** 2).sum() / n, rows.stop - rows.start

    extras = add_gradients(model, share, n)
    error = (model(x) - y).detach()
    torch.testing.assert_close(model.weight.grad, 2 / n * error.T @ x)
    torch.testing.assert_close(model.bias.grad, 2 / n * error.sum(0))
    assert sum(extras) == n
    assert len(calls) == len(extras) == min(n, 2)


def check_gradients_are_kept(add):
    """The gradient of a second call is that call's alone, and what was kept of the first stays as it was."""
    model = torch.nn.Linear(1, 1, bias=False)
    kept = []
    for factor in (1.0, 10.0, 100.0):
        add(model, lambda rows, factor=factor: (factor * model.weight.sum() * (rows.stop - rows.start), None), 4)
        kept.append(model.weight.grad)
    assert [gradient.item() for gradient in kept] == [4.0, 40.0, 400.0]


def accumulating(model, loss, n):
    value, _ = loss(slice(0, n))
    value.backward()


def in_place(model, loss, n):
    """Every gradient in the same tensor: whoever keeps ten of them keeps the last one ten times."""
    gradient, = torch.autograd.grad(loss(slice(0, n))[0], list(model.parameters()))
    if model.weight.grad is None:
        model.weight.grad = gradient
    else:
        model.weight.grad.copy_(gradient)


def test_gradients_are_kept():
    check_gradients_are_kept(add_gradients)


@pytest.mark.parametrize("faulty", [accumulating, in_place])
def test_faulty_gradients_are_found(faulty):
    with pytest.raises(AssertionError):
        check_gradients_are_kept(faulty)


def test_one_thread_an_operation():
    assert torch.get_num_threads() == 1
