"""Lesson 04's experiments on the design of a reward, against arithmetic done by hand."""
import pytest
import torch

from lib.countdown.tasks import make_countdown
from lib.ui import reward_design
from lib.ui.reward_design import (
    bonus_maps,
    closeness,
    form_earnings,
    near_misses,
    race,
    races,
    reasoning_left,
    sum_or_search,
)


def means(earns):
    return [sum(earned) / len(earned) for earned in earns.values()]


# ── races ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_race_starts_at_the_shares_and_repeats():
    earns = form_earnings(0.2, 0.2, 0.4)
    first = race(earns, [0.5, 0.3, 0.2], steps=5, seeds=3)
    assert first.shape == (6, 3, 3)
    torch.testing.assert_close(first[0], torch.tensor([[0.5, 0.3, 0.2]]).repeat(3, 1))
    torch.testing.assert_close(first.sum(2), torch.ones(6, 3))
    assert torch.equal(first, race(earns, [0.5, 0.3, 0.2], steps=5, seeds=3))


def test_equal_rewards_teach_nothing():
    found = race({"a": [0.3], "b": [0.3]}, [0.7, 0.3], steps=20)
    torch.testing.assert_close(found[-1], found[0])


def test_one_step_is_the_policy_gradient():
    """Two habits, one sure of 1 and one of 0: of N replies n were the first, so A = ±1 in every group that has both."""
    found = race({"a": [1.0], "b": [0.0]}, [0.5, 0.5], steps=1, prompts=4000, seeds=1, lr=0.1)
    gain = (found[1, 0].log() - found[0, 0].log()).diff().abs().item()
    # E[A (1{a} - p)] = E[std of the group] = E[2 sqrt(k (8 - k)) / 8] / 2, k binomial(8, 1/2); the other logit falls alike
    from math import comb
    std = sum(comb(8, k) / 256 * (k * (8 - k)) ** 0.5 / 8 for k in range(9))
    assert gain == pytest.approx(0.1 * 2 * std, rel=0.02)


@pytest.mark.parametrize(("bonus", "scale", "winner"), [
    (0.2, True, 0), (1.0, True, 2),         # far from the threshold q / t = 0.5 both ways of scaling agree with the means
    (0.2, False, 0), (1.0, False, 2),
    (0.4, True, 2), (0.4, False, 0),        # below it, dividing by the std turns the result round
])
def test_when_the_format_bonus_is_hacked(bonus, scale, winner):
    earns = form_earnings(bonus, right=0.2, cut=0.4)
    reasoning, guessing, tags = means(earns)
    assert reasoning == pytest.approx(0.6 * bonus + 0.2)
    assert (guessing, tags) == pytest.approx((0.05, bonus))
    final = race(earns, [0.45, 0.45, 0.10], steps=600, scale=scale)[-1]
    assert (final.argmax(1) == winner).all(), "every one of 20 seeds"


def test_a_weak_model_is_lost_at_any_bonus_only_where_advantages_are_divided(monkeypatch, each_language):
    monkeypatch.setattr(reward_design, "BONUSES", (0.001, 1.0))
    monkeypatch.setattr(reward_design, "RIGHTS", (0.4, 0.1))
    left = {scale: reasoning_left(scale) for scale in (True, False)}
    assert (left[True] > 0.5).tolist() == [[True, True], [False, False]]
    assert (left[False] > 0.5).tolist() == [[True, True], [True, False]]
    alone = race(form_earnings(1.0, 0.1, 0.4), reward_design.SHARES, 400, seeds=5)[-1, :, 0].mean()
    assert left[True][1, 1] == alone
    figure = bonus_maps(left)
    for axes, shares in zip(figure.axes, left.values(), strict=True):
        assert [float(text.get_text()) for text in axes.texts] == pytest.approx(shares.flatten().tolist(), abs=0.005)
        assert [line.get_xdata()[0] for line in axes.lines] == [0.5, 0.5]       # q / t = 1 and 0.25: one bonus below


def test_binary_rewards_choose_the_search_and_shaped_ones_the_sum():
    tasks = make_countdown(400)
    for shaped, winner in ((False, 1), (True, 0)):
        earns = sum_or_search(tasks, shaped)
        final = race(earns, [0.5, 0.5])[-1]
        assert (final.argmax(1) == winner).all()
        assert means(earns)[winner] > means(earns)[1 - winner]
    assert means(sum_or_search(tasks, shaped=False))[1] == pytest.approx(0.3, abs=0.001)
    assert means(sum_or_search(tasks, shaped=False))[0] == sum(sum(t["nums"]) == t["target"] for t in tasks) / 400


def test_the_picture_has_a_panel_a_reward(each_language):
    cases = {f"b = {b}": form_earnings(b, 0.2, 0.4) for b in (1, 0)}
    figure = races(cases, [0.4, 0.4, 0.2], steps=3, seeds=2)
    assert [axes.get_title() for axes in figure.axes] == ["b = 1", "b = 0"]
    for axes in figure.axes:
        assert len(axes.lines) == 3 * (2 + 1)       # two seeds and their mean, of each habit


# ── closeness ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("value", "expected"), [(31, 1), (30, 30 / 31), (62, 0), (100, 0), (0, 0), (-5, 0), (46.5, 0.5)])
def test_closeness(value, expected):
    assert closeness(value, 31) == pytest.approx(expected)


def test_near_misses_of_a_task_by_hand():
    """[1, 1, 1] -> 3: with equal numbers every order is the same value, so only signs count."""
    found = near_misses([{"nums": [1, 1, 1], "target": 3}])
    assert set(found) == {1, 2}
    # of the 9 pairs of signs one is right (+ +); 4 differ in one sign, 4 in both; each in 6 orders
    assert {changes: len(values) for changes, values in found.items()} == {1: 24, 2: 24}
    # one sign off: 1+1-1 = 1, 1+1*1 = (1+1)*1 = 2, 1-1+1 = 1, 1*1+1 = 2
    assert sorted(set(found[1])) == pytest.approx([1 / 3, 2 / 3])


def test_near_misses_leave_out_the_right_ones():
    tasks = make_countdown(30)
    found = near_misses(tasks)
    assert 0 not in found
    assert max(value for values in found.values() for value in values) < 1
    assert list(found) == sorted(found)
