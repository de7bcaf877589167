"""The settings of a TRL run, checked against the installed TRL."""
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import torch
import trl
from trl import GRPOConfig

from lib.llm import presets
from lib.llm.presets import CHOICES, CPU_PRESET, HUB_PRESET, TINY_PRESET, config_for, read_settings

GRPO_SOURCE = (Path(trl.__file__).parent / "trainer" / "grpo_trainer.py").read_text(encoding="utf-8")


def test_the_lessons_settings_are_the_defaults_for_models_of_the_hub():
    lesson = {"num_generations": 8, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4,
              "max_completion_length": 256, "learning_rate": 1e-6, "max_steps": 300, "beta": 0.0, "loss_type": "dapo",
              "epsilon_high": 0.28, "logging_steps": 5, "log_completions": True, "report_to": "none"}
    assert lesson.items() <= HUB_PRESET.items()


@pytest.mark.parametrize("model", ["tiny", "Qwen/Qwen2.5-0.5B-Instruct"])
def test_every_preset_builds_with_the_installed_trl(model, tmp_path):
    config = config_for(model, {}, tmp_path)
    wanted = (TINY_PRESET if model == "tiny" else HUB_PRESET) | CPU_PRESET
    for name, value in wanted.items():
        found = getattr(config, name)
        assert found == value or found == [value] or (name == "report_to" and found == []), name


def test_trls_own_defaults_fail_on_a_cpu(tmp_path):
    """Why CPU_PRESET is there. Where this stops failing, the preset can go."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="bf16"):
        GRPOConfig(output_dir=str(tmp_path))


@pytest.mark.parametrize("name", ["loss_type", "scale_rewards", "importance_sampling_level"])
def test_the_choices_are_those_of_the_installed_trl(name):
    quoted = set()
    for text in re.findall(rf"{name} (?:==|!=|in|not in) (\[[^\]]*\]|\"\w+\")", GRPO_SOURCE):
        quoted |= set(re.findall(r'"(\w+)"', text))
    assert quoted <= set(CHOICES[name])
    assert set(CHOICES[name]) == quoted or name == "importance_sampling_level"


@pytest.mark.parametrize("loss", CHOICES["loss_type"])
def test_each_loss_builds(loss, tmp_path):
    assert config_for("tiny", {"loss_type": loss}, tmp_path).loss_type == loss


@pytest.mark.parametrize(("item", "value"), [
    ("beta=0.04", 0.04), ("max_completion_length=64", 64), ("loss_type=dr_grpo", "dr_grpo"), ("bf16=false", False),
    ("mask_truncated_completions=true", True), ("seed=3", 3), ("epsilon_high=None", None), ("learning_rate=3e-4", 3e-4),
    ("run_name=a=b", "a=b"), ("scale_rewards=none", "none"), ("optim=adafactor", "adafactor")])
def test_values_get_the_type_of_their_field(item, value):
    [(name, found)] = read_settings([item]).items()
    assert (name, found) == (item.partition("=")[0], value)
    assert value is None or type(found) is type(value) or str(found.value) == value


def test_every_field_of_grpoconfig_can_be_named():
    for field in fields(GRPOConfig):
        if field.name in presets.OURS:
            with pytest.raises(ValueError, match="is not set here"):
                read_settings([f"{field.name}=1"])
        elif field.name not in CHOICES:
            assert read_settings([f"{field.name}=None"]) == {field.name: None}


@pytest.mark.parametrize(("item", "words"), [
    ("betta=1", "nearest: beta"),
    ("max_prompt_length=512", "nearest: max_"),            # TRL had it once
    ("num_generation=8", "nearest: num_generations"),
    ("qqqq=1", "--fields"),
    ("beta", "name=value"),
    ("beta=much", "beta=much does not fit"),
    ("max_completion_length=1.5", "does not fit"),
    ("loss_type=dpao", "did you mean dapo"),
    ("scale_rewards=batches", "did you mean batch"),
    ("output_dir=/x", "--out"),
    ("max_steps=9", "--max-steps"),
])
def test_what_cannot_be_set_is_told_in_a_sentence(item, words):
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        read_settings([item])
    assert len(str(error.value).splitlines()) == 1


def test_a_wrong_loss_is_noticed_before_anything_is_loaded(tmp_path):
    with pytest.raises(ValueError, match="did you mean grpo"):
        config_for("tiny", {"loss_type": "grppo"}, tmp_path)


def test_settings_are_read_without_warnings():
    code = "import warnings; warnings.simplefilter('error', FutureWarning)\n" \
           "from lib.llm.presets import config_for; config_for('tiny', {}, 'x')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
