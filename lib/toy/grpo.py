"""GRPO, each ingredient a function of its own, and the step that puts them together.

B prompts, G answers a prompt, N = B * G answers, T tokens an answer at most. The objective (DeepSeekMath,
arXiv:2402.03300, equation 3; the separate upper clip, the token averaging and dynamic sampling are DAPO's,
arXiv:2503.14476, sections 3.1-3.3) is maximised:

    sum over tokens of  weight * ( min(ratio * A, clip(ratio, 1 - eps_low, 1 + eps_high) * A) - beta * KL )
"""
from collections.abc import Callable
from typing import NamedTuple

import torch

from lib.i18n import tr
from lib.toy.halves import add_gradients, in_halves
from lib.toy.policy import TinyLM, sample, token_logprobs
from lib.toy.reward import rule_rewards
from lib.toy.task import MAX_NEW, answer_mask, prompt_tokens, random_digits

LOSSES = ("grpo", "dapo", "dr_grpo")   # TRL's words for `loss_type`
STEP_METRICS = ("loss", "kl", "entropy", "clip_ratio/region_mean", "grad_norm")


# ── the ingredients ───────────────────────────────────────────────────────────────────────────────────────────────────
def group_advantages(rewards: torch.Tensor, eps: float = 1e-4) -> torch.Tensor:
    """How much better than its own group each answer is: rewards [B, G] -> advantages [B, G].

    (reward - group mean) / (group std + eps), with the population std (divided by G, not G - 1). Equal rewards give
    exactly 0: in float64, since the float32 mean of eight times 0.3 is not 0.3, and eps would make much of the difference.
    """
    r = rewards.double()
    mean, std = r.mean(1, keepdim=True), r.std(1, keepdim=True, correction=0)
    return ((r - mean) / (std + eps)).to(rewards.dtype)


def kl_k3(logp: torch.Tensor, logp_ref: torch.Tensor) -> torch.Tensor:
    """The k3 estimate of KL(policy || reference) at each sampled token: [N, T], [N, T] -> [N, T], never negative.

    exp(d) - 1 - d with d = logp_ref - logp (Schulman, 'Approximating KL Divergence', 2020). expm1(d) is exp(d) - 1
    without its rounding, which near d = 0 would make some estimates negative.
    """
    d = logp_ref - logp
    return torch.expm1(d) - d


def clipped_objective(logp, logp_old, advantages, eps_low: float = 0.2, eps_high: float = 0.2) -> torch.Tensor:
    """PPO's clipped surrogate a token, to be maximised: [N, T], [N, T], advantages [N] -> [N, T].

    min(ratio * A, clip(ratio, 1 - eps_low, 1 + eps_high) * A): a token gains nothing by moving further than the clip
    range in the direction that its advantage asks for (PPO, arXiv:1707.06347, equation 7).
    """
    ratio = torch.exp(logp - logp_old)
    clipped = ratio.clamp(1 - eps_low, 1 + eps_high)
    return torch.min(ratio * advantages[:, None], clipped * advantages[:, None])


def is_clipped(logp, logp_old, advantages, eps_low: float = 0.2, eps_high: float = 0.2) -> torch.Tensor:
    """At which tokens the clip removes the gradient: [N, T], [N, T], advantages [N] -> [N, T] bool."""
    ratio, advantages = torch.exp(logp - logp_old), advantages[:, None]
    return (ratio < 1 - eps_low) & (advantages < 0) | (ratio > 1 + eps_high) & (advantages > 0)


def token_weights(mask: torch.Tensor, loss: str = "grpo") -> torch.Tensor:
    """What each token's objective is multiplied by in the total: mask [N, T] -> weights [N, T], 0 on padding.

    'grpo'     1 / (N * length of its answer): every answer weighs the same, a token of a long answer weighs less
    'dapo'     1 / (all answer tokens of the batch): every token weighs the same
    'dr_grpo'  1 / (N * MAX_NEW): every token weighs the same, and the same in every batch (Dr. GRPO, arXiv:2503.20783;
               its other half, advantages without the std, is not part of TRL's word and not of this one)
    """
    if loss == "grpo":
        return mask / mask.sum(1, keepdim=True) / len(mask)
    if loss == "dapo":
        return mask / mask.sum()
    if loss == "dr_grpo":
        return mask / (len(mask) * MAX_NEW)
    raise ValueError(tr(en=f"loss {loss!r} does not exist: choose one of {', '.join(LOSSES)}",
                        ru=f"loss {loss!r} не существует: выберите из {', '.join(LOSSES)}"))


