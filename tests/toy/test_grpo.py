"""GRPO: each ingredient against a closed form or a loop, and against the faults seen in published code; then the step."""
import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.toy import grpo
from lib.toy.grpo import (
    LOSSES,
    STEP_METRICS,
    Batch,
    clipped_objective,
    degenerate,
    dynamic_sampling,
    group_advantages,
    grpo_step,
    is_clipped,
    kl_k3,
    length_bonus,
    rollout,
    token_weights,
)
from lib.toy.reward import rule_reward
from lib.toy.task import DOT, EQUALS, MAX_NEW, answer_mask, answer_texts, make_prompt


def close(actual, expected, atol=1e-6):
    """Shape and dtype first, then values: nothing is broadcast."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


# ── group advantages ──────────────────────────────────────────────────────────────────────────────────────────────────
REWARDS = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0.5, -0.25, 1, 0.75], [0.3, 0.3, 0.3, 0.3],
                        [0.001, 0, 0, 0]])


def advantages_by_loop(rewards, eps=1e-4):
    """In float64, one group at a time."""
    result = []
    for group in rewards.double().tolist():
        mean = sum(group) / len(group)
        std = math.sqrt(sum((r - mean) ** 2 for r in group) / len(group))
        result.append([(r - mean) / (std + eps) for r in group])
    return torch.tensor(result, dtype=torch.float64)


def check_advantages(advantages):
    found = advantages(REWARDS)
    close(found, advantages_by_loop(REWARDS).float(), atol=5e-6)
    assert found[2:4].tolist() == [[0.0] * 4] * 2          # equal rewards: exactly nothing to learn
    close(advantages(REWARDS[:, :2]), advantages_by_loop(REWARDS[:, :2]).float(), atol=5e-6)


def normalised(rewards, std, eps=1e-4):
    return (rewards - rewards.mean(1, keepdim=True)) / (std + eps)


FAULTY_ADVANTAGES = {
    "sample std": lambda r: normalised(r, r.std(1, keepdim=True)),
    "eps inside the root": lambda r: normalised(r, (r.var(1, keepdim=True, correction=0) + 1e-4).sqrt(), 0),
    "no eps": lambda r: normalised(r, r.std(1, keepdim=True, correction=0), 0),
    "another eps": lambda r: normalised(r, r.std(1, keepdim=True, correction=0), 1e-6),
    "no std": lambda r: r - r.mean(1, keepdim=True),
    "std of the batch": lambda r: normalised(r, r.std(correction=0)),
    "mean of the batch": lambda r: (r - r.mean()) / (r.std(1, keepdim=True, correction=0) + 1e-4),
    "over prompts": lambda r: group_advantages(r.T).T,
    "a shape that broadcasts": lambda r: group_advantages(r)[None],
    "float64": lambda r: group_advantages(r.double()),
    "reversed": lambda r: -group_advantages(r),
}


def test_advantages():
    check_advantages(group_advantages)


@pytest.mark.parametrize("fault", FAULTY_ADVANTAGES)
def test_faulty_advantages_are_found(fault):
    with pytest.raises(AssertionError):
        check_advantages(FAULTY_ADVANTAGES[fault])


@given(st.lists(st.lists(st.floats(-2, 2, width=32), min_size=5, max_size=5), min_size=1, max_size=6))
def test_advantages_of_any_rewards(rewards):
    rewards = torch.tensor(rewards)
    found = group_advantages(rewards)
    assert found.isfinite().all()
    close(found.mean(1), torch.zeros(len(rewards)), atol=2e-3)     # above float32's rounding / eps
    close(found.double(), advantages_by_loop(rewards), atol=2e-3)


# ── KL ────────────────────────────────────────────────────────────────────────────────────────────────────────────────
POLICY = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
REFERENCE = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)


def check_kl(estimator):
    """Mean under the policy, its gradient, the gradient at a sampled token, and the sign."""
    logits = POLICY.log().requires_grad_()
    logp = logits.log_softmax(0)
    expected = (logp.exp() * estimator(logp[None], REFERENCE.log()[None])[0]).sum()      # sum over tokens of p * k
    exact = (logp.exp() * (logp - REFERENCE.log())).sum()
    close(expected, exact, atol=1e-12)
    assert round(expected.item(), 4) == 0.3734
    gradients = [torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (expected, exact)]
    assert gradients[1].abs().min() > 0.05                 # the tolerance below is far under every entry
    close(*gradients, atol=1e-9)

    d = torch.linspace(-3, 3, 13, dtype=torch.float64)     # at a sampled token the gradient is 1 - exp(d)
    logp = (-d).requires_grad_()
    values = estimator(logp[None], torch.zeros(1, 13, dtype=torch.float64))
    assert values.shape == (1, 13)
    assert (values >= 0).all()
    assert values[0, 6] == 0                               # equal log-probs
    close(torch.autograd.grad(values.sum(), logp)[0], 1 - d.exp(), atol=1e-9)


FAULTY_KL = {
    "k3, reversed": lambda logp, ref: kl_k3(ref, logp),
    "k1": lambda logp, ref: logp - ref,
    "k1, wrong sign": lambda logp, ref: ref - logp,
    "k2": lambda logp, ref: (logp - ref) ** 2 / 2,
    "k3 without the -1": lambda logp, ref: kl_k3(logp, ref) + 1,
    "no gradient": lambda logp, ref: kl_k3(logp.detach(), ref) + 0 * logp,
    "gradient through exp only": lambda logp, ref: (ref - logp).exp() - (ref - logp).detach() - 1,
    "one value for all": lambda logp, ref: kl_k3(logp, ref).mean(1, keepdim=True),
}


def test_kl():
    check_kl(kl_k3)


@pytest.mark.parametrize("fault", FAULTY_KL)
def test_faulty_kl_is_found(fault):
    with pytest.raises(AssertionError):
        check_kl(FAULTY_KL[fault])


# ── the clipped objective ─────────────────────────────────────────────────────────────────────────────────────────────
#       A, ratio, eps_low, eps_high, value, is the gradient cut?
CLIP = [
    (-1.0, 5.0, 0.2, 0.2, -5.0, False),     # a bad answer that became likelier: all the force to push it back
    (-1.0, 0.5, 0.2, 0.2, -0.8, True),
    (-1.0, 0.9, 0.2, 0.2, -0.9, False),
    (-1.0, 1.1, 0.2, 0.2, -1.1, False),
    (1.0, 1.5, 0.2, 0.2, 1.2, True),
    (1.0, 0.5, 0.2, 0.2, 0.5, False),
    (1.0, 1.1, 0.2, 0.2, 1.1, False),
    (1.0, 0.1, 0.2, 0.2, 0.1, False),
    (2.0, 1.25, 0.2, 0.28, 2.5, False),     # Clip-Higher: the upper limit alone moves
    (2.0, 1.25, 0.28, 0.2, 2.4, True),
    (1.0, 1.5, 0.2, 0.28, 1.28, True),
    (-1.0, 0.75, 0.28, 0.2, -0.75, False),
    (-1.0, 0.75, 0.2, 0.28, -0.8, True),
    (-0.5, 0.5, 0.3, 0.1, -0.35, True),
    (0.0, 3.0, 0.2, 0.2, 0.0, False),
]


def check_clip(objective, clipped):
    for A, ratio, low, high, value, cut in CLIP:
        logp = torch.tensor([[math.log(ratio) - 1.0]], requires_grad=True)
        old, advantage = torch.tensor([[-1.0]]), torch.tensor([A])
        found = objective(logp, old, advantage, low, high)
        close(found, torch.tensor([[value]]))
        gradient, = torch.autograd.grad(found.sum(), logp)
        close(gradient, torch.tensor([[0.0 if cut else ratio * A]]), atol=2e-6)   # A times the gradient of the ratio
        assert clipped(logp, old, advantage, low, high).tolist() == [[cut]]


def surrogate(choose=torch.min, clamp=lambda ratio, low, high: ratio.clamp(1 - low, 1 + high), sign=1):
    def objective(logp, logp_old, advantages, low, high):
        ratio, A = (sign * (logp - logp_old)).exp(), advantages[:, None]
        return choose(ratio * A, clamp(ratio, low, high) * A)
    return objective


FAULTY_CLIP = {
    "maximum when A < 0": (surrogate(lambda a, b: torch.where(a + b < 0, torch.max(a, b), torch.min(a, b))), is_clipped),
    "maximum": (surrogate(torch.max), is_clipped),
    "always clipped": (surrogate(lambda plain, clipped: clipped), is_clipped),
    "never clipped": (surrogate(lambda plain, clipped: plain), is_clipped),
    "low and high exchanged": (lambda p, q, a, low, high: clipped_objective(p, q, a, high, low), is_clipped),
    "one eps for both": (lambda p, q, a, low, high: clipped_objective(p, q, a, low, low), is_clipped),
    "old over new": (surrogate(sign=-1), is_clipped),
    "the sign of A ignored": (clipped_objective, lambda p, q, a, low, high: is_clipped(p, q, a, low, high)
                                                                            | is_clipped(p, q, -a, low, high)),
    "the signs exchanged": (clipped_objective, lambda p, q, a, low, high: is_clipped(p, q, -a, low, high)),
    "its limits exchanged": (clipped_objective, lambda p, q, a, low, high: is_clipped(p, q, a, high, low)),
    "a zero gradient": (lambda p, q, a, low, high: clipped_objective(p.detach(), q, a, low, high) + 0 * p, is_clipped),
}


def test_clip():
    check_clip(clipped_objective, is_clipped)


@pytest.mark.parametrize("fault", FAULTY_CLIP)
def test_a_faulty_clip_is_found(fault):
    with pytest.raises(AssertionError):
        check_clip(*FAULTY_CLIP[fault])


def test_each_row_has_its_own_advantage():
    logp = torch.tensor([[0.0, 1.0, -1.0], [0.0, 1.0, -1.0]])
    found = clipped_objective(logp, torch.zeros(2, 3), torch.tensor([1.0, -1.0]))
    close(found, torch.tensor([[1, 1.2, math.exp(-1)], [-1, -math.e, -0.8]]))
    cut = is_clipped(logp, torch.zeros(2, 3), torch.tensor([1.0, -1.0]))
    assert cut.tolist() == [[False, True, False], [False, False, True]]


def test_the_gradient_is_zero_exactly_where_it_is_said_to_be_clipped(rng):
    logp = torch.randn(40, 25, generator=rng).requires_grad_()
    old, advantages = torch.zeros(40, 25), torch.randn(40, generator=rng)
    for low, high in ((0.2, 0.2), (0.1, 0.5)):
        gradient, = torch.autograd.grad(clipped_objective(logp, old, advantages, low, high).sum(), logp)
        said = is_clipped(logp, old, advantages, low, high)
        assert said.equal(gradient == 0)
        assert 0.2 < said.float().mean() < 0.8


# ── weights of tokens ─────────────────────────────────────────────────────────────────────────────────────────────────
MASK = torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]])
WEIGHTS = {
    "grpo": [[1 / 4, 0, 0, 0], [1 / 12, 1 / 12, 1 / 12, 0], [1 / 16, 1 / 16, 1 / 16, 1 / 16], [1 / 8, 1 / 8, 0, 0]],
    "dapo": [[1 / 10, 0, 0, 0], [1 / 10, 1 / 10, 1 / 10, 0], [1 / 10] * 4, [1 / 10, 1 / 10, 0, 0]],
    "dr_grpo": [[1 / 40, 0, 0, 0], [1 / 40, 1 / 40, 1 / 40, 0], [1 / 40] * 4, [1 / 40, 1 / 40, 0, 0]],
}
SUMS = {"grpo": 1.0, "dapo": 1.0, "dr_grpo": 10 / (4 * MAX_NEW)}


def check_weights(weights):
    for loss in LOSSES:
        close(weights(MASK, loss), torch.tensor(WEIGHTS[loss]), atol=1e-8)
        close(weights(MASK, loss).sum(), torch.tensor(SUMS[loss]))
    close(weights(MASK[:1], "grpo"), weights(MASK[:1], "dapo"))      # with one answer the two agree


FAULTY_WEIGHTS = {
    "grpo and dapo exchanged": lambda m, loss: token_weights(m, {"grpo": "dapo", "dapo": "grpo"}.get(loss, loss)),
    "a sum over answers, not a mean": lambda m, loss: token_weights(m, loss) * (len(m) if loss == "grpo" else 1),
    "padding counts": lambda m, loss: token_weights(torch.ones_like(m), loss),
    "divided by the width of the batch": lambda m, loss: m / m.numel() if loss == "dr_grpo" else token_weights(m, loss),
    "one weight for all columns": lambda m, loss: token_weights(m, loss).amax(1, keepdim=True),
}


def test_weights():
    assert set(LOSSES) == set(WEIGHTS)
    check_weights(token_weights)


@pytest.mark.parametrize("fault", FAULTY_WEIGHTS)
def test_faulty_weights_are_found(fault):
    with pytest.raises(AssertionError):
        check_weights(FAULTY_WEIGHTS[fault])


def test_an_unknown_loss_is_an_error(each_language):
    with pytest.raises(ValueError, match={"en": "does not exist", "ru": "не существует"}[each_language]) as error:
        token_weights(MASK, "ppo")
    assert all(word in str(error.value) for word in ("'ppo'", *LOSSES))


# ── length bonus, degenerate groups ───────────────────────────────────────────────────────────────────────────────────
def check_bonus(bonus):
    """By hand from Kimi k1.5: lambda = 0.5 - (length - shortest) / (longest - shortest); min(0, lambda) where wrong."""
    correct = torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    lengths = torch.tensor([[3, 7, 3, 5], [9, 3, 5, 7], [4, 4, 4, 4], [2, 2, 3, 3], [6, 2, 4, 10]])
    expected = torch.tensor([[0.5, -0.5, 0, 0], [-0.5, 0, 0, 0.5 - 4 / 6], [0, 0, 0, 0], [0.5, 0, -0.5, -0.5],
                             [0, 0, 0, -0.5]])
    close(bonus(correct, lengths), expected)


FAULTY_BONUS = {
    "wrong answers are paid": lambda c, n: length_bonus(torch.ones_like(c), n),
    "wrong answers are left alone": lambda c, n: length_bonus(c, n) * c,
    "longer is better": lambda c, n: length_bonus(c, 20 - n),
    "over the batch": lambda c, n: length_bonus(c.view(1, -1), n.view(1, -1)).view_as(c),
    "0.5 where all are of one length": lambda c, n: torch.where(n.amax(1, True) == n.amin(1, True), 0.5, length_bonus(c, n)),
}


def test_length_bonus():
    check_bonus(length_bonus)


@pytest.mark.parametrize("fault", FAULTY_BONUS)
def test_a_faulty_length_bonus_is_found(fault):
    with pytest.raises(AssertionError):
        check_bonus(FAULTY_BONUS[fault])


def test_degenerate_groups():
    rewards = torch.tensor([[0.0, 0, 0], [1, 1, 1], [1, 0, 1], [0.5, 0.5, 0.5], [0, 0, -0.25]])
    assert degenerate(rewards).tolist() == [True, True, False, True, False]


def test_a_rollout_is_scored_by_the_rule_and_paid_with_the_bonus(base):
    plain, paid = (rollout(base, 12, 6, torch.Generator().manual_seed(1), penalty) for penalty in (0.0, 0.3))
    assert plain.answers.shape == plain.logp_old.shape == (12, 6, MAX_NEW)
    assert (plain.prompts[:, -1] == EQUALS).all()
    for digits, answers, lengths, correct in zip(plain.prompts[:, 1:5].tolist(), plain.answers, plain.lengths, plain.correct,
                                                 strict=True):
        assert correct.tolist() == [rule_reward(make_prompt(digits), text) for text in answer_texts(answers, lengths)]
    assert 0 < plain.correct.mean() < 1
    assert plain.rewards.equal(plain.correct)
    assert paid.correct.equal(plain.correct)
    close(paid.rewards, plain.correct + 0.3 * length_bonus(plain.correct, plain.lengths))
    assert not paid.rewards.equal(plain.rewards)


def test_groups_of_a_batch(base, rng):
    batch = rollout(base, 5, 3, rng)
    some = batch.groups(torch.tensor([4, 1]))
    for field, whole in zip(some, batch, strict=True):
        assert field.equal(whole[[4, 1]])


# ── dynamic sampling ──────────────────────────────────────────────────────────────────────────────────────────────────
class Deck:
    """Deals prepared batches; prompts number the groups in the order dealt, rewards are mixed where `mixed` says so."""

    def __init__(self, rounds):
        self.rounds, self.count, self.groups = rounds, 0, 0

    def __call__(self):
        mixed = self.rounds[self.count % len(self.rounds)]
        n = len(mixed)
        numbers = torch.arange(self.groups, self.groups + n)
        self.count, self.groups = self.count + 1, self.groups + n
        rewards = torch.tensor([[1.0, 0.0] if m else [float(i % 2)] * 2 for i, m in enumerate(mixed)]).view(n, 2)
        blank = torch.zeros(n, 2, 3)
        return Batch(numbers[:, None], blank.long(), blank[..., 0].long(), blank, rewards, rewards)


def check_dynamic_sampling(sampling, rounds, size, max_rounds):
    """Against a loop: which groups are kept, in which order, after how many draws."""
    deck = Deck(rounds)
    kept, everything = sampling(deck, size, max_rounds)
    wanted, number, draws = [], 0, 0
    while draws < max_rounds and len(wanted) < size:
        for mixed in rounds[draws % len(rounds)]:
            wanted += [number] if mixed else []
            number += 1
        draws += 1
    assert deck.count == draws
    assert kept.prompts[:, 0].tolist() == wanted[:size]
    assert everything.prompts[:, 0].tolist() == list(range(number))
    assert not degenerate(kept.rewards).any()
    assert all(len(field) == len(kept.prompts) for field in kept)


HANDS = [
    ([[True, False, True, False]], 2, 8),                       # enough at once
    ([[True, False, True, True]], 2, 8),                        # the first ones are taken
    ([[False, True], [True, False], [False, False]], 2, 8),     # a second round
    ([[False, True], [False, False]], 4, 5),                    # fewer than asked for
    ([[False, False]], 3, 4),                                   # none at all
    ([[True, True]], 5, 1),                                     # one round only
]


@pytest.mark.parametrize("hand", HANDS)
def test_dynamic_sampling(hand):
    check_dynamic_sampling(dynamic_sampling, *hand)


ROUNDS = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=4))


@given(ROUNDS, st.integers(1, 9), st.integers(1, 6))
def test_dynamic_sampling_of_any_draws(rounds, size, max_rounds):
    check_dynamic_sampling(dynamic_sampling, rounds, size, max_rounds)


FAULTY_SAMPLING = {
    "keeps degenerate groups": lambda draw, size, rounds: (lambda k, e: (e.groups(slice(0, size)), e))(
        *dynamic_sampling(draw, size, rounds)),
    "takes the last ones": lambda draw, size, rounds: (lambda k, e: (
        e.groups((~degenerate(e.rewards)).nonzero()[-size:, 0]), e))(*dynamic_sampling(draw, size, rounds)),
    "draws all rounds": lambda draw, size, rounds: (lambda k, e: (k.groups(slice(0, size)), e))(
        *dynamic_sampling(draw, 10_000, rounds)),
    "draws a round too many": lambda draw, size, rounds: dynamic_sampling(draw, size, rounds + 1),
    "keeps more than asked for": lambda draw, size, rounds: (lambda k, e: (e.groups(~degenerate(e.rewards)), e))(
        *dynamic_sampling(draw, size, rounds)),
    "forgets what it dropped": lambda draw, size, rounds: (dynamic_sampling(draw, size, rounds)[0],) * 2,
}


@pytest.mark.parametrize("fault", FAULTY_SAMPLING)
def test_faulty_dynamic_sampling_is_found(fault):
    def all_hands():
        for hand in HANDS:
            check_dynamic_sampling(FAULTY_SAMPLING[fault], *hand)
    with pytest.raises(AssertionError):
        all_hands()


# ── the step, against plain autograd ──────────────────────────────────────────────────────────────────────────────────
class Still:
    """An optimizer that leaves the policy as it is, so that its gradients can be looked at."""

    def step(self):
        pass


def perturbed(model, scale=0.03, seed=5):
    """A policy some way from `model`: ratios are no longer 1 and the KL is not 0."""
    rng = torch.Generator().manual_seed(seed)
    policy = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=rng)
    return policy


@pytest.fixture
def plain_step(plain_logprobs):
    """The loss and metrics of grpo_step as plain autograd over the whole batch in float64: no halves, no shared prompts,
    no column cut off, each ingredient written out again."""
    def step(policy, reference, batch, beta=0.02, loss="grpo", eps_low=0.2, eps_high=0.2):
        policy = copy.deepcopy(policy).double()
        answers = batch.answers.flatten(0, 1)
        N, T = answers.shape
        lengths = batch.lengths.flatten()
        mask = torch.tensor([[float(t < n) for t in range(T)] for n in lengths.tolist()], dtype=torch.float64)
        A = advantages_by_loop(batch.rewards).flatten()[:, None]

        def gather(logp):
            return logp.gather(2, answers[:, :, None])[..., 0]

        logp = plain_logprobs(policy, batch.prompts, answers)
        with torch.no_grad():
            ref = gather(plain_logprobs(copy.deepcopy(reference).double(), batch.prompts, answers))
        entropy = -(logp.exp() * logp).sum(-1)
        ratio = (gather(logp) - batch.logp_old.flatten(0, 1).double()).exp()
        kl = (ref - gather(logp)).exp() - (ref - gather(logp)) - 1
        cut = (A > 0) & (ratio > 1 + eps_high) | (A < 0) & (ratio < 1 - eps_low)
        per_token = torch.where(cut, torch.where(A > 0, 1 + eps_high, 1 - eps_low), ratio) * A - beta * kl
        objective = {"grpo": ((per_token * mask).sum(1) / mask.sum(1)).mean(),
                     "dapo": (per_token * mask).sum() / mask.sum(),
                     "dr_grpo": (per_token * mask).sum() / (N * MAX_NEW)}[loss]
        gradients = torch.autograd.grad(-objective, list(policy.parameters()))
        metrics = {"loss": -objective.item(), **{name: ((x * mask).sum() / mask.sum()).item() for name, x in (
            ("kl", kl), ("entropy", entropy), ("clip_ratio/region_mean", cut.double()))},
            "grad_norm": math.sqrt(sum((g ** 2).sum().item() for g in gradients))}
        return metrics, gradients
    return step


def check_step(policy, reference, batch, plain_step, step=grpo_step, **settings):
    """Metrics and every parameter's gradient, the latter within 1e-4 of the whole gradient's norm."""
    metrics = step(policy, reference, Still(), batch, **settings)
    expected, gradients = plain_step(policy, reference, batch, **settings)
    assert set(metrics) == set(STEP_METRICS)
    assert metrics == pytest.approx(expected, rel=2e-4, abs=2e-6)
    assert expected["grad_norm"] > 1e-2
    for parameter, gradient in zip(policy.parameters(), gradients, strict=True):
        close(parameter.grad, gradient.float(), atol=1e-4 * expected["grad_norm"])
    return metrics


@pytest.mark.parametrize("loss", LOSSES)
def test_step(base, rng, plain_step, loss):
    """Far enough from the sampling policy that the clip acts and the KL matters."""
    batch = rollout(base, 6, 8, rng)
    policy = perturbed(base)
    metrics = check_step(policy, base, batch, plain_step, beta=0.3, loss=loss, eps_low=0.1, eps_high=0.3)
    assert metrics["clip_ratio/region_mean"] > 0.05
    assert metrics["kl"] > 0.01


def test_step_on_answers_that_were_cut_off(untrained, rng, plain_step):
    batch = rollout(untrained, 6, 4, rng)
    assert (batch.lengths == MAX_NEW).any()
    batch = batch._replace(rewards=torch.rand(6, 4, generator=rng))
    check_step(perturbed(untrained, 0.1), untrained, batch, plain_step, beta=0.1)


@pytest.mark.parametrize("B", [1, 3, 5])
def test_unequal_halves_give_the_gradient_of_the_whole_batch(base, rng, plain_step, B):
    batch = rollout(base, B, 7, rng)
    batch = batch._replace(rewards=torch.rand(B, 7, generator=rng))      # no degenerate group among so few
    check_step(perturbed(base), base, batch, plain_step, loss="grpo")
    check_step(perturbed(base), base, batch, plain_step, loss="dapo")


@pytest.mark.parametrize(("name", "faulty"), [
    ("kl_k3", FAULTY_KL["k3, reversed"]),
    ("kl_k3", FAULTY_KL["no gradient"]),
    ("clipped_objective", lambda p, q, a, low, high: clipped_objective(p, q, a, high, low)),
    ("clipped_objective", lambda p, q, a, low, high: surrogate(torch.max)(p, q, a, low, high)),
    ("group_advantages", FAULTY_ADVANTAGES["sample std"]),
    ("token_weights", FAULTY_WEIGHTS["grpo and dapo exchanged"]),
    ("token_weights", FAULTY_WEIGHTS["padding counts"]),
    ("answer_mask", lambda lengths, width: answer_mask(lengths - 1, width)),       # the closing dot left out
])
def test_a_fault_in_an_ingredient_is_seen_in_the_step(base, rng, plain_step, monkeypatch, name, faulty):
    batch = rollout(base, 6, 8, rng)
    monkeypatch.setattr(grpo, name, faulty)
    with pytest.raises(AssertionError):
        check_step(perturbed(base), base, batch, plain_step, beta=0.3, eps_low=0.1, eps_high=0.3)


@pytest.mark.parametrize("loss", LOSSES)
def test_at_ratio_1_the_gradient_is_reinforces(base, rng, plain_logprobs, loss):
    """-sum(weight * A * logp), its gradient taken on its own: nothing of GRPO but weights and advantages."""
    batch = rollout(base, 8, 8, rng)
    grpo_step(base, base, Still(), batch, beta=0.0, loss=loss)
    answers = batch.answers.flatten(0, 1)
    logp = plain_logprobs(base, batch.prompts, answers).gather(2, answers[:, :, None])[..., 0]
    weights = token_weights(answer_mask(batch.lengths.flatten(), MAX_NEW), loss)
    advantages = advantages_by_loop(batch.rewards).float().flatten()
    reinforce = torch.autograd.grad(-(weights * advantages[:, None] * logp).sum(), list(base.parameters()))
    norm = math.sqrt(sum((g ** 2).sum().item() for g in reinforce))
    assert norm > 1e-2
    for parameter, gradient in zip(base.parameters(), reinforce, strict=True):
        close(parameter.grad, gradient, atol=1e-4 * norm)
        assert parameter.grad.norm() > 100 * 1e-4 * norm       # so a zero gradient could not have passed


def test_equal_rewards_teach_nothing(base, rng):
    batch = rollout(base, 4, 8, rng)
    for same in (0.0, 1.0):
        flat = batch._replace(rewards=torch.full((4, 8), same))
        policy = perturbed(base)
        before = copy.deepcopy(policy.state_dict())
        metrics = grpo_step(policy, base, torch.optim.SGD(policy.parameters(), lr=1.0), flat, beta=0.0)
        assert metrics["grad_norm"] == metrics["loss"] == metrics["clip_ratio/region_mean"] == 0.0
        assert all(map(math.isfinite, metrics.values()))
        assert all(tensor.equal(before[name]) for name, tensor in policy.state_dict().items())


def test_with_equal_rewards_the_kl_pulls_back_to_the_reference(base, rng):
    batch = rollout(base, 8, 8, rng)
    flat = batch._replace(rewards=torch.ones(8, 8))
    policy = perturbed(base)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.02)
    kl = [grpo_step(policy, base, optimizer, flat, beta=1.0)["kl"] for _ in range(9)]
    assert kl == sorted(kl, reverse=True)
    assert kl[-1] < 0.8 * kl[0]


def test_several_updates_on_a_batch(base, rng, plain_step):
    """The clip acts from the second on; the policy and the metrics (those of the last update) are plain autograd's."""
    batch = rollout(base, 6, 8, rng)
    policy, plain = copy.deepcopy(base), copy.deepcopy(base)
    metrics = grpo_step(policy, base, torch.optim.Adam(policy.parameters(), lr=5e-3), batch, updates=4)
    optimizer = torch.optim.Adam(plain.parameters(), lr=5e-3)
    for _ in range(4):
        expected, gradients = plain_step(plain, base, batch)
        for parameter, gradient in zip(plain.parameters(), gradients, strict=True):
            parameter.grad = gradient.float()
        optimizer.step()
    assert metrics == pytest.approx(expected, rel=5e-3, abs=1e-4)
    assert metrics["clip_ratio/region_mean"] > 0.05
    moved = sum((a - b).abs().sum().item() for a, b in zip(policy.parameters(), base.parameters(), strict=True))
    apart = sum((a - b).abs().sum().item() for a, b in zip(policy.parameters(), plain.parameters(), strict=True))
    assert apart < 0.01 * moved


