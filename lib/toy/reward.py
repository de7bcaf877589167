"""The rule reward: is the format right, and is the last number the sum? One answer as text, or a batch of token ids.

The text form is for reading, the batched form for training; the tests hold them to each other.
"""
import re

import torch

from lib.toy.task import COMMA, DOT, MAX_SUM, N_DIGITS

# '17.' or '8,10,17.': any count of 'number,' and then the last number, caught in a group, and a dot. [0-9] rather than
# \d, which also matches the digits of other scripts; fullmatch rather than ^...$, since $ also matches before '\n'.
ANSWER = re.compile(r"(?:[0-9]+,)*([0-9]+)\.")


def rule_reward(prompt: str, completion: str) -> float:
    """1.0 when the format is right and the last number is the sum of the prompt's digits, else 0.0.

    The rule reward of R1-Zero in miniature (DeepSeek-R1, arXiv:2501.12948, section 2.2.2): nothing is paid for length or
    for reasoning. Numbers are compared as text, so that no completion, however long, can make it raise or stall.
    """
    match = ANSWER.fullmatch(completion)
    right = str(sum(int(c) for c in prompt[:N_DIGITS]))
    return float(match is not None and (match.group(1).lstrip("0") or "0") == right)


def rule_rewards(digits: torch.Tensor, answers: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`rule_reward` for a batch: digits [N, 4], answers [N, T] token ids, lengths [N] -> rewards [N], float32.

    Reads all answers at once, a column at a time, with three facts a row: the number so far, whether a digit stands
    right before, whether the format still holds.
    """
    number = torch.zeros(len(answers), dtype=torch.long)
    digit_before = torch.zeros(len(answers), dtype=torch.bool)
    valid = torch.ones(len(answers), dtype=torch.bool)
    for t, token in enumerate(answers.T):
        reading = t < lengths
        is_digit = token < 10
        last = t == lengths - 1
        good = is_digit & ~last | digit_before & torch.where(last, token == DOT, token == COMMA)
        # a number that is already too large stays so: clamping keeps any count of digits from overflowing
        grown = (torch.where(digit_before, number * 10, 0) + token).clamp(max=10 * MAX_SUM)
        number = torch.where(reading & is_digit, grown, number)
        digit_before = is_digit
        valid &= good | ~reading
    return (valid & (lengths > 0) & (number == digits.sum(1))).float()
