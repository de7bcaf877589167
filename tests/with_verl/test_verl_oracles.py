"""verl's own functions as oracles for the course's, and the factor by which they differ where they do."""
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lib.toy import grpo

pytestmark = pytest.mark.filterwarnings("ignore")
B, G, T = 4, 8, 6


@pytest.fixture
def batch():
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, T + 1, (B * G,), generator=rng)
    mask = (torch.arange(T) < lengths[:, None]).float()
    rewards = (torch.rand(B, G, generator=rng) < 0.4).float()
    rewards[0] = 1.0                                              # a degenerate group
    logp, old, ref = (-torch.rand(B * G, T, generator=rng) for _ in range(3))
    per_token = torch.zeros(B * G, T)
    per_token[torch.arange(B * G), lengths - 1] = rewards.flatten()
    return SimpleNamespace(mask=mask, rewards=rewards, logp=logp, old=old, ref=ref, per_token=per_token,
                           groups=np.repeat(np.arange(B), G).astype(object))


def test_advantages_differ_by_the_std_alone(batch):
    """verl divides by the unbiased std + 1e-6, the course by the population's + 1e-4: a factor of sqrt(G / (G - 1))."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    theirs = compute_grpo_outcome_advantage(batch.per_token.clone(), batch.mask, batch.groups)[0][:, 0].view(B, G)
    ours = grpo.group_advantages(batch.rewards)
    assert theirs[0].tolist() == ours[0].tolist() == [0.0] * G
    mixed = ~grpo.degenerate(batch.rewards)
    assert mixed.sum() >= 2
    torch.testing.assert_close(ours[mixed] / theirs[mixed], torch.full((int(mixed.sum()), G), math.sqrt(G / (G - 1))),
                               rtol=1e-3, atol=0)


def test_dr_grpo_leaves_the_std_out(batch):
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    theirs = compute_grpo_outcome_advantage(batch.per_token.clone(), batch.mask, batch.groups,
                                            norm_adv_by_std_in_grpo=False)[0][:, 0].view(B, G)
    torch.testing.assert_close(theirs, batch.rewards - batch.rewards.mean(1, keepdim=True))


@pytest.mark.parametrize(("ours", "theirs"), [("grpo", "seq-mean-token-mean"), ("dapo", "token-mean")])
def test_averages_agree(batch, ours, theirs):
    from verl.trainer.ppo.core_algos import agg_loss

    x = torch.randn(B * G, T, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close((x * grpo.token_weights(batch.mask, ours)).sum(), agg_loss(x, batch.mask, theirs))


def test_dr_grpos_average_differs_by_the_length_it_divides_by(batch):
    from verl.trainer.ppo.core_algos import agg_loss

    x = torch.randn(B * G, T, generator=torch.Generator().manual_seed(1))
    theirs = agg_loss(x, batch.mask, "seq-mean-token-sum-norm", loss_scale_factor=grpo.MAX_NEW)
    torch.testing.assert_close((x * grpo.token_weights(batch.mask, "dr_grpo")).sum(), theirs)


def test_k3_is_low_var_kl(batch):
    from verl.trainer.ppo.core_algos import kl_penalty

    torch.testing.assert_close(grpo.kl_k3(batch.logp, batch.ref), kl_penalty(batch.logp, batch.ref, "low_var_kl"))


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.2), (0.2, 0.28)])
def test_the_clipped_objective_agrees_and_so_does_its_gradient(batch, low, high):
    """Where no ratio is beyond verl's dual clip (3.0), which the course does not have."""
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import ActorConfig

    config = ActorConfig(strategy="fsdp", rollout_n=G, ppo_micro_batch_size_per_gpu=8, clip_ratio=0.2, clip_ratio_low=low,
                         clip_ratio_high=high, use_dynamic_bsz=False)
    advantages = grpo.group_advantages(batch.rewards).flatten()
    mine, others = (batch.logp.clone().requires_grad_() for _ in range(2))
    loss = -(grpo.clipped_objective(mine, batch.old, advantages, low, high) * grpo.token_weights(batch.mask, "dapo")).sum()
    theirs, metrics = get_policy_loss_fn("vanilla")(
        old_log_prob=batch.old, log_prob=others, advantages=advantages[:, None].expand(-1, T), response_mask=batch.mask,
        loss_agg_mode="token-mean", config=config)
    torch.testing.assert_close(loss, theirs)
    loss.backward()
    theirs.backward()
    torch.testing.assert_close(mine.grad, others.grad)
    assert mine.grad.abs().sum() > 0
    clipped = grpo.is_clipped(batch.logp, batch.old, advantages, low, high).float()
    torch.testing.assert_close((clipped * batch.mask).sum() / batch.mask.sum(), torch.tensor(metrics["actor/pg_clipfrac"]))


def test_dual_clip_is_what_the_course_leaves_out():
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import ActorConfig

    config = ActorConfig(strategy="fsdp", rollout_n=2, ppo_micro_batch_size_per_gpu=2, use_dynamic_bsz=False)
    old, new, advantage = torch.tensor([[-3.0]]), torch.tensor([[-1.0]]), torch.tensor([-1.0])       # ratio e^2 = 7.4
    loss, _ = get_policy_loss_fn("vanilla")(old_log_prob=old, log_prob=new, advantages=advantage[:, None],
                                            response_mask=torch.ones(1, 1), loss_agg_mode="token-mean", config=config)
    assert loss.item() == pytest.approx(3.0)
    assert -grpo.clipped_objective(new, old, advantage).item() == pytest.approx(math.e**2, rel=1e-5)
