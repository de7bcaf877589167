"""The lessons' pictures: what is drawn is the data."""
import re

import matplotlib.collections
import pytest
import torch
from matplotlib.colors import to_hex

from lib.toy.grpo import LOSSES, group_advantages, kl_k3, token_weights
from lib.toy.task import BOS, DOT, EQUALS, MAX_NEW, VOCAB, encode
from lib.ui import figures

PROBS = torch.tensor([0.1, 0.2, 0.0, 0.4, 0.3])
POLICY, REFERENCE = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])


def padded(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts -> token ids [N, MAX_NEW], padded with dots, and lengths [N]."""
    lengths = torch.tensor([len(text) for text in texts])
    return torch.tensor([encode(text) + [DOT] * (MAX_NEW - len(text)) for text in texts]), lengths


ANSWERS, LENGTHS = padded(["8,10,17.", "5.", "1234567890"])
PROMPTS = torch.tensor([[BOS, 3, 5, 2, 7, EQUALS]] * 3)
LOGP = -torch.rand(3, MAX_NEW, generator=torch.Generator().manual_seed(0)) * 3
REWARDS = torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 0, 1]])
TOKENS = torch.multinomial(POLICY, 50 * 8, replacement=True, generator=torch.Generator().manual_seed(0)).view(50, 8)
CURVE = {1: 0.2, 2: 0.35, 4: 0.55, 8: 0.8}

PICTURES = {
    "next_token": lambda: figures.next_token(PROBS, 0.5),
    "answer_cells": lambda: figures.answer_cells(PROMPTS, ANSWERS, LENGTHS),
    "token_logprobs": lambda: figures.token_logprobs(ANSWERS, LENGTHS, LOGP),
    "reward_table": lambda: figures.reward_table(REWARDS),
    "advantage_table": lambda: figures.advantage_table(group_advantages(REWARDS)),
    "clipping": figures.clipping,
    "kl_estimates": lambda: figures.kl_estimates(POLICY, REFERENCE, TOKENS),
    "weights": lambda: figures.weights([3, 8]),
    "step_effect": lambda: figures.step_effect(torch.tensor([1.7, 0.0, -0.6]), torch.tensor([0.2, 0.1, -0.3])),
    "pass_at_k": lambda: figures.pass_at_k({"A": CURVE}, equal_tasks=True),
}


def texts(axes) -> dict[tuple[float, float], str]:
    """The texts of an axes by their places."""
    return {tuple(round(float(x), 2) for x in text.get_position()): text.get_text() for text in axes.texts}


def patches(axes, gid: str) -> list:
    return [patch for patch in axes.patches if (patch.get_gid() or "").startswith(gid)]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


# ── languages and margins ─────────────────────────────────────────────────────────────────────────────────────────────
def all_texts(figure):
    texts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return [text for text in texts if text.get_visible() and text.get_text()]


@pytest.mark.parametrize("name", PICTURES)
def test_labels_are_in_the_learners_language(name, each_language):
    words = " ".join(text.get_text() for text in all_texts(PICTURES[name]()))
    assert bool(re.search("[а-яё]", words.lower())) == (each_language == "ru")


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_sticks_out_of_the_picture(name, each_language):
    figure = PICTURES[name]()
    figure.canvas.draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 > -0.02
    assert drawn.y0 > -0.02
    assert drawn.x1 < width + 0.02
    assert drawn.y1 < height + 0.02


# ── sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("die", "token"),
                         [(0.0, 0), (0.09, 0), (0.11, 1), (0.29, 1), (0.31, 3), (0.69, 3), (0.71, 4), (0.9999, 4)])
def test_next_token_marks_the_token_on_whose_piece_the_die_lands(die, token):
    bars, strip = figures.next_token(PROBS, die).axes
    assert [bar.get_height() for bar in bars.patches] == pytest.approx(PROBS.tolist())
    assert [bool(bar.get_hatch()) for bar in bars.patches] == [i == token for i in range(len(PROBS))]
    assert [bool(piece.get_hatch()) for piece in strip.patches] == [i == token for i in range(len(PROBS))]
    assert [piece.get_x() for piece in strip.patches] == pytest.approx([0, 0.1, 0.3, 0.3, 0.7], abs=1e-6)
    assert [piece.get_width() for piece in strip.patches] == pytest.approx(PROBS.tolist())
    assert strip.get_lines()[0].get_xdata()[0] == die


def test_next_token_takes_the_last_token_where_rounding_leaves_the_die_beyond_the_end():
    bars, _ = figures.next_token(torch.tensor([0.5, 0.4999]), 0.99999).axes
    assert [bool(bar.get_hatch()) for bar in bars.patches] == [False, True]


def test_answer_cells_shade_exactly_the_tokens_of_the_answer():
    axes, = figures.answer_cells(PROMPTS, ANSWERS, LENGTHS).axes
    cells = {(round(p.get_x() + 0.5), round(p.get_y() + 0.5)): p.get_gid() for p in axes.patches}
    P = PROMPTS.shape[1]
    for n, length in enumerate(LENGTHS.tolist()):
        wanted = ["prompt"] * P + ["answer"] * length + ["padding"] * (MAX_NEW - length)
        assert [cells[t, n] for t in range(P + MAX_NEW)] == wanted
    assert len(cells) == len(axes.patches) == PROMPTS.shape[0] * (P + MAX_NEW)
    shown = texts(axes)
    assert [shown[t, 0] for t in range(P + MAX_NEW)] == ["<bos>", *"3527=", *"8,10,17.", ".", "."]
    colors = {gid: {to_hex(p.get_facecolor()) for p in patches(axes, gid)} for gid in ("prompt", "answer", "padding")}
    assert all(len(found) == 1 for found in colors.values())
    assert len({*colors["prompt"], *colors["answer"], *colors["padding"]}) == 3


def test_token_logprobs_writes_each_value_under_its_token_and_none_on_padding():
    axes, = figures.token_logprobs(ANSWERS[:2], LENGTHS[:2], LOGP[:2]).axes
    shown = texts(axes)
    for n, length in enumerate(LENGTHS[:2].tolist()):
        for t in range(length):
            assert shown[t, round(n - 0.16, 2)] == VOCAB[ANSWERS[n, t]]
            assert number(shown[t, round(n + 0.26, 2)]) == pytest.approx(LOGP[n, t].item(), abs=0.005)
        total = LOGP[n, :length].sum()
        found = re.fullmatch(r"Σ log p = (.*)\np = (.*)", shown[8 - 0.3, n])
        assert number(found[1]) == pytest.approx(total.item(), abs=0.005)
        assert number(found[2]) == pytest.approx(total.exp().item(), rel=0.05)
    assert len(shown) == 2 * int(LENGTHS[:2].sum()) + 2
    image = torch.tensor(axes.images[0].get_array().filled(float("nan")))
    assert image.isnan().sum(1).tolist() == [0, 6]   # the longest of the two has 8 tokens
    assert image[0].tolist() == pytest.approx(LOGP[0, :8].exp().tolist())


@pytest.mark.parametrize(("value", "shown"), [("-0.00", "0.00"), ("-1.20", "−1.20"), ("+0.4", "+0.4"), ("-0.01", "−0.01")])
def test_signs(value, shown):
    assert figures._signed(value) == shown


# ── groups ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("draw", [figures.reward_table, lambda rewards: figures.advantage_table(group_advantages(rewards))])
def test_group_tables_mark_exactly_the_degenerate_groups(draw):
    axes, = draw(REWARDS).axes
    assert sorted(round(p.get_x() + 0.5) for p in patches(axes, "dead")) == [1, 3]
    assert sorted(text.get_position()[0] for text in axes.texts if text.get_text() == "×") == [1, 3]


def test_reward_table_shows_the_rewards():
    axes, = figures.reward_table(REWARDS).axes
    assert torch.equal(torch.tensor(axes.images[0].get_array().filled()), REWARDS.T)
    shown = texts(axes)
    assert [[float(shown[b, g]) for g in range(4)] for b in range(5)] == REWARDS.tolist()


@pytest.mark.parametrize("same", [0.0, 1.0])
def test_reward_table_of_equal_rewards_has_the_color_of_that_reward(same):
    """Colours belong to the values, not to the batch's largest and smallest."""
    image = figures.reward_table(torch.full((2, 3), same)).axes[0].images[0]
    assert to_hex(image.to_rgba(image.get_array())[0, 0]) == ("#7db9de" if same else "#ffffff")


def test_advantage_table_shows_the_advantages_with_zero_in_the_middle_of_the_colors():
    advantages = group_advantages(REWARDS)
    axes, = figures.advantage_table(advantages).axes
    shown = texts(axes)
    for b in range(5):
        assert [number(shown[b, g]) for g in range(4)] == pytest.approx(advantages[b].tolist(), abs=0.051)
    assert axes.images[0].norm(0.0) == pytest.approx(0.5)
    torch.testing.assert_close(torch.tensor(axes.images[0].get_array().filled()), advantages.T)


# ── the objective ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("advantage", "ratio", "value", "slope"), [
    (1.0, 0.5, 0.5, 0.5), (1.0, 1.0, 1.0, 1.0), (1.0, 1.15, 1.15, 1.15), (1.0, 1.5, 1.2, 0.0), (1.0, 2.0, 1.2, 0.0),
    (-1.0, 0.5, -0.8, 0.0), (-1.0, 1.0, -1.0, -1.0), (-1.0, 1.5, -1.5, -1.5), (-1.0, 2.0, -2.0, -2.0),
])
def test_ratio_curve(advantage, ratio, value, slope):
    ratios, values, slopes = figures.ratio_curve(advantage, 0.2, 0.2)
    i = abs(ratios - ratio).argmin()
    assert (ratios[i], values[i], slopes[i]) == pytest.approx((ratio, value, slope), abs=1e-6)


