"""The policy: what it samples follows its softmax, and what it scores is what a plain reading of the sequences gives."""
import math
from collections import Counter

import pytest
import torch
from scipy.stats import chisquare

from lib.toy import halves, policy
from lib.toy.policy import TinyLM, sample, token_logprobs
from lib.toy.task import DOT, MAX_NEW, V_OUT, answer_mask, answer_texts, prompt_tokens, random_digits

UNLIKELY = 1e-6   # seeds are fixed: a right sampler passes always, and would fail one seed in a million
N = 20_000        # answers to one prompt in the test of frequencies


def saying(logits):
    """A model that predicts the same distribution everywhere: logits {token: value}, -inf elsewhere or a flat list."""
    model = TinyLM().requires_grad_(False)
    model.head.weight.zero_()
    model.head.bias.copy_(torch.as_tensor(logits))
    return model


def only(token):
    return saying([0.0 if i == token else -math.inf for i in range(V_OUT)])


@pytest.fixture
def answered(base, rng):
    prompts = prompt_tokens(random_digits(30, rng))
    return prompts, sample(base, prompts, 6, rng)


def test_77069_parameters():
    assert sum(p.numel() for p in TinyLM().parameters()) == 77_069


# ── sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_answers_end_at_the_first_dot_and_dots_fill_the_rest(base, untrained, rng):
    for model in (base, untrained):
        prompts = prompt_tokens(random_digits(50, rng))
        answers = sample(model, prompts, 4, rng)
        assert answers.tokens.shape == answers.logp.shape == (200, MAX_NEW)
        assert answers.lengths.shape == (200,)
        assert answers.tokens.min() >= 0
        assert answers.tokens.max() < V_OUT
        for tokens, length, logp in zip(answers.tokens.tolist(), answers.lengths.tolist(), answers.logp, strict=True):
            assert length == (tokens.index(DOT) + 1 if DOT in tokens else MAX_NEW)
            assert tokens[length:] == [DOT] * (MAX_NEW - length)
            assert (logp[:length] < 0).all()
            assert (logp[length:] == 0).all()
    assert (answers.lengths == MAX_NEW).any()      # the untrained model is cut off at times


def test_the_shortest_and_the_longest_answers(rng):
    prompts = prompt_tokens(random_digits(3, rng))
    dots, sevens = (sample(only(token), prompts, 2, rng) for token in (DOT, 7))
    assert answer_texts(dots.tokens, dots.lengths) == ["."] * 6
    assert answer_texts(sevens.tokens, sevens.lengths) == ["7" * MAX_NEW] * 6
    assert dots.logp.eq(0).all()
    assert sevens.logp.eq(0).all()


def test_answers_stand_beside_their_prompts_group(shipped, rng):
    """The first log-prob depends on the prompt alone: it must be that of the answer's own prompt."""
    prompts = prompt_tokens(random_digits(9, rng))
    answers = sample(shipped, prompts, 5, rng)
    first = shipped(prompts)[0][:, -1].log_softmax(-1)      # [9, V]
    expected = first.repeat_interleave(5, 0).gather(1, answers.tokens[:, :1])[:, 0]
    torch.testing.assert_close(answers.logp[:, 0], expected.detach(), rtol=0, atol=1e-5)


def check_frequencies(sampler, model, plain_logprobs):
    """Whole answers to one prompt are as frequent as the product of their tokens' probabilities (chi-square, n = 20 000)."""
    prompt = prompt_tokens(torch.tensor([[3, 5, 2, 7]]))
    answers = sampler(model, prompt, N, torch.Generator().manual_seed(17))
    counts = Counter(answer_texts(answers.tokens, answers.lengths))
    kinds, first_rows = answers.tokens.unique(dim=0, return_inverse=True)
    lengths = torch.zeros(len(kinds), dtype=torch.long).scatter(0, first_rows, answers.lengths)
    with torch.no_grad():
        logp = plain_logprobs(model, prompt, kinds).gather(2, kinds[:, :, None])[..., 0]
    expected = (logp * answer_mask(lengths, MAX_NEW)).sum(1).exp() * N
    often = expected >= 10
    assert often.sum() >= 30                                   # answers both blind and by steps
    texts = answer_texts(kinds[often], lengths[often])
    assert any("," in text for text in texts)
    found = [counts[text] for text in texts]
    rest = [N - sum(found)], [N - expected[often].sum().item()]  # the rare ones together
    assert chisquare(found + rest[0], expected[often].tolist() + rest[1], sum_check=False).pvalue > UNLIKELY


def test_sampling_frequencies(base, plain_logprobs):
    check_frequencies(sample, base, plain_logprobs)


class Warmed(torch.nn.Module):
    """The same model at another temperature."""

    def __init__(self, model, temperature):
        super().__init__()
        self.model, self.temperature = model, temperature

    def forward(self, tokens, hidden=None):
        logits, hidden = self.model(tokens, hidden)
        return logits / self.temperature, hidden


