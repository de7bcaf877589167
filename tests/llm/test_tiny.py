"""The tiny model: its tokens, what SFT teaches it, and the shipped base."""
import json
import random
import re
import shutil

import pytest
import torch

from lib.countdown import correctness_reward, format_reward, make_countdown
from lib.countdown.tasks import prompt
from lib.i18n import LANGUAGES
from lib.llm import tiny
from lib.llm.models import load, rendered
from lib.toy.evaluate import mean_interval

TASKS = make_countdown(300, seed=5)


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.new_tokenizer()


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_prompt_is_a_few_tokens_and_comes_back_whole(tokenizer, language):
    for task in TASKS:
        text = rendered(tokenizer, prompt(task, language))
        ids = tokenizer(text, add_special_tokens=False).input_ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.unk_token_id not in ids
        assert len(ids) <= 18
        assert {str(n) for n in (*task["nums"], task["target"])} <= set(tokenizer.convert_ids_to_tokens(ids))


def test_every_reply_comes_back_whole(tokenizer):
    rng = random.Random(0)
    for task in TASKS:
        text, _ = tiny.reply(task, rng, luck=0.3, quitting=0.2)
        ids = tokenizer(text + tiny.END, add_special_tokens=False).input_ids
        assert tokenizer.decode(ids) == text + tiny.END
        assert tokenizer.unk_token_id not in ids


def test_the_verdicts_speak_no_language(tokenizer):
    assert not re.search("[A-Za-zА-Яа-я]", tiny.NO + tiny.YES)
    assert len(tokenizer(tiny.NO + tiny.YES).input_ids) == 2