def at(line, x: float) -> float:
    xs, ys = line.get_data()
    return ys[abs(xs - x).argmin()]


def test_clipping_draws_both_upper_bounds_and_the_objective_without_a_clip():
    up, down, up_slope, down_slope = figures.clipping(0.2, (0.2, 0.28)).axes
    free, low, high = up.get_lines()[:3]
    assert [at(line, 1.9) for line in (free, low, high)] == pytest.approx([1.9, 1.2, 1.28], abs=1e-5)
    assert [at(line, 0.5) for line in down.get_lines()[:3]] == pytest.approx([-0.5, -0.8, -0.8], abs=1e-5)
    assert [at(line, 1.25) for line in up_slope.get_lines()[:2]] == pytest.approx([0, 1.25], abs=1e-5)
    assert [at(line, 1.9) for line in down_slope.get_lines()[:2]] == pytest.approx([-1.9, -1.9], abs=1e-5)
    assert len({line.get_linestyle() for line in (free, low, high)}) == 3   # told apart without colour


def test_kl_estimates_draw_the_gaps_and_every_batch():
    gap, means = figures.kl_estimates(POLICY, REFERENCE, TOKENS).axes
    d, k3 = REFERENCE.log() - POLICY.log(), kl_k3(POLICY.log(), REFERENCE.log())
    bars = [line for line in gap.get_lines() if len(line.get_xdata()) == 2]
    assert [bar.get_xdata()[0] for bar in bars] == pytest.approx(d.tolist())
    assert [bar.get_ydata()[0] for bar in bars] == pytest.approx((1 + d).tolist())
    assert [bar.get_ydata()[1] for bar in bars] == pytest.approx(d.exp().tolist(), abs=1e-6)   # from tangent to curve
    assert [float(text.get_text()) for text in gap.texts] == pytest.approx(k3.tolist(), abs=0.005)
    assert means.get_lines()[0].get_xdata()[0] == pytest.approx(0.3734, abs=5e-5)
    assert "0.3734" in means.get_lines()[0].get_label()
    for histogram in means.containers:
        assert sum(bar.get_height() for bar in histogram) == len(TOKENS)


