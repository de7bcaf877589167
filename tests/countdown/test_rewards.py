"""The rewards as TRL and verl call them: no reply raises, every broken data set does, in the learner's language."""
import array
import decimal
import importlib.util
import math
import subprocess
import sys
from collections import OrderedDict, deque
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.countdown import check_expression, compute_score, correctness_reward, format_reward, rewards, text_of

ROOT = Path(__file__).parents[2]
RIGHT = "<think>3*7=21, 21+10=31</think><answer>3*7+10</answer>"
WRONG = "<think>3*7=21, 21+10=31</think><answer>3+7+10</answer>"
NUMS, TARGET = [3, 7, 10], 31


def assistant(content):
    return {"role": "assistant", "content": content}


def test_the_lessons_six_cases():
    tests = [
        "<think>3*7=21, 21+10=31</think><answer>3*7+10</answer>",
        "<think>...</think><answer>7*3+10+0</answer>",
        "<think>...</think><answer>3*7+7+3</answer>",
        "<answer>(3*7)+10</answer>",
        "<think>хм</think><answer>9**9**9</answer>",
        [{"role": "assistant", "content": "<think>ок</think> <answer>10 + 3*7</answer>"}],
    ]
    assert format_reward(tests) == [0.2, 0.2, 0.2, 0.0, 0.2, 0.2]
    assert correctness_reward(tests, [NUMS] * len(tests), [TARGET] * len(tests)) == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("expr", "nums", "target", "right"), [
    ("3*7+10", [3, 7, 10], 31, True), (" 10+\n3*7 ", (10, 3, 7), 31.0, True), ("7/2", [7, 2], 3.5, True),
    ("1/3", [1, 3], Fraction(1, 3), True), ("1/3", [1, 3], 1 / 3, False), ("1/10", [1, 10], 0.1, False),
    ("1/10", [1, 10], decimal.Decimal("0.1"), True), ("3*7+10", [3, 7], 31, False), ("", [], 0, False),
    ("3-7", [3, 7], -4, True), ("-3", [-3], -3, False), ("-3", [3], -3, True), ("1/2", [0.5], 0.5, False),
    ("1", [0.5], 1, False),
    (None, [3], 3, False), (3, [3], 3, False), (b"3", [3], 3, False), (["3"], [3], 3, False)])
def test_check_expression(expr, nums, target, right):
    assert check_expression(expr, nums, target) is right


# ── as TRL calls it ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_trls_call_with_all_that_it_passes():
    class State:
        global_step = 3

    columns = {"prompts": ["p"] * 3, "completions": [RIGHT, [assistant(WRONG)], "?"], "completion_ids": [[1, 2], [3], []],
               "nums": [NUMS] * 3, "target": [31, 31, 31], "difficulty": [1, None, 2], "trainer_state": State(),
               "log_extra": print, "log_metric": print}
    assert format_reward(**columns) == [0.2, 0.2, 0.0]
    assert correctness_reward(**columns) == [1.0, 0.0, 0.0]


def test_an_empty_batch():
    assert format_reward([]) == format_reward(completions=[], prompts=[]) == []
    assert correctness_reward([], [], []) == []


def test_each_reply_is_judged_by_its_own_row():
    replies = [f"<answer>{expr}</answer>" for expr in ("3*7+10", "3*7+10", "7-2", "7-2")]
    assert correctness_reward(replies, [NUMS, [7, 2], [7, 2], NUMS], [31, 31, 5, 5]) == [1.0, 0.0, 1.0, 0.0]


def test_rewards_are_pythons_own_floats():
    """TRL makes tensors of them, verl writes them to JSON."""
    every = [*format_reward([RIGHT, "?"]), *correctness_reward([RIGHT, WRONG], [np.array(NUMS)] * 2, torch.tensor([31, 31])),
             *compute_score("", RIGHT, {"nums": np.array(NUMS), "target": np.float32(31)}).values()]
    assert {type(value) for value in every} == {float}