def length_bonus(correct: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Kimi k1.5's length reward: correct [B, G] 0 or 1, lengths [B, G] -> [B, G] in -0.5..0.5.

    0.5 for the shortest answer of the group, -0.5 for the longest; a wrong answer is only ever charged, never paid;
    0 where all are of one length (arXiv:2501.12599, section 2.3.3).
    """
    lengths = lengths.float()
    shortest, longest = lengths.amin(1, keepdim=True), lengths.amax(1, keepdim=True)
    bonus = 0.5 - (lengths - shortest) / (longest - shortest).clamp(min=1)
    bonus = torch.where(correct > 0, bonus, bonus.clamp(max=0))
    return torch.where(longest > shortest, bonus, 0.0)


def degenerate(rewards: torch.Tensor) -> torch.Tensor:
    """Which groups carry no signal, all their rewards being equal: [B, G] -> [B] bool."""
    return rewards.amax(1) == rewards.amin(1)


# ── the rollout ───────────────────────────────────────────────────────────────────────────────────────────────────────
class Batch(NamedTuple):
    """B groups of G answers. `batch.groups(index)` takes some of the groups out of it."""

    prompts: torch.Tensor    # [B, P] token ids
    answers: torch.Tensor    # [B, G, T] token ids
    lengths: torch.Tensor    # [B, G]
    logp_old: torch.Tensor   # [B, G, T] under the policy that sampled
    correct: torch.Tensor    # [B, G] the rule reward
    rewards: torch.Tensor    # [B, G] what is learned from: the rule reward and, where asked for, the length bonus

    def groups(self, index) -> "Batch":
        return Batch(*(field[index] for field in self))


def rollout(policy: TinyLM, prompts: int, group_size: int, rng: torch.Generator, length_penalty: float = 0.0) -> Batch:
    """Draws tasks, samples a group of answers to each and pays them by the rule."""
    digits = random_digits(prompts, rng)
    tokens = prompt_tokens(digits)
    answers = sample(policy, tokens, group_size, rng)
    correct = rule_rewards(digits.repeat_interleave(group_size, 0), answers.tokens, answers.lengths)
    shape = (prompts, group_size)
    correct, lengths = correct.view(shape), answers.lengths.view(shape)
    rewards = correct + length_penalty * length_bonus(correct, lengths) if length_penalty else correct
    return Batch(tokens, answers.tokens.view(*shape, -1), lengths, answers.logp.view(*shape, -1), correct, rewards)


def dynamic_sampling(draw: Callable[[], Batch], size: int, max_rounds: int = 8) -> tuple[Batch, Batch]:
    """Draws batches until `size` groups carry a signal, or max_rounds are spent: (those groups, all that was drawn).

    The first `size` groups whose rewards differ are kept; fewer (even none) where the rounds run out.
    """
    drawn = []
    for _ in range(max_rounds):
        drawn.append(draw())
        if sum(int((~degenerate(batch.rewards)).sum()) for batch in drawn) >= size:
            break
    everything = Batch(*(torch.cat(fields) for fields in zip(*drawn, strict=True)))
    kept = (~degenerate(everything.rewards)).nonzero()[:size, 0]
    return everything.groups(kept), everything


# ── the step ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def grpo_step(policy: TinyLM, reference: TinyLM, optimizer, batch: Batch, *, beta: float = 0.02, loss: str = "grpo",
              eps_low: float = 0.2, eps_high: float = 0.2, updates: int = 1) -> dict[str, float]:
    """Makes `updates` optimizer steps on a sampled batch; returns the loss and its metrics at the last of them."""
    B, G, _ = batch.answers.shape
    T = int(batch.lengths.max())                                         # columns behind the longest answer are cut off
    answers, logp_old = batch.answers[..., :T].flatten(0, 1), batch.logp_old[..., :T].flatten(0, 1)       # [N, T]
    advantages = group_advantages(batch.rewards).flatten()               # [N]
    mask = answer_mask(batch.lengths.flatten(), T)                       # [N, T]
    weights = token_weights(mask, loss)                                  # [N, T]
    logp_ref = reference_logprobs(reference, batch.prompts, answers)     # [N, T]

    def objective(groups):                                               # on one half of the groups
        rows = slice(groups.start * G, groups.stop * G)
        logp, entropy = token_logprobs(policy, batch.prompts[groups], answers[rows])
        kl = kl_k3(logp, logp_ref[rows])
        surrogate = clipped_objective(logp, logp_old[rows], advantages[rows], eps_low, eps_high)
        loss_share = -((surrogate - beta * kl) * weights[rows]).sum()
        clipped = is_clipped(logp, logp_old[rows], advantages[rows], eps_low, eps_high)
        means = [(x * mask[rows]).sum() / mask.sum() for x in (kl, entropy, clipped)]
        return loss_share, torch.stack([loss_share, *means]).detach()

    for _ in range(updates):
        metrics = sum(add_gradients(policy, objective, B)).tolist()
        grad_norm = torch.nn.utils.get_total_norm([p.grad for p in policy.parameters()]).item()
        optimizer.step()
    return dict(zip(STEP_METRICS, [*metrics, grad_norm], strict=True))


@torch.no_grad()
def reference_logprobs(reference, prompts, answers):
    """The frozen model's log-probs of the same answers: prompts [B, P], answers [N, T] -> [N, T]."""
    G = len(answers) // len(prompts)
    return torch.cat(in_halves(
        lambda half: token_logprobs(reference, prompts[half], answers[half.start * G : half.stop * G])[0], len(prompts)))