@pytest.mark.parametrize("lengths", [[3, 8], [2, 5, 5]])
def test_weights_are_those_of_the_three_averagings(lengths):
    axes, = figures.weights(lengths).axes
    mask = torch.tensor([[1.0] * n + [0.0] * (max(lengths) - n) for n in lengths])
    shown = [text.get_text() for text in axes.texts]
    for loss in LOSSES:
        wanted = token_weights(mask, loss)
        assert len(patches(axes, loss)) == sum(lengths)
        for n, length in enumerate(lengths):
            assert len(patches(axes, f"{loss} {n} ")) == length
            row = [f"{wanted[n, t]:.3f}" for t in range(length)] + [f"Σ = {wanted[n].sum():.2f}"]
            start = 0
            while shown[start : start + len(row)] != row:   # each row's texts are written one after the other
                start += 1
                assert start < len(shown), row


def test_step_effect_plots_every_answer_with_the_marker_of_its_sign():
    advantages, change = torch.tensor([1.7, -0.6, 0.0, -0.4, 2.6]), torch.tensor([0.2, -0.1, 0.05, 0.02, 5.0])
    axes, = figures.step_effect(advantages, change).axes
    clouds = [c for c in axes.collections if isinstance(c, matplotlib.collections.PathCollection)]
    for cloud, rows in zip(clouds, (advantages > 0, advantages == 0, advantages < 0), strict=True):
        wanted = torch.stack([advantages[rows], change[rows]], 1)
        torch.testing.assert_close(torch.tensor(cloud.get_offsets().data), wanted, check_dtype=False)
        assert f"{int(rows.sum())} answers" in cloud.get_label()
    assert "+2.60" in clouds[0].get_label()
    assert "−0.04" in clouds[2].get_label()


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_pass_at_k_draws_each_model_and_the_line_of_equal_tasks():
    other = {k: v / 2 for k, v in CURVE.items()}
    first, second, equal = figures.pass_at_k({"A": CURVE, "B": other}, equal_tasks=True).axes[0].get_lines()
    for line, curve in ((first, CURVE), (second, other)):
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == curve
    assert list(equal.get_ydata()) == pytest.approx([1 - 0.8**k for k in CURVE])
    assert len({(line.get_marker(), line.get_linestyle()) for line in (first, second, equal)}) == 3


def test_figures_can_be_saved(tmp_path):
    for name, draw in PICTURES.items():
        draw().savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
