"""The launcher, as far as no verl is needed: presets, the command, the plan, what is refused."""
import json
import re
import shlex
import subprocess
import sys

import pytest

from lib.llm import launch_verl
from lib.llm.launch_verl import asked, memory, parser, plan, sizes_of
from lib.llm.presets import OVERLONG, TINY_PRESET
from lib.llm.sizing import MODELS
from lib.llm.verl_presets import GSM8K_GRPO, PRESETS, cluster, dapo, overrides, read_settings, settings_for, shell

# The lesson's command, key by key.
LESSON = {
    "algorithm.adv_estimator": "grpo", "algorithm.use_kl_in_reward": "False", "data.train_batch_size": "128",
    "data.max_prompt_length": "512", "data.max_response_length": "512",
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-0.5B-Instruct", "actor_rollout_ref.actor.optim.lr": "1e-6",
    "actor_rollout_ref.actor.ppo_mini_batch_size": "64", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": "8",
    "actor_rollout_ref.actor.use_kl_loss": "True", "actor_rollout_ref.actor.kl_loss_coef": "0.001",
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl", "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.n": "8", "actor_rollout_ref.rollout.tensor_model_parallel_size": "1",
    "actor_rollout_ref.rollout.gpu_memory_utilization": "0.5",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": "8",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": "8", "trainer.logger": "console",
    "trainer.n_gpus_per_node": "4", "trainer.nnodes": "1", "trainer.test_freq": "10", "trainer.save_freq": "50",
    "trainer.total_epochs": "3",
}


def test_the_printed_command_is_the_lessons():
    words = dict(word.split("=", 1) for word in shlex.split(shell(GSM8K_GRPO, {}).replace("\\\n", " "))[3:])
    assert {name: words[name] for name in LESSON} == LESSON
    assert set(words) - set(LESSON) == {"data.train_files", "data.val_files"}


def test_a_shell_gives_the_words_back():
    settings = settings_for("gsm8k-dapo", {"data.train_files": "my data/train.parquet"})
    assert shlex.split(shell(settings, {"A": "b"}).replace("\\\n", " "))[4:] == overrides(settings)


def test_a_set_key_replaces_the_presets_with_or_without_plus():
    chosen = {"reward.reward_kwargs.max_resp_len": "9", "+trainer.nnodes": "2"}
    found = settings_for("gsm8k-dapo", chosen)
    names = [name.lstrip("+") for name in found]
    assert len(names) == len(set(names))
    assert (found["reward.reward_kwargs.max_resp_len"], found["+trainer.nnodes"]) == ("9", "2")


def test_wrong_words_are_told(each_language):
    with pytest.raises(ValueError, match="gsm8k-grpo"):
        settings_for("gsm8k-gppo", {})
    for item in ("trainer.nnodes", "=2", "+=2"):
        with pytest.raises(ValueError, match="--set"):
            read_settings([item])


def test_countdown_on_a_cpu_has_the_settings_of_the_trl_lesson():
    verl = settings_for("countdown-grpo", {}, cpu=True)
    assert verl["data.max_response_length"] == TINY_PRESET["max_completion_length"]
    assert verl["actor_rollout_ref.actor.optim.lr"] == TINY_PRESET["learning_rate"]
    assert verl["actor_rollout_ref.actor.optim.lr_warmup_steps"] == TINY_PRESET["warmup_steps"]
    assert verl["actor_rollout_ref.rollout.n"] == TINY_PRESET["num_generations"]
    assert verl["data.train_batch_size"] * verl["actor_rollout_ref.rollout.n"] == TINY_PRESET["per_device_train_batch_size"]
    assert verl["actor_rollout_ref.actor.clip_ratio_high"] == TINY_PRESET["epsilon_high"]
    assert verl["trainer.total_training_steps"] == TINY_PRESET["max_steps"]
    assert f"len:{OVERLONG}," in verl["+reward.reward_kwargs.overlong_buffer_cfg"]


def test_dapo_differs_from_grpo_in_its_own_keys_only():
    changed = {name for name, value in PRESETS["gsm8k-dapo"].items() if GSM8K_GRPO.get(name) != value}
    assert changed == set(dapo(512, 128))


# ── the plan ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_lessons_arithmetic(each_language):
    text = plan(settings_for("gsm8k-grpo", {}), False, 80)
    assert re.search(r"128 (prompts )?[x×] 8 = 1024 .* 524288.*: 2 ", text)


def test_memory_of_a_gpu():
    """FSDP shares 16 bytes a parameter, and 4 of the reference where there is a KL loss."""
    n = MODELS["Qwen2.5-0.5B"].parameters
    found = memory(MODELS["Qwen2.5-0.5B"], settings_for("gsm8k-grpo", {}), 4, 80)
    assert found["state"] == pytest.approx(4e-9 * n)
    assert found["reference"] == pytest.approx(1e-9 * n)
    assert found["vllm"] == 40
    assert found["batch"] > 6e-9 * 8 * 1024 * 151936
    assert memory(MODELS["Qwen2.5-0.5B"], settings_for("gsm8k-dapo", {}), 4, 80)["reference"] == 0


