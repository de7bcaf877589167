"""Countdown tasks: some numbers and a target that can be made from them, each number used once.

    train = make_countdown(4000)
    test = make_countdown(500, split="test")        # shares no task with train, whatever the seeds and settings
"""
import json
import random
import zlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import add, mul, sub, truediv
from pathlib import Path

from lib.countdown.solver import difficulty
from lib.i18n import LANGUAGES, tr

# dict(en=…, ru=…) and not {…}: the check that every text has both languages reads calls.
PROMPTS = dict(  # noqa: C408
    en="Make {target} out of the numbers {nums}: use each of them exactly once, with + - * / and parentheses. "
       "First reason inside <think> </think>, then write nothing but the expression inside <answer> </answer>.",
    ru="Составь из чисел {nums} выражение, равное {target}: каждое число ровно один раз, знаки + - * / и скобки. "
       "Сначала рассуждай внутри <think> </think>, затем запиши внутри <answer> </answer> одно только выражение.",
)
PROMPT = PROMPTS["ru"]
OPERATIONS = {"+": add, "-": sub, "*": mul, "/": truediv}
SPLITS = ("train", "validation", "test")
PATIENCE = 20_000      # draws in a row without a new task, after which there is hardly one left


def make_countdown(n_tasks: int, seed: int = 0, *, n_numbers: int = 3, operators: str = "+-*", shapes: str = "chain",
                   largest: int = 20, max_target: int = 100, split: str = "train") -> list[dict]:
    """n_tasks different tasks {"nums": [n_numbers], "target": int}, each with at least one solution; the same for a seed.

    operators: those that the hidden solution draws from, of + - * /. shapes: "chain" for (a ∘ b) ∘ c, "any" for a ∘ (b ∘ c)
    too. Numbers are 1 … largest, targets 1 … max_target. split: "train" (8 of 10 tasks), "validation", "test" or "all";
    a task's numbers and target alone decide which of the three it belongs to.
    Raises ValueError for settings that cannot work, and when there are not that many different tasks.
    """
    _check_settings(n_tasks, n_numbers, operators, shapes, largest, max_target, split)
    rng = random.Random(seed)
    tasks, seen, drawn = [], set(), 0
    while len(tasks) < n_tasks:
        nums = [rng.randint(1, largest) for _ in range(n_numbers)]
        target = _target(nums, operators, shapes, rng)
        drawn += 1
        if drawn > PATIENCE:
            raise ValueError(tr(en=f"there are hardly more than {len(tasks)} different tasks with these settings, {n_tasks} "
                                   f"were asked for: take fewer, or more numbers, a larger range or more operators",
                                ru=f"разных задач с такими настройками немногим больше {len(tasks)}, а нужно {n_tasks}: "
                                   f"попросите меньше или возьмите больше чисел, диапазон шире, больше знаков"))
        if target is None or not 1 <= target <= max_target or target.denominator != 1:
            continue
        task = {"nums": nums, "target": int(target)}
        if task_key(task) not in seen and split in ("all", split_of(task)):
            seen.add(task_key(task))
            tasks.append(task)
            drawn = 0
    return tasks


def _target(nums: list[int], operators: str, shapes: str, rng: random.Random) -> Fraction | int | None:
    """The value of a random expression of all the numbers; None where it divides by zero."""
    values = rng.sample(nums, len(nums))
    drawn = [rng.choice(operators) for _ in nums[1:]]
    for operator in drawn:
        i = rng.randrange(len(values) - 1) if shapes == "any" else 0
        a, b = values[i : i + 2]
        if operator == "/":
            if b == 0:
                return None
            a = Fraction(a)      # exact, where 7 / 2 would be a float
        values[i : i + 2] = [OPERATIONS[operator](a, b)]
    return values[0]


def task_key(task: dict) -> tuple:
    """What makes two tasks the same: the numbers in any order, and the target."""
    return (*sorted(task["nums"]), task["target"])


