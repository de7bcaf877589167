"""The generator and its data sets."""
import json
import os
import random
import subprocess
import sys
from collections import Counter

import pytest

from lib.countdown import (
    PROMPT,
    PROMPTS,
    correctness_reward,
    from_dataset,
    load_tasks,
    make_countdown,
    save_tasks,
    to_dataset,
    with_difficulty,
)
from lib.countdown import tasks as module
from lib.countdown.solver import difficulty, solutions
from lib.countdown.tasks import SPLITS, prompt, split_of, task_key
from lib.countdown.verifier import TAGS

SETTINGS = {
    "default": {},
    "two numbers": {"n_numbers": 2},
    "four numbers": {"n_numbers": 4},
    "division": {"operators": "+-*/"},
    "any shape": {"shapes": "any"},
    "all of it": {"n_numbers": 4, "operators": "+-*/", "shapes": "any", "largest": 50, "max_target": 500},
    "small": {"largest": 6, "max_target": 10},
}


def lessons_draws(seed):
    """The lesson's generator, written anew: every draw that it keeps, repeats too."""
    rng = random.Random(seed)
    while True:
        nums = [rng.randint(1, 20) for _ in range(3)]
        a, b, c = rng.sample(nums, 3)
        first, second = rng.choice("+-*"), rng.choice("+-*")
        ab = {"+": a + b, "-": a - b, "*": a * b}[first]
        target = {"+": ab + c, "-": ab - c, "*": ab * c}[second]
        if 1 <= target <= 100:
            yield {"nums": nums, "target": target}


# ── what it draws ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_first_three_are_the_lessons():
    assert make_countdown(3) == [{"nums": [12, 19, 7], "target": 38}, {"nums": [3, 11, 16], "target": 2},
                                 {"nums": [1, 3, 13], "target": 15}]


@pytest.mark.parametrize("seed", [0, 1, 777])
def test_it_draws_as_the_lesson_does_and_leaves_out_repeats_and_other_splits(seed):
    found, seen = [], set()
    for task in lessons_draws(seed):
        if task_key(task) not in seen and split_of(task) == "train":
            found.append(task)
            seen.add(task_key(task))
        if len(found) == 2000:
            break
    assert make_countdown(2000, seed) == found


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_holds_what_it_says(name):
    settings = SETTINGS[name]
    found = make_countdown(200, seed=3, **settings)
    assert len({task_key(task) for task in found}) == 200
    for task in found:
        assert set(task) == {"nums", "target"}
        assert len(task["nums"]) == settings.get("n_numbers", 3)
        assert all(1 <= n <= settings.get("largest", 20) for n in task["nums"])
        assert type(task["target"]) is int
        assert 1 <= task["target"] <= settings.get("max_target", 100)
    assert all(solutions(task["nums"], task["target"]) for task in found[: 60 if len(found[0]["nums"]) > 3 else 200])
    assert found == make_countdown(200, seed=3, **settings)
    assert found != make_countdown(200, seed=4, **settings)


def chain_values(nums):
    from itertools import permutations, product
    return {op2(op1(a, b), c) for a, b, c in permutations(nums) for op1, op2 in product(
        (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y), repeat=2)}


def test_any_shape_reaches_what_a_chain_does_not():
    """a - b*c, which no (x ∘ y) ∘ z of the same numbers equals: few, since b*c is seldom smaller than a."""
    new = [task for task in make_countdown(1000, shapes="any") if task["target"] not in chain_values(task["nums"])]
    assert 1 <= len(new) < 100
    assert all(task["target"] in chain_values(task["nums"]) for task in make_countdown(1000))
    assert all(a - b * c == task["target"] for task in new for a, b, c in [sorted(task["nums"])[::-1]])


def test_division_makes_tasks_that_need_it():
    needs = [task for task in make_countdown(300, operators="+-*/") if not solutions(task["nums"], task["target"], "+-*")]
    assert needs
    assert not any("/" not in text for task in needs for text in solutions(task["nums"], task["target"]))


def test_another_process_draws_the_same():
    code = "from lib.countdown import make_countdown; print(make_countdown(50, 5, operators='+-*/', shapes='any'))"
    for hash_seed in ("0", "1"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env=os.environ | {"PYTHONHASHSEED": hash_seed})
        assert eval(done.stdout) == make_countdown(50, 5, operators="+-*/", shapes="any")  # noqa: S307 - our own output


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_parts_never_overlap_whatever_the_seed_and_the_settings():
    parts = {split: {task_key(task) for seed in range(5) for settings in ({}, {"operators": "+-*/", "shapes": "any"})
                     for task in make_countdown(300, seed, split=split, **settings)} for split in SPLITS}
    for one in SPLITS:
        for other in SPLITS:
            assert one == other or not parts[one] & parts[other]
    for split, keys in parts.items():
        for *nums, target in list(keys)[:100]:
            assert split_of({"nums": nums[::-1], "target": target}) == split, "the order of the numbers does not matter"


def test_shares_of_the_parts():
    """n = 5000 different tasks: 80, 10 and 10 % within 3.5 standard errors of a binomial share (2.0 and 1.5 points)."""
    counts = Counter(split_of(task) for task in make_countdown(5000, split="all"))
    for split, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert abs(counts[split] / 5000 - share) < 3.5 * (share * (1 - share) / 5000) ** 0.5


