"""What runs in the worker around the student's functions: the training loops. It holds no check and no expected value.

`student.f` is the student's function f; `student.ask(name, value)` is answered by the grader.
"""
import copy
import functools

import torch
from torch import nn

from lib.toy import policy as toy_policy
from lib.toy.policy import TinyLM

COUNT = {"answers": 0, "during": None}
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
    """One grpo_step for each batch of prompts [steps, B, 6]; returns the weights of both models and what the steps said."""
    policy, reference = load(weights), load(reference_weights).requires_grad_(False)
    optimizer = optimizer_for(policy, optimizer_name, lr)
    rows = [student.grpo_step(policy, reference, optimizer, batch, group_size, beta) for batch in prompts]
    return {"policy": state(policy), "reference": state(reference), "rows": rows}


def train_dapo(student, weights, steps, batch_size, group_size, max_rounds, optimizer_name, lr):
    """`steps` calls of dapo_step, whose prompts are given out by the grader."""
    policy = load(weights)
    optimizer = optimizer_for(policy, optimizer_name, lr)

    def next_prompts(n):
        return student.ask("next_prompts", int(n))

    rows = []
    for step in range(steps):
        student.ask("step", step)
        rows.append(student.dapo_step(policy, optimizer, next_prompts, batch_size, group_size, max_rounds=max_rounds))
    return {"policy": state(policy), "rows": rows}


def compare(student, seeds):
    """The student's compare(seeds), with the answers that each algorithm sampled and the models that it left behind."""
    runs = {"grpo": [], "dapo": []}
    names = {"grpo": "grpo_step", "dapo": "dapo_step"}
    own = {name: getattr(student, function) for name, function in names.items()}

    def watch(name):
        @functools.wraps(own[name])
        def step(policy, *arguments, **options):
            if not runs[name] or runs[name][-1]["model"] is not policy:
                runs[name].append({"model": policy, "start": state(policy), "answers": 0})
            before = COUNT["answers"]
            try:
                return own[name](policy, *arguments, **options)
            finally:
                runs[name][-1]["answers"] += COUNT["answers"] - before
        return step

    namespace = student.compare.__globals__
    try:
        namespace |= {function: watch(name) for name, function in names.items()}
        result = student.compare(list(seeds))
    finally:
        namespace |= {function: own[name] for name, function in names.items()}
    said = {name: [{"answers": run["answers"], "start": run["start"], "end": state(copy.deepcopy(run["model"]))}
                   for run in found[:20]] for name, found in runs.items()}
    return {"result": result, "runs": said}
