"""The policy: an embedding, a one-layer GRU and a linear head, 77 069 parameters; how it samples, how it scores.

Everywhere below: B prompts, G answers a prompt, N = B * G answers in a row (the G answers of a prompt are neighbours),
T tokens an answer at most, V tokens in the vocabulary, H the size of the hidden state.
"""
from typing import NamedTuple

import torch
from torch import nn

from lib.toy.halves import in_halves
from lib.toy.task import DOT, MAX_NEW, V_IN, V_OUT


class TinyLM(nn.Module):
    """Not a transformer, but all that GRPO asks for: it samples token by token and knows the log-prob of each."""

    def __init__(self, d: int = 64, h: int = 128):
        super().__init__()
        self.emb = nn.Embedding(V_IN, d)
        self.rnn = nn.GRU(d, h, batch_first=True)
        self.head = nn.Linear(h, V_OUT)

    def forward(self, tokens, hidden=None):
        """tokens [N, T], hidden [1, N, H] -> logits of each next token [N, T, V], hidden after the last token."""
        states, hidden = self.rnn(self.emb(tokens), hidden)
        return self.head(states), hidden


class Answers(NamedTuple):
    """Sampled answers. Behind an answer's end: tokens are dots, log-probs are 0."""

    tokens: torch.Tensor    # [N, T] ids, the closing dot included
    lengths: torch.Tensor   # [N] tokens in each answer
    logp: torch.Tensor      # [N, T] log-prob of each token under the policy that sampled it


@torch.no_grad()
def sample(model: TinyLM, prompts: torch.Tensor, group_size: int, rng: torch.Generator) -> Answers:
    """Samples group_size answers to each prompt at temperature 1: prompts [B, P] -> Answers with N = B * group_size.

    The dice are thrown beforehand, so that how the batch is split between the cores cannot change an answer.
    """
    dice = torch.rand(len(prompts), group_size, MAX_NEW, generator=rng)
    halves = in_halves(lambda rows: _sample(model, prompts[rows], dice[rows].flatten(0, 1)), len(prompts))
    return Answers(*(torch.cat(parts) for parts in zip(*halves, strict=True)))


def _sample(model, prompts, dice):
    tokens = torch.full(dice.shape, DOT)
    logp = torch.zeros(dice.shape)
    lengths = torch.full((len(dice),), MAX_NEW)
    going = torch.arange(len(dice))                                  # the answers that have not ended yet
    logits, hidden = first_step(model, prompts, len(dice) // len(prompts))
    for t in range(MAX_NEW):
        probs = logits.softmax(-1)
        # lay the tokens' probabilities end to end on [0, 1]: the die picks the token on whose segment it lands
        token = (probs.cumsum(-1) < dice[going, t, None]).sum(-1).clamp(max=V_OUT - 1)
        tokens[going, t] = token
        logp[going, t] = probs.gather(1, token[:, None])[:, 0].log()
        alive = token != DOT
        lengths[going[~alive]] = t + 1
        going = going[alive]
        if t == MAX_NEW - 1 or len(going) == 0:
            break
        logits, hidden = model(token[alive, None], hidden[:, alive])   # what came before is already in hidden
        logits = logits[:, 0]
    return tokens, lengths, logp


def first_step(model, prompts, group_size):
    """Reads each prompt once for all its answers: logits of the answers' first token [N, V], hidden [1, N, H]."""
    logits, hidden = model(prompts)
    return logits[:, -1].repeat_interleave(group_size, 0), hidden.repeat_interleave(group_size, 1)


def token_logprobs(model: TinyLM, prompts: torch.Tensor, answers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """prompts [B, P], answers [N, T] -> log-prob of each answer token [N, T] and the entropy (nats) there [N, T].

    Column t is the prediction of answer token t. Columns behind an answer's end hold numbers without meaning: mask them.
    """
    first, hidden = first_step(model, prompts, len(answers) // len(prompts))
    logits = first[:, None]
    if answers.shape[1] > 1:                                             # else every answer is a lone dot
        rest, _ = model(answers[:, :-1], hidden)
        logits = torch.cat([logits, rest], dim=1)
    logp = logits.log_softmax(-1)                                        # [N, T, V]
    entropy = -(logp.detach().exp() * logp.detach()).sum(-1)             # logged, not learned from
    return logp.gather(2, answers[:, :, None])[:, :, 0], entropy