def test_the_tokenizer_survives_a_folder(tokenizer, tmp_path):
    model = tiny.new_model(tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    _, again = load(str(tmp_path))
    text = rendered(tokenizer, prompt(TASKS[0], "ru"))
    assert again(text).input_ids == tokenizer(text).input_ids
    assert again.chat_template == tokenizer.chat_template
    assert again.padding_side == "left"


# ── what SFT teaches ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_attempts_are_right_arithmetic_and_complete():
    found = tiny.attempts([3, 7, 10])
    for x, op1, y, v, op2, z, r in found:
        assert sorted((x, y, z)) == [3, 7, 10]
        assert eval(f"{x}{op1}{y}") == v     # noqa: S307  its own numbers
        assert eval(f"{v}{op2}{z}") == r     # noqa: S307
        assert 0 <= v <= 120
        assert 0 <= r <= 120
    assert (7, "*", 3, 21, "+", 10, 31) in found
    # by hand: 3 choices of the last number x 3 x 3, less those that leave 0 … 120
    every = [(v, r) for a, b, c in ((10, 7, 3), (10, 3, 7), (7, 3, 10)) for v in (a + b, a - b, a * b)
             for r in (v + c, v - c, v * c)]
    assert len(found) == sum(0 <= v <= 120 and 0 <= r <= 120 for v, r in every)


@pytest.mark.parametrize(("luck", "quitting"), [(0.0, 0.3), (0.0, 0.9), (0.3, 0.05), (1.0, 0.0)])
def test_a_reply_has_the_form_and_knows_whether_it_is_right(luck, quitting):
    rng = random.Random(1)
    for task in TASKS:
        text, solved = tiny.reply(task, rng, luck, quitting)
        assert format_reward([text]) == [0.2]
        assert correctness_reward([text], [task["nums"]], [task["target"]]) == [float(solved)]
        lines = text.removeprefix("<think>").partition("</think>")[0].splitlines()
        assert 1 <= len(lines) <= 10
        assert [line.endswith("✓") for line in lines] == [False] * (len(lines) - 1) + [solved]
        if len(set(task["nums"])) == 3:
            assert len(set(lines)) == len(lines), "an attempt was made twice"
        for line in lines:
            result = int(re.search(r"=(\d+) .$", line)[1])
            assert (result == task["target"]) == line.endswith("✓")


def test_luck_and_quitting_do_what_they_say():
    rng = random.Random(2)
    first_try = [tiny.reply(task, rng, luck=1.0, quitting=0.0) for task in TASKS]
    assert all(solved and text.count("=") == 2 for text, solved in first_try if "✓" in text)
    assert sum(solved for _, solved in first_try) > 0.99 * len(TASKS)      # a few need a number beyond 120
    assert all(tiny.reply(task, rng, luck=0.0, quitting=1.0)[0].count("=") == 2 for task in TASKS)
    patient = [tiny.reply(task, rng, luck=0.0, quitting=0.0, most=100)[1] for task in TASKS]
    assert sum(patient) > 0.99 * len(TASKS)


def test_the_mixture_has_the_shares_that_the_lesson_states():
    """Of the replies that the base shall write: 24 % right (n = 4000), half of them by lazy and half by patient writers."""
    rng = random.Random(3)
    steps = 1000
    styles = [tiny.style(step, steps, rng) for step in range(steps)]
    assert styles[:700] == [(0.3, 0.05)] * 700
    assert {quitting for _, quitting in styles[700:]} == {0.3, 0.9}
    tasks = make_countdown(4000)
    right = [tiny.reply(task, rng, *tiny.style(999, steps, rng))[1] for task in tasks]
    share = mean_interval(map(float, right))
    assert abs(share.mean - 0.24) < 0.02
    diligent = mean_interval(float(tiny.reply(task, rng, *tiny.style(0, steps, rng))[1]) for task in tasks)
    assert abs(diligent.mean - 0.93) < 0.02


def test_only_replies_are_learned(tokenizer):
    asked = {tokenizer.convert_tokens_to_ids("assistant\n")}
    for inputs, labels in tiny._batches(tokenizer, TASKS, steps=6, seed=0):
        assert inputs.numel() <= tiny.TOKENS
        for ids, learned in zip(inputs.tolist(), labels.tolist(), strict=True):
            start = max(i for i, token in enumerate(ids) if token in asked) + 1
            end = max(i for i, token in enumerate(ids) if token == tokenizer.eos_token_id) + 1
            assert learned[:start] == [-100] * start
            assert learned[start:end] == ids[start:end]
            assert learned[end:] == [-100] * (len(ids) - end)
            assert tokenizer.decode(ids[start:end]).startswith("<think>")


def test_both_languages_are_taught(tokenizer):
    heads = {tokenizer.decode([token]) for inputs, _ in tiny._batches(tokenizer, TASKS, 4, 0)
             for token in inputs[:, 2].tolist()}
    assert len(heads) == 2


def test_a_few_steps_of_sft_teach_and_repeat(tokenizer):
    before = torch.random.get_rng_state()
    losses = [list(tiny.teach(tiny.new_model(tokenizer, seed), tokenizer, TASKS, 30, progress=False)) for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert losses[0] == losses[1] != losses[2]
    assert [step for step, _ in losses[0]] == list(range(1, 31))
    assert losses[0][-1][1] < 0.75 * losses[0][0][1]


def test_verdicts_weigh_four_times(tokenizer):
    """The loss of the first step, by a plain loop over its tokens."""
    model = tiny.new_model(tokenizer)
    inputs, labels = next(tiny._batches(tokenizer, TASKS, 1, 0))
    with torch.no_grad():
        logps = model(input_ids=inputs).logits.log_softmax(-1)
    verdicts = set(tokenizer.convert_tokens_to_ids([tiny.NO, tiny.YES]))
    total = weight = 0.0
    for row in range(len(inputs)):
        for at in range(1, inputs.shape[1]):
            if (token := labels[row, at].item()) >= 0:
                w = 4.0 if token in verdicts else 1.0
                total, weight = total - w * logps[row, at - 1, token].item(), weight + w
    [(_, loss)] = tiny.teach(tiny.new_model(tokenizer), tokenizer, TASKS, 1, progress=False)
    assert loss == pytest.approx(total / weight, rel=1e-4)


# ── the shipped base ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_shipped_base_is_what_its_manifest_says():
    manifest = tiny.manifest()
    assert {name: manifest[name] for name in tiny.recipe()} == tiny.recipe()
    tiny.check_base()
    model, _ = load()
    assert sum(p.numel() for p in model.parameters()) == 437_824
    assert (tiny.BASE / "model.safetensors").stat().st_size < 2_000_000


def test_a_damaged_base_is_told(tmp_path):
    folder = shutil.copytree(tiny.BASE, tmp_path / "base")
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(1000)
        file.write(b"\x01")
    with pytest.raises(ValueError, match=r"damaged.*git checkout"):
        tiny.check_base(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="damaged"):
        tiny.check_base(folder)


def test_the_command_makes_a_base(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tiny", str(tmp_path / "base"), "--seed", "7", "--steps", "2"])
    tiny.main()
    made = json.loads((tmp_path / "base" / "manifest.json").read_text(encoding="utf-8"))
    assert (made["seed"], made["steps"], made["tasks"]) == (7, 2, tiny.TASKS)
    tiny.check_base(tmp_path / "base")
    load(str(tmp_path / "base"))
    with pytest.raises(ValueError, match="name a new folder"):
        tiny.main()
