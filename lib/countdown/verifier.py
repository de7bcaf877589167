"""The judge of a Countdown reply: its form, its final answer, and whether that answer solves the task.

    format_fault("<think>3*7=21</think><answer>3*7+10</answer>")                  # None: nothing is wrong
    refusal("3*7+10", given=["3", "7", "10"], goal=(31, 1))                       # None: it is right

The text comes from a model that is rewarded for whatever passes here. So nothing in it is executed, every step is linear in
its length, nothing recurses and no number is parsed before it is known to be one of those given.
"""
import re
from collections.abc import Sequence
from typing import NamedTuple

TAGS = ("<think>", "</think>", "<answer>", "</answer>")
WHITE = " \t\n\v\f\r"                           # ASCII white space. str.isspace and \s know 23 more characters
SYMBOLS = frozenset("+-*/()")
ALPHABET = SYMBOLS.union("0123456789", WHITE)
TOKEN = re.compile(r"[0-9]+|[^ \t\n\v\f\r]")    # of ALPHABET: a whole number or one symbol, white space passed over


class Fault(NamedTuple):
    """Why a reply is refused: the broken rule, and the piece of text that breaks it where there is one."""

    rule: str
    what: str = ""


def format_fault(text: str) -> Fault | None:
    """None when the text is one <think>…</think> and one <answer>…</answer>, else the rule it breaks.

    'tags': each of the four exactly once; 'order': in this order; 'outside': nothing but ASCII
    white space around the blocks; 'blank': more than white space, of any kind, in each of them.
    """
    for tag in TAGS:
        if text.count(tag) != 1:
            return Fault("tags", tag)
    before, _, rest = text.partition("<think>")
    thought, _, rest = rest.partition("</think>")
    between, _, rest = rest.partition("<answer>")
    answer, end, after = rest.partition("</answer>")
    if not end:
        return Fault("order")
    if outside := (before + between + after).strip(WHITE):
        return Fault("outside", outside)
    if not (thought.strip() and answer.strip()):
        return Fault("blank")
    return None


def final_answer(text: str) -> str | None:
    """What stands in the last <answer> … </answer> after the last </think>; None when there is none."""
    start = text.rfind("</think>") + 1                   # 0 without a thought: then look everywhere
    end = text.rfind("</answer>", start)
    opened = text.rfind("<answer>", start, max(end, start))
    if opened < 0:
        return None
    opened += len("<answer>")
    return text[opened : text.find("</answer>", opened)]


def refusal(expr: str, given: Sequence[str], goal: tuple[int, int]) -> Fault | None:
    """None when expr uses each given number exactly once and equals the goal, else the rule it breaks.

    expr: ASCII integers without leading zeros, + - * / and parentheses; a sign only at the start or
    right after '('. given: the numbers' digits, in any order; goal: (numerator, denominator), exact.
    Rules: 'empty', 'character', 'zeros', 'numbers', 'grammar', 'division' (by zero), 'value'.
    """
    if not ALPHABET.issuperset(expr):
        return Fault("character", next(c for c in expr if c not in ALPHABET))
    tokens = TOKEN.findall(expr)
    if not tokens:
        return Fault("empty")
    numbers = [token for token in tokens if token not in SYMBOLS]
    if len(numbers) != len(given) or sorted(numbers) != sorted(given):
        zeros = next((number for number in numbers if number[0] == "0" and number != "0"), None)
        return Fault("zeros", zeros) if zeros else Fault("numbers")
    value = evaluate(tokens)
    if isinstance(value, Fault):
        return value
    n, d = value
    return None if n * goal[1] == goal[0] * d else Fault("value")


def evaluate(tokens: Sequence[str]) -> tuple[int, int] | Fault:
    """The exact value as (numerator, denominator), not reduced, or the rule that the tokens break.

    One pass. In each open parenthesis three things are known: the sum of the complete terms (sn/sd),
    the product of the term being read (n/d) and whether its next factor divides.
    """
    sn, sd, n, d, divides = 0, 1, 1, 1, False
    outer = []                        # the same five of every parenthesis around this one
    last = "("                        # what stands before: '(', an operator, or a value ('')
    for token in tokens:
        if token == "(":
            if last == "":
                return Fault("grammar", token)                  # 3(7: no operator between
            outer.append((sn, sd, n, d, divides))
            sn, sd, n, d, divides = 0, 1, 1, 1, False
            last = "("
        elif token in "*/":
            if last != "":
                return Fault("grammar", token if last == "(" else last + token)
            divides = token == "/"
            last = token
        elif token in "+-":
            if last == "":                                      # the term before is complete
                sn, sd = sn * d + n * sd, sd * d
            elif last != "(":
                return Fault("grammar", last + token)           # 3*-7, 3--7
            n, d, divides = (1 if token == "+" else -1), 1, False
            last = token
        else:                                     # a value: a number, or a parenthesis that closes
            if token == ")":
                if last != "" or not outer:
                    return Fault("grammar", token if last == "(" and not outer else last + token)
                vn, vd = sn * d + n * sd, sd * d
                sn, sd, n, d, divides = outer.pop()
            elif last == "":
                return Fault("grammar", token)                  # 3 7: no operator between
            else:
                vn, vd = int(token), 1
            if divides:
                if vn == 0:
                    return Fault("division")
                vn, vd = vd, vn
            n, d = n * vn, d * vd
            last = ""
    if last != "" or outer:
        return Fault("grammar", "(" if last == "" else last)
    return sn * d + n * sd, sd * d