def test_what_does_not_fit_is_refused(each_language):
    model = {"actor_rollout_ref.model.path": "Qwen/Qwen2.5-7B-Instruct"}
    with pytest.raises(ValueError, match="lora_rank"):
        plan(settings_for("gsm8k-grpo", model), False, 24)
    assert "gpu_memory_utilization" in plan(settings_for("gsm8k-grpo", {
        "actor_rollout_ref.rollout.gpu_memory_utilization": "0.95"}), False, 16)
    assert "gpu_memory_utilization" not in plan(settings_for("gsm8k-grpo", model | {
        "trainer.n_gpus_per_node": "8"}), False, 80)


def test_sizes_by_name_or_by_folder(tmp_path):
    assert sizes_of("Qwen/Qwen2.5-1.5B-Instruct") == sizes_of("Qwen/Qwen2.5-1.5B") == MODELS["Qwen2.5-1.5B"]
    assert sizes_of("somebody/else") is None
    (tmp_path / "config.json").write_text((launch_verl.BASE / "config.json").read_text())
    assert sizes_of(str(tmp_path)).parameters == 437_824
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    assert sizes_of(str(tmp_path)) is None


def test_a_number_that_is_none_is_told(each_language):
    with pytest.raises(ValueError, match="train_batch_size"):
        plan(settings_for("gsm8k-grpo", {"data.train_batch_size": "many"}), False, 80)


# ── the command line ──────────────────────────────────────────────────────────────────────────────────────────────────
def settings(tmp_path, *words):
    return asked(parser().parse_args(list(words)), tmp_path / "out")


def test_flags_become_keys(tmp_path):
    found = settings(tmp_path, "gsm8k-grpo", "--gpus", "8", "--nodes", "2", "--model", "M", "--steps", "9", "--set",
                     "trainer.test_freq=5")
    assert (found["trainer.n_gpus_per_node"], found["trainer.nnodes"], found["actor_rollout_ref.model.path"],
            found["trainer.total_training_steps"], found["trainer.test_freq"]) == (8, 2, "M", 9, "5")
    assert found["trainer.default_local_dir"].endswith("out/checkpoints")


def test_on_a_cpu_model_and_data_are_the_courses(tmp_path):
    found = settings(tmp_path, "countdown-grpo", "--cpu")
    assert found["actor_rollout_ref.model.path"] == str(launch_verl.BASE)
    assert found["data.train_files"] == str(tmp_path / "out/data/train.parquet")


@pytest.mark.parametrize(("words", "said"), [
    (["gsm8k-dapo", "--cpu"], "countdown-dapo"), (["gsm8k-grpo", "--cpu", "--gpus", "2"], "--gpus"),
    (["gsm8k-grpo", "--resume"], "save_freq")])
def test_what_cannot_work_is_refused(words, said, tmp_path, each_language):
    with pytest.raises(ValueError, match=said):
        settings(tmp_path, *words)


def test_resume_names_the_last_checkpoint(tmp_path):
    (tmp_path / "out/checkpoints").mkdir(parents=True)
    (tmp_path / "out/checkpoints/latest_checkpointed_iteration.txt").write_text("50")
    found = settings(tmp_path, "gsm8k-grpo", "--resume")
    assert found["trainer.resume_from_path"] == str(tmp_path / "out/checkpoints/global_step_50")
    assert found["trainer.resume_mode"] == "resume_path"


def test_a_folder_with_a_run_is_not_written_over(tmp_path, each_language):
    launch_verl.claim(tmp_path / "new", resume=False)
    (tmp_path / "new/data").mkdir()
    launch_verl.claim(tmp_path / "new", resume=False)        # what --check prepares
    (tmp_path / "new/console.log").write_text("dear")
    with pytest.raises(ValueError, match="--resume"):
        launch_verl.claim(tmp_path / "new", resume=False)
    launch_verl.claim(tmp_path / "new", resume=True)


def test_without_verl_the_command_says_how_to_get_it(monkeypatch, tmp_path, each_language):
    monkeypatch.setattr(launch_verl, "ENVIRONMENT", tmp_path)
    with pytest.raises(ValueError, match="make verl"):
        launch_verl.verl_python()


def test_print_starts_nothing_and_tells_of_the_cluster(tmp_path):
    words = [sys.executable, "-m", "lib.llm.launch_verl", "gsm8k-grpo", "--nodes", "2", "--print"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert cluster(2, 4).splitlines()[1] in done.stdout
    assert "trainer.nnodes=2" in done.stdout
    assert list(tmp_path.iterdir()) == []


class TestRun:
    """The launcher around a program that speaks like verl."""

    def go(self, tmp_path, code):
        import os
        return launch_verl.run([sys.executable, "-c", code], os.environ, tmp_path)

    def test_rows_are_kept_and_lines_printed(self, tmp_path, capsys):
        code = ("print('noise'); print('(T pid=1) step:1 - critic/score/mean:0.5 - response_length/mean:30.0 - "
                "actor/entropy:0.2 - timing_s/step:3.0')")
        assert self.go(tmp_path, code) == 0
        assert json.loads((tmp_path / "rows.jsonl").read_text())["reward"] == 0.5
        assert "step 1: reward 0.50, length 30, entropy 0.20, 3.0 s" in capsys.readouterr().out
        assert "noise" in (tmp_path / "console.log").read_text()

    def test_a_failure_shows_its_last_lines(self, tmp_path, capsys):
        assert self.go(tmp_path, "print('why it failed'); raise SystemExit(3)") == 1
        told = capsys.readouterr().err
        assert "why it failed" in told
        assert "exit code 3" in told