def test_all_is_all():
    everything = {task_key(task) for task in make_countdown(1000, split="all")}
    assert len(everything) == 1000
    assert {task_key(task) for task in make_countdown(500)} <= everything


# ── settings that cannot work ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("settings", "named"), [
    ({"n_tasks": -1}, "n_tasks"), ({"n_tasks": 2.5}, "n_tasks"), ({"n_tasks": True}, "n_tasks"),
    ({"n_numbers": 1}, "n_numbers"), ({"n_numbers": "3"}, "n_numbers"),
    ({"operators": ""}, "operators"), ({"operators": "+^"}, "operators"), ({"operators": None}, "operators"),
    ({"shapes": "tree"}, "shapes"), ({"largest": 0}, "largest"), ({"max_target": 0}, "max_target"),
    ({"split": "dev"}, "split"),
])
def test_bad_settings_are_named(settings, named, each_language):
    with pytest.raises(ValueError, match=f"^{named} "):
        make_countdown(**({"n_tasks": 3} | settings))


@pytest.mark.parametrize("settings", [{"largest": 2}, {"n_numbers": 2, "operators": "/", "largest": 5}, {"operators": "*",
                                      "largest": 100, "max_target": 1}])
def test_more_tasks_than_there_are(settings, each_language):
    with pytest.raises(ValueError, match="1000") as told:
        make_countdown(1000, **settings)
    there = int(next(word for word in str(told.value).split() if word.strip(",").isdigit()).strip(","))
    assert len(make_countdown(there, **settings)) == there


def test_no_tasks():
    assert make_countdown(0) == []


# ── data sets ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_difficulty_columns(capsys):
    found = with_difficulty(make_countdown(20))
    for task, plain in zip(found, make_countdown(20), strict=True):
        assert task == plain | difficulty(plain["nums"], plain["target"])._asdict()
    assert not capsys.readouterr().err, "no bar where nobody looks"


def test_prompts():
    assert PROMPTS["ru"] == PROMPT
    for language, text in PROMPTS.items():
        message, = prompt({"nums": [3, 7, 10], "target": 31, "solutions": 1}, language)
        assert message == {"role": "user", "content": text.format(nums=[3, 7, 10], target=31)}
        assert "[3, 7, 10]" in message["content"]
        assert "31" in message["content"]
        assert all(tag in message["content"] for tag in TAGS)
        assert all(sign in message["content"] for sign in "+-*/")
    assert any("а" <= letter <= "я" for letter in PROMPTS["ru"])
    assert PROMPTS["en"].isascii()
    with pytest.raises(ValueError, match="language"):
        prompt({"nums": [1], "target": 1}, "de")


def test_the_data_set_is_what_trl_takes():
    found = with_difficulty(make_countdown(40))
    data = to_dataset(found, "en")
    assert data.column_names == ["prompt", "nums", "target", "solutions", "plus_minus"]
    assert data[0]["prompt"] == prompt(found[0], "en")
    assert from_dataset(data) == found
    columns = data[:]                                             # as a trainer hands them on
    replies = [[{"role": "assistant", "content": f"<answer>{solutions(task['nums'], task['target'])[0]}</answer>"}]
               for task in found]
    assert correctness_reward(prompts=columns["prompt"], completions=replies, nums=columns["nums"],
                              target=columns["target"]) == [1.0] * 40
    assert to_dataset(found)[0]["prompt"][0]["content"].startswith(PROMPT.split("{")[0])


def test_without_the_library_a_sentence_says_what_to_install(monkeypatch, each_language):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ModuleNotFoundError, match="pip install datasets"):
        to_dataset(make_countdown(1))


def test_files_bring_back_what_was_saved(tmp_path):
    path = tmp_path / "train.jsonl"
    for found in (make_countdown(30), with_difficulty(make_countdown(5)), []):
        save_tasks(found, path)
        assert load_tasks(path) == found
        assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == found
        path.unlink()


def test_a_file_is_not_overwritten(tmp_path, each_language):
    path = tmp_path / "train.jsonl"
    save_tasks(make_countdown(3), path)
    with pytest.raises(FileExistsError, match=r"train\.jsonl"):
        save_tasks(make_countdown(5, seed=1), path)
    assert load_tasks(path) == make_countdown(3)


@pytest.mark.parametrize("line", ["{", "[]", '{"nums": [1, 2]}', '{"nums": "12", "target": 3}', '{"nums": [], "target": 3}',
                                  '{"nums": [1, "2"], "target": 3}', '{"nums": [1, 2.5], "target": 3}', "null",
                                  '{"nums": [1, true], "target": 3}', '{"nums": [1, 2], "target": "3"}'])
def test_a_broken_line_is_named(tmp_path, line, each_language):
    path = tmp_path / "train.jsonl"
    path.write_text('{"nums": [1, 2], "target": 3}\n\n' + line + "\n")
    with pytest.raises(ValueError, match=r"train\.jsonl:3: "):
        load_tasks(path)


def test_patience_ends_a_search_soon(monkeypatch):
    """The number of draws without a new task is bounded, so the error comes after seconds and not never."""
    draws = []
    monkeypatch.setattr(module, "_target", lambda *_: draws.append(1))      # None each time: no task at all
    with pytest.raises(ValueError, match="hardly more than 0"):
        make_countdown(1)
    assert len(draws) <= module.PATIENCE + 1
