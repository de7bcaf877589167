"""Five rewards that look reasonable and are not: each mends what broke the one before, and breaks elsewhere.

They execute or trust what a model wrote. Call them through `lib.countdown.cage`, which does so in a process of its own.
Each takes a reply, the given numbers and the target, and returns the reward, form included: 0 … 1.2.
"""
import re
from collections.abc import Callable
from fractions import Fraction

from lib.countdown.rewards import compute_score
from lib.countdown.verifier import TAGS

ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
FORM = re.compile(r"^\s*<think>.*?</think>\s*<answer>.*?</answer>\s*$", re.DOTALL)


def bare_eval(text: str, nums: list[int], target: int) -> float:
    """Python computes the first answer; 0.05 for each tag that occurs."""
    answer = ANSWER.search(text)
    right = answer is not None and eval(answer[1]) == target
    return 1.0 * right + 0.05 * sum(tag in text for tag in TAGS)


def no_builtins(text: str, nums: list[int], target: int) -> float:
    """The numbers are counted, and eval gets no open, no exec, no __import__."""
    answer = ANSWER.search(text)
    right = (answer is not None
             and sorted(map(int, re.findall(r"\d+", answer[1]))) == sorted(nums)
             and eval(answer[1], {"__builtins__": {}}) == target)
    return 1.0 * right + 0.05 * sum(tag in text for tag in TAGS)


def allowed_characters(text: str, nums: list[int], target: int) -> float:
    """Only digits and signs reach eval, ** is banned; one pattern checks the form. Often taught."""
    answer = ANSWER.search(text)
    expr = answer[1].strip() if answer else ""
    right = False
    if re.match(r"^[\d+\-*/() .]+$", expr) and "**" not in expr:
        if sorted(int(number) for number in re.findall(r"\d+", expr)) == sorted(nums):
            try:
                right = abs(eval(expr, {"__builtins__": {}}) - target) < 1e-6
            except (SyntaxError, ZeroDivisionError, TypeError):
                pass
    return 1.0 * right + 0.2 * bool(FORM.match(text))


def forgiving(text: str, nums: list[int], target: int) -> float:
    """Meets the model halfway: ×, ÷ and '= 31' are fine, the last answer counts, nothing raises."""
    try:
        expr = ANSWER.findall(text)[-1].split("=")[0]
        for written, meant in (("×", "*"), ("÷", "/"), ("−", "-"), ("^", "**"), ("\\cdot", "*")):
            expr = expr.replace(written, meant)
        expr = re.sub(r"[^\d+\-*/().e ]", "", expr)
        used = sorted(int(number) for number in re.findall(r"\b\d+\b", expr))
        right = used == sorted(nums) and abs(eval(expr, {"__builtins__": {}}) - target) < 1e-5
    except Exception:
        right = False
    return 1.0 * right + 0.2 * all(text.count(tag) == 1 for tag in TAGS)


def recursive(text: str, nums: list[int], target: int) -> float:
    """No eval: a small parser that calls itself for each parenthesis, and exact fractions."""
    tokens = re.findall(r"\d+|\S", ANSWER.findall(text)[-1]) if ANSWER.search(text) else []

    def sum_():
        value = product()
        while tokens and tokens[0] in "+-":
            value = value + product() if tokens.pop(0) == "+" else value - product()
        return value

    def product():
        value = factor()
        while tokens and tokens[0] in "*/":
            value = value * factor() if tokens.pop(0) == "*" else value / factor()
        return value

    def factor():
        token = tokens.pop(0)
        if token == "-":
            return -factor()
        if token != "(":
            return Fraction(int(token))
        value = sum_()
        tokens.pop(0)
        return value

    numbers = sorted(int(token) for token in tokens if token.isnumeric())
    try:
        right = numbers == sorted(nums) and sum_() == target and not tokens
    except (IndexError, ZeroDivisionError):
        right = False
    return 1.0 * right + 0.2 * bool(FORM.match(text))


def final(text: str, nums: list[int], target: int) -> float:
    """The course's own reward."""
    return compute_score("countdown", text, {"nums": nums, "target": target})["score"]


DESIGNS: dict[str, Callable[[str, list[int], int], float]] = {
    design.__name__: design for design in (bare_eval, no_builtins, allowed_characters, forgiving, recursive, final)}