def test_with_one_update_the_clip_never_acts(base, rng):
    batch = rollout(base, 8, 8, rng)
    metrics = grpo_step(copy.deepcopy(base), base, Still(), batch, eps_low=1e-3, eps_high=1e-3)
    assert metrics["clip_ratio/region_mean"] == 0.0
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-6)


def test_the_reference_and_the_batch_stay_as_they_are(base, rng):
    batch = rollout(base, 4, 8, rng)
    reference, kept = copy.deepcopy(base), Batch(*(field.clone() for field in batch))
    before = copy.deepcopy(reference.state_dict())
    grpo_step(base, reference, torch.optim.Adam(base.parameters(), lr=0.1), batch, updates=2)
    assert all(tensor.equal(before[name]) for name, tensor in reference.state_dict().items())
    assert all(parameter.grad is None for parameter in reference.parameters())
    assert not all(tensor.equal(before[name]) for name, tensor in base.state_dict().items())
    assert all(now.equal(then) for now, then in zip(batch, kept, strict=True))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_raises_the_objective_on_its_batch(base, rng, plain_step, loss):
    batch = rollout(base, 8, 8, rng)
    policy = copy.deepcopy(base)
    before, _ = plain_step(policy, base, batch, loss=loss)
    grpo_step(policy, base, torch.optim.SGD(policy.parameters(), lr=1e-3), batch, loss=loss)
    after, _ = plain_step(policy, base, batch, loss=loss)
    promised = 1e-3 * before["grad_norm"] ** 2             # to first order
    assert before["loss"] - after["loss"] == pytest.approx(promised, rel=0.1)


def test_an_answer_of_one_token_is_a_group_member_like_any_other(base, rng, plain_step):
    batch = rollout(base, 4, 4, rng)
    batch.answers[:, 0] = DOT
    batch.lengths[:, 0] = 1
    batch = batch._replace(rewards=torch.rand(4, 4, generator=rng))
    check_step(perturbed(base), base, batch, plain_step)
