"""The verdict on a reply in words: which rule refused it. For people to read; rewards are numbers, in `rewards`."""
from collections import Counter
from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from lib.countdown.rewards import task_of, text_of
from lib.countdown.verifier import SYMBOLS, TOKEN, Fault, evaluate, final_answer, format_fault, refusal
from lib.i18n import tr

SHOWN = 30      # characters of a reply that a sentence quotes


class Explanation(NamedTuple):
    """Whether the form and the answer hold, and a sentence on each."""

    form: bool
    form_why: str
    right: bool
    right_why: str


def explain(completion, nums: Sequence, target) -> Explanation:
    """What the reward says of a reply, and why. Raises ValueError when nums or target are not numbers."""
    given, goal = task_of(nums, target)
    text = text_of(completion)
    form, answer = format_fault(text), final_answer(text)
    if answer is None:
        return Explanation(form is None, _form(form, text), False, _no_answer(text))
    fault = refusal(answer, given, goal)
    return Explanation(form is None, _form(form, text), fault is None, _answer(fault, answer, given, goal))


def _form(fault: Fault | None, text: str) -> str:
    if fault is None:
        return tr(en="one thought, one answer, nothing besides", ru="одно рассуждение, один ответ, ничего лишнего")
    what = _quoted(fault.what)
    if fault.rule == "tags":
        times = text.count(fault.what)
        return tr(en=f"{what} must occur exactly once, it occurs {times} times",
                  ru=f"{what} должен встретиться ровно один раз, а встретился {times}")
    return {
        "order": tr(en="the tags stand in another order than <think> </think> <answer> </answer>",
                    ru="теги стоят не в порядке <think> </think> <answer> </answer>"),
        "outside": tr(en=f"outside the two blocks stands {what}", ru=f"вне двух блоков стоит {what}"),
        "blank": tr(en="a block is empty or holds only white space", ru="один из блоков пуст или состоит из пробелов"),
    }[fault.rule]


def _no_answer(text: str) -> str:
    if "</think>" in text and final_answer(text.replace("</think>", "")) is not None:
        return tr(en="after the last </think> there is no <answer> … </answer>",
                  ru="после последнего </think> нет <answer> … </answer>")
    return tr(en="there is no <answer> … </answer>", ru="нет <answer> … </answer>")


def _answer(fault: Fault | None, answer: str, given: list[str], goal: tuple[int, int]) -> str:
    wanted = _number(*goal)
    if fault is None:
        return tr(en=f"each number once, and the value is {wanted}", ru=f"каждое число по разу, значение {wanted}")
    what = _quoted(fault.what)
    if fault.rule == "value":
        value = _number(*evaluate(TOKEN.findall(answer)))
        return tr(en=f"the value is {value}, not {wanted}", ru=f"значение {value}, а не {wanted}")
    if fault.rule == "numbers":
        return _numbers(Counter(t for t in TOKEN.findall(answer) if t not in SYMBOLS), Counter(given))
    return {
        "empty": tr(en="the answer is empty", ru="ответ пуст"),
        "character": tr(en=f"the answer has a character that no expression has: {what}",
                        ru=f"в ответе есть символ, которого в выражении не бывает: {what}"),
        "zeros": tr(en=f"{what} has leading zeros", ru=f"у {what} нули в начале"),
        "grammar": tr(en=f"this is not an expression: it breaks at {what}", ru=f"это не выражение: сбой на {what}"),
        "division": tr(en="it divides by zero", ru="здесь деление на ноль"),
    }[fault.rule]


def _numbers(used: Counter, given: Counter) -> str:
    extra, missing = _listed(used - given), _listed(given - used)
    if not missing:
        return tr(en=f"not given, or used too often: {extra}", ru=f"не дано или использовано лишний раз: {extra}")
    if not extra:
        return tr(en=f"not used: {missing}", ru=f"не использовано: {missing}")
    return tr(en=f"not used: {missing}; not given, or used too often: {extra}",
              ru=f"не использовано: {missing}; не дано или использовано лишний раз: {extra}")


def _listed(numbers: Counter) -> str:
    return _short(", ".join(_short(number) for number in list(numbers)[:SHOWN]))


def _number(n: int, d: int) -> str:
    """A fraction in lowest terms. Python refuses to write numbers of more than 4300 digits."""
    shared = gcd(n, d) * (1 if d > 0 else -1)
    n, d = n // shared, d // shared
    if max(abs(n), d).bit_length() > 200:
        return tr(en="a number of more than 60 digits", ru="число длиннее 60 цифр")
    return str(n) if d == 1 else f"{n}/{d}"


def _quoted(text: str) -> str:
    """A piece of a reply as a sentence can show it: short, and with characters that cannot be seen by their codes."""
    text = _short(text)
    return text if text.isprintable() else repr(text)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
