"""The task: the rule reward in text and in batches, and the corpus that the base models are trained on."""
import re
import time
from collections import Counter

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from lib.toy import task
from lib.toy.reward import ANSWER, rule_reward, rule_rewards
from lib.toy.task import (
    COMMA,
    DOT,
    MAX_NEW,
    MAX_SUM,
    N_DIGITS,
    PROMPT_LENGTH,
    V_OUT,
    VOCAB,
    answer_mask,
    answer_texts,
    corpus,
    cot_answer,
    decode,
    encode,
    has_steps,
    make_prompt,
    prompt_tokens,
    random_digits,
)

# ── the reward of one text ────────────────────────────────────────────────────────────────────────────────────────────
PROMPT = "3527="   # the sum is 17
RIGHT = ["17.", "8,10,17.", "017.", "0017.", "1,17.", "0,0,0,17.", "17,17.", "8,8,8,8,17.", "99,17.", "000000017."]
WRONG = ["", ".", ",", "=", "17", "16.", "8,10,16.", "17,16.", "17,8.", "8,10,17", "8,10,17,", "8,10,17,.", ",17.", ",,17.",
         "8,,17.", "17..", "17.17.", "1.7.", "=17.", "17=.", "3527=17.", "7.", "1,7.", "170.", "117.", "8.17.",
         "273.", "529.", "65553."]     # 17 when a byte or two overflow
HOSTILE = ["17.\n", "\n17.", " 17.", "17 .", "17. ", "8, 10, 17.", "+17.", "-17.", "17.0.", "1_7.", "0x11.", "1e1.", "17。",
           "١٧.", "१७.", "１７.", "1\u200b7.", "17.\x00", "\ufeff17.", "<bos>17.", "nan.", "17,17,", "²17.", "Ⅷ.", "17.\r\n",
           "٨,17.", "८,१०,17.", "８,17."]


def check_reward(reward):
    """The table above: every right answer is paid 1.0, everything else 0.0, and nothing raises."""
    assert [reward(PROMPT, answer) for answer in RIGHT] == [1.0] * len(RIGHT)
    assert [answer for answer in WRONG + HOSTILE if reward(PROMPT, answer) != 0.0] == []
    assert reward("0000=", "0.") == reward("0000=", "00.") == reward("9999=", "18,27,36.") == 1.0
    assert reward("0000=", ".") == reward("0000=", ",.") == reward("0000=", "") == 0.0
    digits = "1" * 10_000
    assert reward(PROMPT, digits + ".") == 0.0
    assert reward(PROMPT, digits + ",17.") == 1.0
    assert reward(PROMPT, "0" * 10_000 + "17.") == 1.0


def with_pattern(pattern, method="match"):
    """The lesson's own way to score, with another regular expression: int() of the last number."""
    def reward(prompt, completion):
        match = getattr(re, method)(pattern, completion)
        return float(match is not None and int(match.group(1) or 0) == sum(map(int, prompt[:4])))
    return reward


def any_listed_number(prompt, completion):
    return float(str(sum(map(int, prompt[:4]))) in re.findall("[0-9]+", completion))


FAULTY_REWARDS = {
    "pays any listed number": any_listed_number,
    "pays an empty answer": lambda prompt, completion: rule_reward(prompt, completion) if completion else 1.0,
    "an empty number is 0": with_pattern(r"(?:[0-9]+,)*([0-9]*)\.", "fullmatch"),
    "only one number is accepted": with_pattern(r"([0-9]+)\.", "fullmatch"),
    "$ also matches before a newline": lambda p, c: rule_reward(p, c.removesuffix("\n")),
    r"\d also matches other scripts": lambda p, c: with_pattern(r"(?:\d+,)*(\d+)\.", "fullmatch")(p, c) if len(c) < 99
                                                   else rule_reward(p, c),
    "text may follow": lambda p, c: float(bool((m := ANSWER.match(c)) and rule_reward(p, m.group()))),
    "text may precede": lambda p, c: rule_reward(p, c.split("=")[-1]),
    "numbers are compared with their zeros": lambda p, c: float((m := ANSWER.fullmatch(c)) is not None
                                                                and m.group(1) == str(sum(map(int, p[:4])))),
    "spaces are dropped": lambda p, c: rule_reward(p, c.replace(" ", "")),
}