def split_of(task: dict) -> str:
    """'train', 'validation' or 'test': decided by the task itself, so sets made on two machines cannot overlap."""
    place = zlib.crc32(f"task {task_key(task)}".encode()) % 10
    return {0: "test", 1: "validation"}.get(place, "train")


def _check_settings(n_tasks, n_numbers, operators, shapes, largest, max_target, split) -> None:
    for name, value, least in (("n_tasks", n_tasks, 0), ("n_numbers", n_numbers, 2), ("largest", largest, 1),
                               ("max_target", max_target, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(tr(en=f"{name} must be a whole number of at least {least}, it is {value!r}",
                                ru=f"{name} — целое число, не меньше {least}, а здесь {value!r}"))
    if not operators or not set(operators) <= set(OPERATIONS):
        raise ValueError(tr(en=f"operators must be some of + - * /, they are {operators!r}",
                            ru=f"operators — знаки из + - * /, а здесь {operators!r}"))
    for name, value, choices in (("shapes", shapes, ("chain", "any")), ("split", split, (*SPLITS, "all"))):
        if value not in choices:
            named = ", ".join(choices)
            raise ValueError(tr(en=f"{name} must be one of {named}, it is {value!r}",
                                ru=f"{name} — одно из {named}, а здесь {value!r}"))


# ── data sets ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def with_difficulty(tasks: Iterable[dict]) -> list[dict]:
    """The tasks, each with its difficulty in two columns more: solutions (how many), plus_minus (whether they suffice)."""
    from lib.progress import bar  # nothing else here needs it, and a reward's process should start at once

    tasks = list(tasks)
    return [task | difficulty(task["nums"], task["target"])._asdict()
            for task in bar(tasks, tr(en="difficulty", ru="трудность"))]


def prompt(task: dict, language: str = "ru") -> list[dict]:
    """The task as a chat of one message, in the form that TRL and verl take. language: 'ru' (PROMPT) or 'en'."""
    if language not in LANGUAGES:
        named = ", ".join(LANGUAGES)
        raise ValueError(tr(en=f"language must be one of {named}, it is {language!r}",
                            ru=f"language — одно из {named}, а здесь {language!r}"))
    return [{"role": "user", "content": PROMPTS[language].format(**task)}]


def to_dataset(tasks: Sequence[dict], language: str = "ru"):
    """A datasets.Dataset with columns prompt (a chat), nums, target and whatever else the tasks have."""
    try:
        from datasets import Dataset  # takes seconds, and nothing else here needs it
    except ModuleNotFoundError:
        raise ModuleNotFoundError(tr(en="this needs a library that is not installed: pip install datasets",
                                     ru="для этого нужна библиотека, которой нет: pip install datasets")) from None
    return Dataset.from_list([{"prompt": prompt(task, language), **task} for task in tasks])


def from_dataset(dataset) -> list[dict]:
    """The tasks of a data set that to_dataset made."""
    return [{name: value for name, value in row.items() if name != "prompt"} for row in dataset]


def save_tasks(tasks: Iterable[dict], path: str | Path) -> None:
    """Writes JSON lines, a task a line. Raises FileExistsError rather than overwrite a file."""
    text = "".join(json.dumps(task) + "\n" for task in tasks)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise FileExistsError(tr(en=f"{path} is there already: take another name, or remove it first",
                                 ru=f"{path} уже есть: возьмите другое имя или сначала удалите его")) from None


def load_tasks(path: str | Path) -> list[dict]:
    """The tasks of a JSON lines file. Raises ValueError, with file and line, for what is not a task."""
    tasks = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                tasks.append(_parsed(line, f"{path}:{number}"))
    return tasks


def _parsed(line: str, place: str) -> dict:
    try:
        task = json.loads(line)
    except ValueError:
        task = None
    if not (isinstance(task, dict) and isinstance(task.get("nums"), list) and task["nums"]
            and all(type(n) is int for n in (*task["nums"], task.get("target")))):
        raise ValueError(tr(en=f'{place}: a line must look like {{"nums": [3, 7, 10], "target": 31}}',
                            ru=f'{place}: строка должна иметь вид {{"nums": [3, 7, 10], "target": 31}}'))
    return task