NUMS_AS = {
    "ints": [3, 7, 10], "floats": [3.0, 7.0, 10.0], "a tuple": (10, 7, 3), "numpy": np.array([3, 7, 10]),
    "numpy's floats": np.array([3.0, 7.0, 10.0], np.float32), "numpy's scalars": [np.int64(3), np.uint8(7), np.float64(10)],
    "objects": np.array([3, 7, 10], object), "torch": torch.tensor([3, 7, 10]),
    "torch's scalars": list(torch.tensor([3.0, 7.0, 10.0])), "pandas": pd.Series([3, 7, 10], index=[5, 6, 7]),
    "an array": array.array("i", [3, 7, 10]), "fractions": [Fraction(3), decimal.Decimal(7), 10],
}
TARGET_AS = {
    "an int": 31, "a float": 31.0, "numpy's int": np.int32(31), "numpy's float": np.float16(31),
    "no dimension": np.array(31), "torch": torch.tensor(31), "torch's float": torch.tensor(31.0),
    "a fraction": Fraction(62, 2), "a decimal": decimal.Decimal("31.00"),
}


@pytest.mark.parametrize("nums", NUMS_AS.values(), ids=NUMS_AS)
@pytest.mark.parametrize("target", TARGET_AS.values(), ids=TARGET_AS)
def test_numbers_of_every_library(nums, target):
    assert correctness_reward([RIGHT, WRONG], nums=[nums, nums], target=[target, target]) == [1.0, 0.0]
    assert correctness_reward([RIGHT], nums=[nums], target=[target + 1]) == [0.0]
    assert compute_score("", RIGHT, {"nums": nums, "target": target})["acc"] == 1.0
    assert check_expression("3*7+10", nums, target)


@pytest.mark.parametrize("column", [list, tuple, deque, np.array, torch.tensor, pd.Series], ids=lambda make: make.__name__)
def test_columns_of_every_library(column):
    assert correctness_reward([RIGHT, RIGHT], nums=column([NUMS, NUMS]), target=column([31, 30])) == [1.0, 0.0]
    assert correctness_reward(column([3, 7]), nums=[NUMS] * 2, target=[31] * 2) == [0.0, 0.0]


@pytest.mark.parametrize("format", [None, "numpy", "torch", "pandas"])
def test_columns_of_a_dataset(format):
    data = Dataset.from_list([{"nums": NUMS, "target": 31}, {"nums": [7, 2], "target": 5}])
    replies = [RIGHT, "<answer>7-2</answer>"]
    assert correctness_reward(replies, nums=data["nums"], target=data["target"]) == [1.0, 1.0]
    batch = data.with_format(format)[:]
    assert correctness_reward(replies, nums=batch["nums"], target=batch["target"]) == [1.0, 1.0]
    assert correctness_reward(replies[::-1], nums=batch["nums"], target=batch["target"]) == [0.0, 0.0]


# ── as verl calls it ──────────────────────────────────────────────────────────────────────────────────────────────────
TRUTH = {"nums": np.array(NUMS), "target": np.int64(31)}


def test_verls_call_by_place_and_by_keyword():
    all_right = {"score": 1.2, "acc": 1.0, "format": 1.0}
    assert compute_score("countdown", RIGHT, TRUTH) == all_right
    assert compute_score("countdown", RIGHT, TRUTH, {"index": 5}) == all_right
    assert compute_score(data_source="countdown", solution_str=RIGHT, ground_truth=TRUTH, extra_info=None,
                         reward_router_address=None, reward_model_tokenizer=None, weight=2) == all_right
    assert compute_score(None, WRONG, TRUTH) == {"score": 0.2, "acc": 0.0, "format": 1.0}
    assert compute_score(None, RIGHT[30:], TRUTH) == {"score": 1.0, "acc": 1.0, "format": 0.0}
    assert compute_score(None, "?", TRUTH) == {"score": 0.0, "acc": 0.0, "format": 0.0}
    assert compute_score(None, None, TRUTH | {"more": 1}, extra_info="no mapping")["score"] == 0.0