def test_reward():
    check_reward(rule_reward)


@pytest.mark.parametrize("fault", FAULTY_REWARDS)
def test_a_faulty_reward_is_found(fault):
    with pytest.raises(AssertionError):
        check_reward(FAULTY_REWARDS[fault])


def test_a_reward_that_reads_numbers_with_int_raises_on_a_long_one():
    """Python refuses to convert more than 4300 digits, so the lesson's `int(...)` ends the training run."""
    with pytest.raises(ValueError, match="Exceeds the limit"):
        check_reward(with_pattern(r"(?:[0-9]+,)*([0-9]+)\.", "fullmatch"))


@pytest.mark.parametrize(("prompt", "answer"), [("3527=", "17."), ("3527=", "8,10,17.")])
def test_the_lessons_own_examples_are_right(prompt, answer):
    assert rule_reward(prompt, answer) == 1.0


def seconds(work, argument, repeats=20):
    """The quickest of several calls, in CPU time of this process: what other programs do does not count."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time_ns()
        work(argument)
        best = min(best, time.process_time_ns() - start)
    return max(best, 1) / 1e9


LONG = {"digits": "1", "zeros": "0", "commas": "1,", "dots": ".", "double commas": ",,", "right": "8,10,"}


def check_linear(reward, size, piece):
    """8 times the text takes about 8 times as long; a quadratic reward would take 64 times."""
    short, long = ((piece * n)[:n] + "17!" for n in (size, 8 * size))
    assert seconds(lambda text: reward(PROMPT, text), long) < 24 * seconds(lambda text: reward(PROMPT, text), short)


@pytest.mark.parametrize("piece", LONG.values(), ids=LONG)
def test_reward_is_linear_in_the_length_of_the_answer(piece):
    check_linear(rule_reward, 40_000, piece)
    assert rule_reward(PROMPT, piece * 1_000_000 + "x") == 0.0


def test_a_quadratic_reward_is_found():
    def searching(prompt, completion):
        return float(re.search(r"([0-9]+)\.$", completion) is not None)
    with pytest.raises(AssertionError):
        check_linear(searching, 250, "1")


# ── the reward of a batch ─────────────────────────────────────────────────────────────────────────────────────────────
NUMBER = st.one_of(st.integers(0, 40).map(str), st.integers(0, 40).map("0{}".format), st.text("0123456789", max_size=4))
NEARLY_RIGHT = st.builds(lambda numbers, separator, end: separator.join(numbers) + end,
                         st.lists(NUMBER, max_size=4), st.sampled_from([",", ",", ",", ",,", ".", "=", ""]),
                         st.sampled_from([".", ".", ".", "", "..", ",.", "=."]))
ANY = st.text("".join(VOCAB[:V_OUT]), max_size=MAX_NEW)
DIGITS = st.lists(st.integers(0, 9), min_size=N_DIGITS, max_size=N_DIGITS)


@st.composite
def scored(draw):
    """Digits and an answer: by steps, the sum with zeros or noise, or anything; perhaps with a token changed or cut off."""
    digits = draw(DIGITS)
    right = st.sampled_from([cot_answer(digits), f"{sum(digits)}.", f"0{sum(digits)}.", f"{sum(digits)}",
                             f"{sum(digits)},{sum(digits)}.", f"{10 * sum(digits)}."])
    text = draw(st.one_of(right, NEARLY_RIGHT, ANY))
    if text and draw(st.booleans()):
        at = draw(st.integers(0, len(text) - 1))
        text = text[:at] + draw(st.sampled_from(["", *VOCAB[:V_OUT]])) + text[at + 1:]
    return digits, text[: draw(st.sampled_from([MAX_NEW, MAX_NEW, 3]))]


def as_batch(cases, filler=DOT):
    """[(digits, text)] -> digits [n, 4], answers [n, MAX_NEW] with `filler` behind each answer, lengths [n]."""
    answers = torch.full((len(cases), MAX_NEW), filler)
    for row, (_, text) in zip(answers, cases, strict=True):
        row[: len(text)] = torch.tensor(encode(text), dtype=torch.long)
    return torch.tensor([d for d, _ in cases]), answers, torch.tensor([len(text) for _, text in cases])


def check_batched(rewards, cases):
    expected = torch.tensor([rule_reward(make_prompt(digits), text) for digits, text in cases])
    for filler in (DOT, COMMA, 7):      # what stands behind an answer's end must not matter
        torch.testing.assert_close(rewards(*as_batch(cases, filler)), expected, rtol=0, atol=0)


@given(st.lists(scored(), min_size=1, max_size=40))
@example([([3, 5, 2, 7], text) for text in RIGHT + WRONG if len(text) <= MAX_NEW])
@example([([0, 0, 0, 0], text) for text in ("", ".", "0.", "00.", ",.", "0,.", "=.", "0", "0,0.", "0" * 10, "0" * 9 + ".")])
@example([([9, 9, 9, 9], text) for text in ("36.", "18,27,36.", "18,27,36", "999999999.", "0,00036.", "3636363636")])
def test_batched_reward_is_the_reward_of_each_text(cases):
    check_batched(rule_rewards, cases)


def test_the_cases_hold_both_right_and_wrong_answers():
    """The comparison above would prove little if random strings were never right."""
    seen = Counter()

    @given(scored())
    def count(case):
        seen[rule_reward(make_prompt(case[0]), case[1])] += 1

    count()
    assert min(seen[0.0], seen[1.0]) >= 15


@pytest.mark.parametrize("fault", ["reads the padding", "pays without a dot", "pays a sum of all numbers"])
def test_a_faulty_batched_reward_is_found(fault):
    faulty = {
        "reads the padding": lambda d, a, n: rule_rewards(d, a, torch.full_like(n, a.shape[1])),
        "pays without a dot": lambda d, a, n: rule_rewards(
            d, torch.cat([a.masked_fill(answer_mask(n, a.shape[1]) == 0, DOT), torch.full((len(a), 1), DOT)], 1), n + 1),
        "pays a sum of all numbers": lambda d, a, n: torch.tensor([
            float(sum(map(int, re.findall("[0-9]+", text))) == right)
            for text, right in zip(answer_texts(a, n), d.sum(1).tolist(), strict=True)]),
    }[fault]
    cases = [([3, 5, 2, 7], text) for text in RIGHT + WRONG if len(text) <= MAX_NEW]
    with pytest.raises(AssertionError):
        check_batched(faulty, cases)


# ── prompts, answers, tokens ──────────────────────────────────────────────────────────────────────────────────────────
def test_texts_of_the_lesson():
    assert make_prompt([3, 5, 2, 7]) == "3527="
    assert cot_answer([3, 5, 2, 7]) == "8,10,17."
    assert cot_answer([0, 0, 0, 0]) == "0,0,0."
    assert decode(encode("3527=8,10,17.")) == "3527=8,10,17."
    assert "".join(VOCAB[:V_OUT]) == "0123456789,.="


def test_encode_names_the_characters_it_cannot_read(each_language):
    with pytest.raises(ValueError, match=r"'\+x'"):
        encode("3+x=")


def test_prompt_tokens_read_as_the_prompt():
    digits = torch.tensor([[3, 5, 2, 7], [0, 0, 9, 9]])
    tokens = prompt_tokens(digits)
    assert tokens.shape == (2, PROMPT_LENGTH)
    assert [decode(row) for row in tokens] == ["<bos>" + make_prompt(d) for d in digits]


def test_steps_and_masks_on_real_tokens_only():
    _, answers, lengths = as_batch([([0] * 4, text) for text in ("17.", "8,17.", "", "1234567890", ",")], filler=COMMA)
    assert has_steps(answers, lengths).tolist() == [False, True, False, False, True]
    mask = answer_mask(lengths, MAX_NEW)
    assert mask.dtype == torch.float32
    assert mask.tolist() == [[1.0] * n + [0.0] * (MAX_NEW - n) for n in (3, 5, 0, 10, 1)]
    assert answer_texts(answers, lengths) == ["17.", "8,17.", "", "1234567890", ","]


# ── the corpus ────────────────────────────────────────────────────────────────────────────────────────────────────────
LINES = 20_000
LINE = re.compile(r"<bos>([0-9]{4})=((?:0|[1-9][0-9]?)(?:,(?:0|[1-9][0-9]?))*\.)")   # no number begins with a spare 0
UNLIKELY = 1e-6   # seeds are fixed: a right corpus passes always, and would fail one seed in a million


def check_corpus(make, p_cot):
    """Every line well-formed; stepwise ones right; their share, the blind guesses and the digits distributed as stated."""
    tokens, lengths = make(LINES, p_cot, torch.Generator().manual_seed(3))
    assert tokens.shape == (LINES, PROMPT_LENGTH + 3 * (N_DIGITS - 1))
    assert tokens.dtype == lengths.dtype == torch.long
    assert (tokens[answer_mask(lengths, tokens.shape[1]) == 0] == DOT).all()
    lines = [LINE.fullmatch(text) for text in answer_texts(tokens, lengths)]
    assert None not in lines
    tasks = [([int(c) for c in line[1]], line[2]) for line in lines]
    stepwise = [(digits, answer) for digits, answer in tasks if "," in answer]
    assert all(answer == cot_answer(digits) for digits, answer in stepwise)
    least, most = binom.interval(1 - UNLIKELY, LINES, p_cot)
    assert least <= len(stepwise) <= most
    guesses = Counter(int(answer[:-1]) for _, answer in tasks if "," not in answer)
    if guesses:
        assert sorted(guesses) == list(range(MAX_SUM + 1))
        assert chisquare(list(guesses.values())).pvalue > UNLIKELY
        lucky = sum(answer == f"{sum(digits)}." for digits, answer in tasks)
        least, most = binom.interval(1 - UNLIKELY, sum(guesses.values()), 1 / (MAX_SUM + 1))
        assert least <= lucky <= most          # a guess knows nothing of the sum
    for place in range(N_DIGITS):
        assert chisquare(list(Counter(digits[place] for digits, _ in tasks).values())).pvalue > UNLIKELY


@pytest.mark.parametrize("p_cot", [0.0, 0.05, 0.3, 1.0])
def test_corpus(p_cot):
    check_corpus(corpus, p_cot)


@pytest.mark.parametrize("fault", ["guesses end at 35", "2 % more steps", "the blind know the sum", "lines are cut",
                                   "padding of zeros"])
def test_a_faulty_corpus_is_found(fault, monkeypatch):
    def knows(n, p_cot, rng):
        tokens, lengths = corpus(n, 1.0, rng)                   # the last number alone, which is the sum
        blind = torch.rand(n, generator=rng) >= p_cot
        for i in blind.nonzero()[:, 0]:
            answer = encode(decode(tokens[i, PROMPT_LENGTH:lengths[i]]).split(",")[-1])
            tokens[i, PROMPT_LENGTH:] = torch.tensor(answer + [DOT] * (tokens.shape[1] - PROMPT_LENGTH - len(answer)))
            lengths[i] = PROMPT_LENGTH + len(answer)
        return tokens, lengths

    faulty = {
        "guesses end at 35": corpus,
        "2 % more steps": lambda n, p, rng: corpus(n, p + 0.02, rng),
        "the blind know the sum": knows,
        "lines are cut": lambda n, p, rng: (lambda t, m: (t, m - 1))(*corpus(n, p, rng)),
        "padding of zeros": lambda n, p, rng: (lambda t, m: (
            t.where(answer_mask(m, t.shape[1]) > 0, 0), m))(*corpus(n, p, rng)),
    }[fault]
    if fault == "guesses end at 35":
        monkeypatch.setattr(task, "MAX_SUM", 35)
    with pytest.raises(AssertionError):
        check_corpus(faulty, 0.3)


def test_corpus_and_tasks_follow_the_seed():
    for make in (lambda rng: corpus(50, 0.3, rng)[0], lambda rng: random_digits(50, rng)):
        first, again, other = (make(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
        assert first.equal(again)
        assert not first.equal(other)
