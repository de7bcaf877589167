"""Models and the plain reading of answers, for the tests of lib.toy."""
import copy

import pytest
import torch

from lib.toy.base import load_base
from lib.toy.policy import TinyLM


@pytest.fixture(scope="session")
def shipped():
    """The shipped base model of the lesson: do not change it, `base` is a copy to change."""
    return load_base(0.3)


@pytest.fixture
def base(shipped):
    return copy.deepcopy(shipped)


@pytest.fixture
def untrained():
    """A model with initial weights: it writes at random and is often cut off at the limit."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return TinyLM()


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(7)


@pytest.fixture(scope="session")
def plain_logprobs():
    """The oracle: each prompt and its answer read as one sequence, nothing shared, nothing split between cores.

    plain_logprobs(model, prompts [B, P], answers [N, T]) -> log-probs of every next token [N, T, V].
    """
    def read(model, prompts, answers):
        repeated = prompts.repeat_interleave(len(answers) // len(prompts), 0)
        logits, _ = model(torch.cat([repeated, answers], dim=1)[:, :-1])
        return logits[:, prompts.shape[1] - 1:].log_softmax(-1)
    return read
