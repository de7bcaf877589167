"""The Countdown reward, as TRL and as verl call it: 0.2 for the form of a reply, 1.0 for a right answer.

    GRPOTrainer(..., reward_funcs=[format_reward, correctness_reward])       # TRL; the data set has columns nums and target
    reward.custom_reward_function.path=lib/countdown/rewards.py              # verl; ground_truth is {"nums": …, "target": …}

No reply can raise an error here: what is no reply scores 0. A broken data set does, at once, since every score after it
would be worthless.
"""
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real

from lib.countdown.verifier import final_answer, format_fault, refusal
from lib.i18n import tr

FORMAT_REWARD, CORRECT_REWARD = 0.2, 1.0


class BrokenData(ValueError):
    """The data set is at fault, not the reply."""


def format_reward(completions: Sequence, **kwargs) -> list[float]:
    """0.2 for each reply that has the form, else 0. kwargs: what TRL passes besides, unused."""
    completions = _replies(completions)
    return [0.0 if format_fault(text_of(reply)) else FORMAT_REWARD for reply in completions]


def correctness_reward(completions: Sequence, nums: Sequence | None = None,
                       target: Sequence | None = None, **kwargs) -> list[float]:
    """1.0 for each reply whose final answer is right, else 0.

    nums: the given numbers of each reply; target: its target. TRL passes these columns by name.
    Raises ValueError, with the row, where a column is missing or of another length, or where a value
    is not a number.
    """
    completions = _replies(completions)
    nums, target = _column("nums", nums, len(completions)), _column("target", target, len(completions))
    rewards = []
    for row, reply in enumerate(completions):
        given, goal = task_of(nums[row], target[row], row)
        rewards.append(CORRECT_REWARD if _solves(text_of(reply), given, goal) else 0.0)
    return rewards


def compute_score(data_source: str, solution_str: str, ground_truth: Mapping,
                  extra_info: Mapping | None = None, **kwargs) -> dict[str, float]:
    """verl's custom reward: acc and format are 1.0 or 0.0, and score = acc + 0.2 format.

    ground_truth: {"nums": numbers, "target": number}. Raises ValueError for any other, with
    extra_info["index"] as the row.
    """
    row = extra_info.get("index") if isinstance(extra_info, Mapping) else None
    if not isinstance(ground_truth, Mapping) or not {"nums", "target"} <= ground_truth.keys():
        found = _short(ground_truth)
        raise _broken(row, en=f"ground_truth must be {{'nums': […], 'target': …}}, it is {found}",
                      ru=f"ground_truth должен быть вида {{'nums': […], 'target': …}}, а это {found}")
    given, goal = task_of(ground_truth["nums"], ground_truth["target"], row)
    text = text_of(solution_str)
    acc, form = float(_solves(text, given, goal)), float(format_fault(text) is None)
    return {"score": CORRECT_REWARD * acc + FORMAT_REWARD * form, "acc": acc, "format": form}


def check_expression(expr: str, nums: Sequence, target) -> bool:
    """Whether an expression uses each of the numbers exactly once and equals the target.

    Raises ValueError when nums or target are not numbers.
    """
    given, goal = task_of(nums, target)
    return isinstance(expr, str) and refusal(expr, given, goal) is None


def _solves(text: str, given: list[str], goal: tuple[int, int]) -> bool:
    answer = final_answer(text)
    return answer is not None and refusal(answer, given, goal) is None


# ── what a reply may look like ────────────────────────────────────────────────────────────────────────────────────────
def text_of(completion) -> str:
    """The text of a reply: a string as it is, the last assistant message of a chat, else ''.

    A message without a role counts as the assistant's; the parts of a content are joined.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, list | tuple):
        for message in reversed(completion):
            if isinstance(message, dict) and _is_assistants(message.get("role")):
                return _content(message.get("content"))
    return ""


def _is_assistants(role) -> bool:
    return role is None or (isinstance(role, str) and role == "assistant")


def _content(content) -> str:
    if isinstance(content, list | tuple):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


# ── what a data set must look like ────────────────────────────────────────────────────────────────────────────────────
def task_of(nums, target, row=None) -> tuple[list[str], tuple[int, int]]:
    """What the verifier compares with: the numbers' digits, and the target as (numerator, denominator)."""
    if type(nums) is not list:
        nums = _plain(nums)
        if not isinstance(nums, list | tuple):
            raise _broken(row, en=f"nums must be a list of numbers, it is {_short(nums)}",
                          ru=f"nums — это список чисел, а здесь {_short(nums)}")
    try:
        given = [str(n) if type(n) is int else _digits(n, row) for n in nums]
    except BrokenData:
        raise
    except ValueError:                       # Python writes no number of more than 4300 digits
        raise _broken(row, en="nums holds a number of thousands of digits, which no reply can write",
                      ru="в nums стоит число из тысяч цифр, его не записать ни в одном ответе") from None
    return given, _ratio(target, "target", row)


def _digits(number, row) -> str:
    """3, 3.0 and numpy's 3 are '3'. No token of an expression equals the digits of a negative number or of a fraction."""
    n, d = _ratio(number, "nums", row)
    return str(n) if d == 1 else f"{n}/{d}"


def _ratio(number, name: str, row) -> tuple[int, int]:
    if type(number) is int:
        return number, 1
    number = _plain(number)
    try:
        if isinstance(number, Real | Decimal) and not isinstance(number, bool):
            return number.as_integer_ratio()
    except (ValueError, OverflowError, AttributeError):      # nan, the infinities, numbers of other libraries
        pass
    raise _broken(row, en=f"{name} holds {_short(number)}, which is not a number",
                  ru=f"в {name} стоит {_short(number)}, а это не число")


def _plain(value):
    """Python's own numbers and lists instead of numpy's or torch's: verl reads columns from parquet."""
    return value.tolist() if hasattr(value, "tolist") else value


def _replies(completions) -> Sequence:
    completions = _plain(completions)
    if not _is_list(completions):
        raise ValueError(tr(en=f"completions must be a list of replies, it is {_short(completions)}",
                            ru=f"completions — это список ответов, а здесь {_short(completions)}"))
    return completions


def _column(name: str, column, rows: int) -> Sequence:
    column = _plain(column)
    if column is None:
        raise _broken(0, en=f"there is no {name}: the data set needs a column of this name, and the trainer must keep it "
                            f"(remove_unused_columns=False)",
                      ru=f"нет {name}: в наборе данных нужен столбец с этим именем, и тренер не должен его отбрасывать "
                         f"(remove_unused_columns=False)")
    if not _is_list(column):
        raise _broken(0, en=f"{name} must be a column, one value a reply, it is {_short(column)}",
                      ru=f"{name} — это столбец, по значению на ответ, а здесь {_short(column)}")
    if len(column) != rows:
        raise _broken(min(len(column), rows), en=f"{name} has {len(column)} values for {rows} replies",
                      ru=f"в {name} значений {len(column)}, а ответов {rows}")
    return column


def _is_list(value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _short(value) -> str:
    try:
        text = repr(value)
    except ValueError:      # a number too long for Python to write
        text = type(value).__name__
    return text if len(text) <= 80 else text[:79] + "…"


def _broken(row, *, en: str, ru: str) -> BrokenData:
    where = "" if row is None else tr(en=f"row {row}: ", ru=f"строка {row}: ")
    return BrokenData(where + tr(en=en, ru=ru))