# Loaded as verl does it: from the path of the file, as a module of another name, in a worker that starts anywhere.
LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("custom_module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["custom_module"] = module
spec.loader.exec_module(module)
assert module.__name__ == "custom_module"
print(module.compute_score("countdown", sys.argv[2], {"nums": [3, 7, 10], "target": 31}))
"""


def test_the_file_works_when_loaded_by_its_path(tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", "-c", LOAD, rewards.__file__, RIGHT], cwd=tmp_path,
                          capture_output=True, text=True, encoding="utf-8")
    assert (done.stdout.strip(), done.stderr) == ("{'score': 1.2, 'acc': 1.0, 'format': 1.0}", "")


def test_the_file_works_in_this_process_too():
    spec = importlib.util.spec_from_file_location("custom_module", ROOT / "lib" / "countdown" / "rewards.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compute_score is not compute_score
    assert module.correctness_reward([RIGHT], nums=[NUMS], target=[31]) == [1.0]


def test_importing_the_reward_imports_no_heavy_library(tmp_path):
    code = ("import sys, lib.countdown, lib.countdown.rewards, lib.countdown.explain, lib.countdown.battery\n"
            "print(sorted({'torch', 'numpy', 'pandas', 'tqdm', 'datasets', 'ipywidgets', 'matplotlib'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# ── what a reply may look like ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("completion", "text"), [
    ("as it is ", "as it is "),
    (np.str_("numpy's"), "numpy's"),
    ([assistant("one")], "one"),
    ((assistant("a tuple"),), "a tuple"),
    ([OrderedDict(content="no role")], "no role"),
    ([{"role": None, "content": "None"}], "None"),
    ([assistant("first"), assistant("last")], "last"),
    ([assistant("mine"), {"role": "user", "content": "yours"}], "mine"),
    ([assistant("mine"), {"role": "tool", "content": "its"}, {"role": "system", "content": "law"}], "mine"),
    ([assistant("mine"), {"role": ["assistant"], "content": "odd"}, None, 3, "assistant"], "mine"),
    ([{"role": "user", "content": "yours"}], ""),
    ([{"role": "Assistant", "content": "another role"}], ""),
    ([assistant("text"), assistant(None)], ""),                       # a call of a tool has no text: it is the last message
    ([assistant([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}])], "in parts"),
    ([assistant(({"text": "a"}, "b", {"type": "image"}, {"text": None}, 3, None, {"text": ["c"]}, {"text": "d"}))], "abd"),
    ([assistant([])], ""),
    ([assistant({"text": "a dict"})], ""),
    ([assistant(3)], ""),
    ([{"role": "assistant"}], ""),
    ([{}], ""),
    ([], ""), ((), ""), (None, ""), (3, ""), (b"bytes", ""), ({"role": "assistant", "content": "no list"}, ""),
    (["a list of texts"], ""), ([[assistant("nested")]], ""), (np.array(["numpy"]), ""), ({"text"}, ""), (math.nan, ""),
])
def test_the_text_of_a_reply(completion, text):
    assert text_of(completion) == text


ODD = [RIGHT, WRONG, "assistant", "user", np.array([1, 2]), np.array("x"), np.array([RIGHT]), pd.NA,
       np.float32("nan"), torch.tensor([0.5]), pd.Series([RIGHT]), decimal.Decimal("sNaN"), range(3), object, len]
LEAVES = (st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.binary(max_size=3) |
          st.text(max_size=5) | st.sampled_from(ODD))
KEYS = st.sampled_from(["role", "content", "text", "type", "tool_calls"]) | st.none() | st.integers(0, 2)
OBJECTS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=2).map(tuple) |
                       st.dictionaries(KEYS, inner, max_size=3) |
                       st.fixed_dictionaries({"role": st.just("assistant") | inner, "content": inner}), max_leaves=8)


@settings(max_examples=800)
@given(OBJECTS | st.lists(st.fixed_dictionaries({"content": OBJECTS}), max_size=2))
def test_no_reply_of_any_type_raises(reply):
    form, = format_reward([reply])
    right, = correctness_reward([reply], nums=[NUMS], target=[TARGET])
    text = text_of(reply)
    assert isinstance(text, str)
    assert (form, right) == (format_reward([text])[0], correctness_reward([text], [NUMS], [TARGET])[0])
    assert compute_score("countdown", reply, TRUTH) == {"score": right + form, "acc": right, "format": float(form > 0)}


class Hostile:
    """An object that fails at all that one may do with it."""

    def _fail(self, *_):
        raise RuntimeError("asked")

    __eq__ = __ne__ = __lt__ = __hash__ = __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __call__ = _fail
    __str__ = __int__ = __float__ = __index__ = __add__ = __radd__ = __getattr__ = __repr__ = _fail


@pytest.mark.parametrize("reply", [
    Hostile(), [Hostile()], [{"role": Hostile(), "content": RIGHT}], [assistant(Hostile())], [assistant([Hostile()])],
    [assistant([{"text": Hostile()}])]], ids=["reply", "message", "role", "content", "part", "text"])
def test_an_object_that_fails_at_everything_is_no_reply(reply):
    assert format_reward([reply]) == correctness_reward([reply], nums=[NUMS], target=[TARGET]) == [0.0]


def test_a_reply_that_holds_itself():
    chat = [assistant(RIGHT)]
    chat.append(chat)
    parts = [{"text": "x"}]
    parts.append(parts)
    assert format_reward([chat, [assistant(parts)]]) == [0.2, 0.0]
    deep = RIGHT
    for _ in range(100_000):
        deep = [deep]
    assert format_reward([deep, [assistant(deep)]]) == [0.0, 0.0]
    while isinstance(deep, list):       # taken apart by hand: Python itself recurses to free it
        deep = deep[0]


# ── a broken data set ─────────────────────────────────────────────────────────────────────────────────────────────────
COLUMNS = {"nums": [NUMS] * 3, "target": [31] * 3}
# What is wrong, the columns, the row that the message must name and what else it must hold.
BROKEN_COLUMNS = {
    "no nums": ({"target": [31] * 3}, 0, "nums"),
    "no target": ({"nums": [NUMS] * 3}, 0, "target"),
    "no columns": ({}, 0, "nums"),
    "another name": ({"numbers": [NUMS] * 3, "target": [31] * 3}, 0, "nums"),
    "None": ({"nums": None, "target": [31] * 3}, 0, "nums"),
    "nums too short": (COLUMNS | {"nums": [NUMS] * 2}, 2, "nums"),
    "nums too long": (COLUMNS | {"nums": [NUMS] * 4}, 3, "nums"),
    "target too short": (COLUMNS | {"target": [31]}, 1, "target"),
    "target too long": (COLUMNS | {"target": np.array([31] * 5)}, 3, "target"),
    "empty columns": ({"nums": [], "target": []}, 0, "nums"),
    "one row's numbers": (COLUMNS | {"nums": NUMS}, 0, "nums"),
    "one target": (COLUMNS | {"target": 31}, 0, "target"),
    "one target of numpy": (COLUMNS | {"target": np.array(31)}, 0, "target"),
    "one target of torch": (COLUMNS | {"target": torch.tensor(31)}, 0, "target"),
    "a text": (COLUMNS | {"target": "313"}, 0, "target"),
    "nums as a text": (COLUMNS | {"nums": "abc"}, 0, "nums"),
    "a dict": (COLUMNS | {"target": {"a": 31, "b": 31, "c": 31}}, 0, "target"),
    "a set": (COLUMNS | {"target": {30, 31, 32}}, 0, "target"),
    "bytes": (COLUMNS | {"target": b"\x1f\x1f\x1f"}, 0, "target"),
    "an iterator": (COLUMNS | {"target": iter([31] * 3)}, 0, "target"),
}
BROKEN_NUMBERS = {
    "None": None, "a text": "7", "a word": "seven", "bytes": b"7", "True": True, "numpy's True": np.True_,
    "torch's True": torch.tensor(True), "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
    "numpy's nan": np.float32("nan"), "torch's inf": torch.tensor(math.inf), "decimal nan": decimal.Decimal("nan"),
    "decimal snan": decimal.Decimal("snan"), "decimal inf": decimal.Decimal("-inf"),
    "a list": [7], "an array": np.array([7]), "a tensor": torch.tensor([7]), "a dict": {"n": 7}, "complex": 7j,
    "an empty list": [], "NA": pd.NA, "a function": len,
}
BROKEN_NUMS = {
    "None": None, "a number": 7, "a text": "3 7 10", "numpy's text": np.str_("3"), "bytes": b"\3\7", "a set": {3, 7, 10},
    "a dict": {"a": 3}, "no dimension": np.array(3), "nan": math.nan, "an iterator": iter(NUMS), "rows": [NUMS, NUMS],
    "numpy's rows": np.array([NUMS]), "numpy's texts": np.array(["3", "7"]), "numpy's bools": np.array([True, False]),
    "numpy's nan": np.array([3, math.nan]), "JSON": "[3, 7, 10]",
}


@pytest.fixture
def where(each_language):
    """How the message must begin."""
    return {"en": "row {}: ", "ru": "строка {}: "}[each_language]


@pytest.mark.parametrize(("columns", "row", "named"), BROKEN_COLUMNS.values(), ids=BROKEN_COLUMNS)
def test_a_broken_column_is_told(columns, row, named, where):
    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT, "no answer", None], **columns)
    assert str(told.value).startswith(where.format(row))
    assert named in str(told.value)


@pytest.mark.parametrize("value", BROKEN_NUMBERS.values(), ids=BROKEN_NUMBERS)
@pytest.mark.parametrize("name", ["nums", "target"])
@pytest.mark.parametrize("reply", [RIGHT, "no answer", None], ids=["right", "no answer", "no reply"])
def test_a_value_that_is_no_number_is_told_whatever_the_reply(value, name, reply, where):
    columns = {"nums": [NUMS, [3, value, 10] if name == "nums" else NUMS, NUMS],
               "target": [31, value if name == "target" else 31, 31]}
    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT, reply, RIGHT], **columns)
    assert str(told.value).startswith(where.format(1))
    assert name in str(told.value)
    truth = {column: values[1] for column, values in columns.items()}
    with pytest.raises(ValueError) as told:
        compute_score("countdown", reply, truth, {"index": 41})
    assert str(told.value).startswith(where.format(41))
    with pytest.raises(ValueError) as told:
        check_expression("3*7+10", **truth)
    assert not str(told.value).startswith(where[:3])


@pytest.mark.parametrize("nums", BROKEN_NUMS.values(), ids=BROKEN_NUMS)
def test_nums_that_are_no_list_of_numbers_are_told(nums, where):
    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT, "no answer"], nums=[NUMS, nums], target=[31, 31])
    assert str(told.value).startswith(where.format(1))
    assert "nums" in str(told.value)
    with pytest.raises(ValueError, match="nums"):
        compute_score("countdown", "no answer", {"nums": nums, "target": 31})


@pytest.mark.parametrize("truth", [None, 31, "31", "{'nums': [3], 'target': 3}", [3, 7], {}, {"nums": NUMS}, {"target": 31},
                                   {"numbers": NUMS, "target": 31}, np.array(NUMS), frozenset({"nums"})], ids=repr)
def test_a_ground_truth_without_a_task_is_told(truth, where):
    for extra_info, begins in (({"index": np.int64(7)}, where.format(7)), ({}, "ground_truth"), (None, "ground_truth")):
        with pytest.raises(ValueError) as told:
            compute_score("countdown", RIGHT, truth, extra_info=extra_info)
        assert str(told.value).startswith(begins)
        assert "nums" in str(told.value)
        assert "target" in str(told.value)


@pytest.mark.parametrize("completions", [RIGHT, "", None, 3, iter([RIGHT]), assistant(RIGHT), {RIGHT}, RIGHT.encode(),
                                         np.array(RIGHT), torch.tensor(3)],
                         ids=["a text", "no text", "None", "a number", "an iterator", "a message", "a set", "bytes", "numpy",
                              "torch"])
def test_completions_that_are_no_list_are_told(completions, each_language):
    for call in (format_reward, lambda replies: correctness_reward(replies, nums=[NUMS], target=[31])):
        with pytest.raises(ValueError, match={"en": "list of replies", "ru": "список ответов"}[each_language]):
            call(completions)


MESSAGES = [    # the call, and what it says in both languages
    (lambda: correctness_reward([RIGHT], target=[31]),
     "row 0: there is no nums: the data set needs a column of this name, and the trainer must keep it "
     "(remove_unused_columns=False)",
     "строка 0: нет nums: в наборе данных нужен столбец с этим именем, и тренер не должен его отбрасывать "
     "(remove_unused_columns=False)"),
    (lambda: correctness_reward([RIGHT], nums=[NUMS], target="3"),
     "row 0: target must be a column, one value a reply, it is '3'",
     "строка 0: target — это столбец, по значению на ответ, а здесь '3'"),
    (lambda: correctness_reward([RIGHT] * 3, nums=[NUMS] * 2, target=[31] * 3),
     "row 2: nums has 2 values for 3 replies", "строка 2: в nums значений 2, а ответов 3"),
    (lambda: correctness_reward([RIGHT], nums=[[3, "7"]], target=[31]),
     "row 0: nums holds '7', which is not a number", "строка 0: в nums стоит '7', а это не число"),
    (lambda: correctness_reward([RIGHT], nums=["3 7"], target=[31]),
     "row 0: nums must be a list of numbers, it is '3 7'", "строка 0: nums — это список чисел, а здесь '3 7'"),
    (lambda: check_expression("3", [3], None),
     "target holds None, which is not a number", "в target стоит None, а это не число"),
    (lambda: compute_score("", "3", [3], {"index": 8}),
     "row 8: ground_truth must be {'nums': […], 'target': …}, it is [3]",
     "строка 8: ground_truth должен быть вида {'nums': […], 'target': …}, а это [3]"),
    (lambda: format_reward("3"), "completions must be a list of replies, it is '3'",
     "completions — это список ответов, а здесь '3'"),
]


@pytest.mark.parametrize(("call", "en", "ru"), MESSAGES, ids=range(len(MESSAGES)))
def test_messages_say_what_is_wrong_and_show_it(call, en, ru, each_language):
    with pytest.raises(ValueError) as told:
        call()
    assert str(told.value) == {"en": en, "ru": ru}[each_language]


def test_messages_are_short_even_for_long_values(each_language):
    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT], nums=[NUMS], target=["x" * 10**6])
    assert len(str(told.value)) < 200
    with pytest.raises(ValueError) as told:
        compute_score("countdown", RIGHT, list(range(10**5)))
    assert len(str(told.value)) < 250


def test_only_the_data_set_is_told(each_language):
    """A reply that fails is no reason to stop: the same columns pass with it."""
    assert correctness_reward([None, 3, [], Hostile(), "\ud800"], nums=[NUMS] * 5, target=[31] * 5) == [0.0] * 5


@pytest.mark.parametrize(("nums", "target"), [([10**5000, 1], 3), ([-10**5000], 3), ([[10**5000]], 3), ([3], [10**5000])])
def test_a_number_that_python_cannot_write_is_told_with_its_row(nums, target, where):
    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT, RIGHT], nums=[[3, 7, 10], nums], target=[31, target])
    assert str(told.value).startswith(where.format(1))


def test_a_huge_target_is_a_number_like_others():
    assert correctness_reward([RIGHT], nums=[[3, 7, 10]], target=[10**5000]) == [0.0]


def test_a_number_without_a_ratio_is_told(where):
    class Odd(float):
        def __getattribute__(self, name):
            if name == "as_integer_ratio":
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(ValueError) as told:
        correctness_reward([RIGHT], nums=[[3, Odd(7), 10]], target=[31])
    assert str(told.value).startswith(where.format(0))