@pytest.mark.parametrize("fault", ["temperature 1.1", "temperature 0.9", "the most likely token"])
def test_a_faulty_sampler_is_found(base, plain_logprobs, fault):
    temperature = {"temperature 1.1": 1.1, "temperature 0.9": 0.9, "the most likely token": 1e-4}[fault]
    with pytest.raises(AssertionError):
        check_frequencies(lambda model, *rest: sample(Warmed(model, temperature), *rest), base, plain_logprobs)


def test_the_last_die_never_falls_off_the_end(base, rng):
    """float32 probabilities may add up to less than 1: the highest die must still pick a token that can be written."""
    prompts = prompt_tokens(random_digits(2000, rng))
    tokens, _, logp = policy._sample(base, prompts, torch.full((2000, MAX_NEW), 1 - 2**-24))
    assert tokens.max() < V_OUT
    assert logp.isfinite().all()


def test_the_same_seed_gives_the_same_answers_on_one_core_or_two(base, rng, monkeypatch):
    prompts = prompt_tokens(random_digits(11, rng))

    def answers(seed):
        return sample(base, prompts, 8, torch.Generator().manual_seed(seed))

    first, again, other = answers(1), answers(1), answers(2)
    monkeypatch.setattr(halves, "_parallel", True)     # put back behind one_core()
    halves.one_core()
    alone = answers(1)
    for a, b, c in zip(first, again, alone, strict=True):
        assert a.equal(b)
        assert a.equal(c)
    assert not first.tokens.equal(other.tokens)


def test_how_the_batch_is_split_changes_no_answer(base, rng, monkeypatch):
    prompts = prompt_tokens(random_digits(11, rng))
    halved = sample(base, prompts, 8, torch.Generator().manual_seed(1))
    monkeypatch.setattr(policy, "in_halves", lambda work, n: [work(slice(0, n))])
    whole = sample(base, prompts, 8, torch.Generator().manual_seed(1))
    assert halved.tokens.equal(whole.tokens)
    assert halved.lengths.equal(whole.lengths)
    torch.testing.assert_close(halved.logp, whole.logp, rtol=0, atol=1e-5)


# ── scoring ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def check_logprobs(score, model, prompts, answers, plain_logprobs):
    """Prompt read once for its group, against every prompt and answer read as one sequence: log-probs and entropies."""
    with torch.no_grad():
        logp, entropy = score(model, prompts, answers.tokens)
        plain = plain_logprobs(model, prompts, answers.tokens)
    real = answer_mask(answers.lengths, answers.tokens.shape[1]) > 0
    expected = plain.gather(2, answers.tokens[:, :, None])[..., 0]
    torch.testing.assert_close(logp[real], expected[real], rtol=0, atol=1e-5)
    torch.testing.assert_close(entropy[real], -(plain.exp() * plain).sum(-1)[real], rtol=0, atol=1e-5)


def test_prompt_shared_log_probs_are_the_plain_ones(base, answered, plain_logprobs):
    check_logprobs(token_logprobs, base, *answered, plain_logprobs)


@pytest.mark.parametrize("fault", ["groups interleaved", "shifted by a token", "prompt not read"])
def test_faulty_log_probs_are_found(base, answered, plain_logprobs, monkeypatch, fault):
    def faulty(model, prompts, tokens):
        if fault == "groups interleaved":
            monkeypatch.setattr(policy, "first_step", lambda m, p, g: (
                lambda logits, hidden: (logits[:, -1].repeat(g, 1), hidden.repeat(1, g, 1)))(*m(p)))
        if fault == "prompt not read":
            return token_logprobs(model, torch.zeros_like(prompts), tokens)
        shift = int(fault == "shifted by a token")
        return tuple(x.roll(shift, 1) for x in token_logprobs(model, prompts, tokens))

    with pytest.raises(AssertionError):
        check_logprobs(faulty, base, *answered, plain_logprobs)


def test_the_log_probs_of_sampling_are_those_of_scoring(base, answered):
    prompts, answers = answered
    with torch.no_grad():
        logp, _ = token_logprobs(base, prompts, answers.tokens)
    mask = answer_mask(answers.lengths, MAX_NEW)
    torch.testing.assert_close(answers.logp, logp * mask, rtol=0, atol=1e-5)


def test_log_probs_carry_the_gradient_and_the_entropy_does_not(base, answered):
    prompts, answers = answered
    logp, entropy = token_logprobs(base, prompts, answers.tokens)
    assert not entropy.requires_grad
    gradients = torch.autograd.grad(logp.sum(), list(base.parameters()))
    assert all(g.abs().sum() > 0 for g in gradients)
    assert not answers.logp.requires_grad


def test_entropy_against_closed_forms(rng):
    prompts = prompt_tokens(random_digits(2, rng))
    tokens = torch.zeros(4, 3, dtype=torch.long)
    half = [0.0] * 2 + [-1e4] * (V_OUT - 2)               # two equal tokens: ln 2
    skewed = [math.log(p) for p in (0.7, 0.2, 0.1)] + [-1e4] * (V_OUT - 3)
    for logits, entropy in ((torch.zeros(V_OUT), math.log(V_OUT)), (half, math.log(2)), (skewed, 0.8018185525)):
        _, found = token_logprobs(saying(logits), prompts, tokens)
        torch.testing.assert_close(found, torch.full((4, 3), entropy), rtol=0, atol=1e-5)
