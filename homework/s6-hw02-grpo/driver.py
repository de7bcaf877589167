"""What runs in the worker around the student's functions: the training loops. It holds no check and no expected value.

`student.f` is the student's function f; `student.ask(name, value)` is answered by the grader.
"""
import contextlib
import functools
import inspect
import types

import torch
from torch import nn

from lib.toy import policy as toy_policy
from lib.toy.policy import TinyLM

COUNT = {"answers": 0}
_sample = toy_policy.sample


@functools.wraps(_sample)
def counting_sample(model, prompts, group_size, rng):
    """The course's sampler, which counts the answers that it makes."""
    COUNT["answers"] += len(prompts) * group_size
    return _sample(model, prompts, group_size, rng)


toy_policy.sample = counting_sample      # before the notebook imports it


def load(weights: dict) -> TinyLM:
    model = TinyLM()
    model.load_state_dict(weights)
    return model


def state(model: nn.Module) -> dict:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def optimizer_for(model: nn.Module, name: str, lr: float):
    return torch.optim.Adam(model.parameters(), lr=lr) if name == "adam" else torch.optim.SGD(model.parameters(), lr=lr)


def train(student, weights, reference_weights, prompts, group_size, beta, optimizer_name, lr):
    """One grpo_step for each batch of prompts [steps, B, 6]; returns all weights and what the steps said."""
    policy, reference = load(weights), load(reference_weights).requires_grad_(False)
    optimizer = optimizer_for(policy, optimizer_name, lr)
    rows = []
    for batch in prompts:
        before = state(policy)
        rows.append(student.grpo_step(policy, reference, optimizer, batch, group_size, beta))
    return {"policy": state(policy), "before_last": before, "reference": state(reference), "rows": rows}


def train_dapo(student, weights, steps, batch_size, group_size, max_rounds, optimizer_name, lr):
    """`steps` calls of dapo_step, whose prompts are given out by the grader; returns the weights before the last one, too."""
    policy = load(weights)
    optimizer = optimizer_for(policy, optimizer_name, lr)

    def next_prompts(n):
        return student.ask("next_prompts", int(n))

    rows = []
    for step in range(steps):
        student.ask("step", step)
        before = state(policy)
        rows.append(student.dapo_step(policy, optimizer, next_prompts, batch_size, group_size, max_rounds=max_rounds))
    return {"policy": state(policy), "before_last": before, "rows": rows}


class Watch:
    """Looks on while compare trains: how many answers each run of an algorithm samples, where it begins and ends."""

    def __init__(self, function):
        self.function, self.runs = function, []

    def __call__(self, *arguments, **options):
        models = _models(inspect.signature(self.function).bind(*arguments, **options).arguments.values())
        run, before = self._run(*models), COUNT["answers"]
        try:
            return self.function(*arguments, **options)
        finally:
            run["answers"] += COUNT["answers"] - before
            run["end"] = state(run["model"])
            run["reference_moved"] |= not all(map(same, models[1:], run["references"]))

    def _run(self, policy, *references):
        """The run that goes on with this policy: the same object, and as the last step left it. Else it is a new one."""
        now = state(policy)
        for run in self.runs:
            if run["model"] is policy and equal(run["end"], now):
                return run
        self.runs.append({"model": policy, "start": now, "end": now, "answers": 0, "reference_moved": False,
                          "references": [state(model) for model in references]})
        return self.runs[-1]


def _models(values) -> list[nn.Module]:
    """The policy, and after it GRPO's reference, in the order of a function's parameters, whatever these are called."""
    found = []
    for value in values:
        if isinstance(value, nn.Module):
            found.append(value)
        elif isinstance(value, tuple | dict):      # *args, **kwargs
            found += _models(value.values() if isinstance(value, dict) else value)
    return found


def equal(a: dict, b: dict) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def same(model, weights) -> bool:
    return equal(weights, state(model))


@contextlib.contextmanager
def watched(student, names):
    """The notebook's functions of these names are watched, through whatever name or table they are called."""
    watches = {}
    with contextlib.ExitStack() as undo:
        for name in names:
            function = getattr(student, name)
            if isinstance(function, types.FunctionType) and not function.__closure__:
                # The object stays, so that every reference to it is watched; what it did lives on in a copy.
                watches[name] = Watch(_copy(function))
                hook = f"_watched_{name}"
                function.__globals__[hook] = watches[name]
                undo.callback(function.__globals__.pop, hook, None)
                for attribute in ("__defaults__", "__kwdefaults__", "__code__"):
                    undo.callback(setattr, function, attribute, getattr(function, attribute))
                function.__defaults__ = function.__kwdefaults__ = None
                function.__code__ = compile(f"lambda *a, **k: {hook}(*a, **k)", "driver", "eval").co_consts[0]
            else:
                watches[name] = Watch(function)
                student.replace(name, watches[name])
                undo.callback(student.replace, name, function)
        yield watches


def _copy(function):
    copied = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def compare(student, seeds):
    """The student's compare(seeds), with the answers that each algorithm sampled and the models that it left behind."""
    with watched(student, ("grpo_step", "dapo_step")) as watches:
        result = student.compare(list(seeds))
    keys = ("answers", "start", "end", "reference_moved")
    runs = {name.removesuffix("_step"): [{key: run[key] for key in keys} for run in watch.runs[:20]]
            for name, watch in watches.items()}
    return {"result": result, "runs": runs}
