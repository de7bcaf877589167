"""The settings of a TRL run: the lesson's for models of the hub, tuned ones for the tiny model, and what the user sets.

    config_for("Qwen/Qwen2.5-0.5B-Instruct", {"beta": 0.04}, output_dir="runs/qwen")        # a GRPOConfig

Settings are checked against the installed TRL before anything is loaded: it would notice some of them only hours later.
"""
import argparse
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path

from lib.i18n import tr

TINY = "tiny"       # the name of the shipped base
OVERLONG = 50       # of the tiny model's 200 tokens: where DAPO's soft punishment begins to grow
HUB_PRESET = {
    "num_generations": 8,                # G, the completions a prompt
    "per_device_train_batch_size": 8,    # completions on a card at once
    "gradient_accumulation_steps": 4,    # 8 x 4 / 8 = 4 prompts an optimizer step on one card
    "max_completion_length": 256,
    "learning_rate": 1e-6,
    "max_steps": 300,
    "beta": 0.0,                         # no KL term, so no reference model in memory
    "loss_type": "dapo",                 # token-level averaging
    "epsilon_high": 0.28,                # Clip-Higher
    "logging_steps": 5,
    "log_completions": True,             # saved with rewards and advantages: read them
    "num_completions_to_print": 2,       # without it TRL prints every one
    "save_steps": 50,
    "save_total_limit": 2,
    "report_to": "none",
}
# What differs for the tiny model: 1e-6 teaches it nothing in 60 steps, and all 64 completions of a step fit at once.
TINY_PRESET = HUB_PRESET | {
    "per_device_train_batch_size": 64,
    "gradient_accumulation_steps": 1,
    "max_completion_length": 200,
    "learning_rate": 3e-4,
    "lr_scheduler_type": "constant_with_warmup",
    "warmup_steps": 5,
    "max_steps": 60,
    "save_steps": 20,
    "num_completions_to_print": 0,
}
# TRL's defaults, bfloat16 and recomputed activations, are for GPUs and fail without one.
CPU_PRESET = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "ddp_find_unused_parameters": False}
CHOICES = {
    "loss_type": ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
    "scale_rewards": ("group", "batch", "none"),
    "importance_sampling_level": ("token", "sequence"),
    "vllm_mode": ("server", "colocate"),
}
OURS = {"output_dir": "--out", "max_steps": "--max-steps", "use_vllm": "--vllm", "vllm_mode": "--vllm",
        "resume_from_checkpoint": "--resume", "use_cpu": "", "do_train": "", "do_eval": "", "do_predict": ""}


def settings_for(model: str, chosen: Mapping, cpu: bool) -> dict:
    """The model's preset, what a CPU needs, and over both what was chosen."""
    return (TINY_PRESET if model == TINY else HUB_PRESET) | (CPU_PRESET if cpu else {}) | dict(chosen)


def read_settings(items: Iterable[str]) -> dict:
    """['beta=0.04', …] -> {'beta': 0.04, …}, each value of the type that the installed GRPOConfig gives its field.

    Raises ValueError for a name that it does not have (with the nearest one), and for a value that does not fit.
    """
    from transformers import HfArgumentParser
    from trl import GRPOConfig

    class Parser(HfArgumentParser):
        def error(self, message):
            raise ValueError(message)

    parser, names = Parser(GRPOConfig, allow_abbrev=False), [field.name for field in fields(GRPOConfig)]
    found = {}
    for item in items:
        name, given, value = item.partition("=")
        if not given:
            raise ValueError(tr(en=f"--set {item}: write it as name=value", ru=f"--set {item}: запишите это как "
                                                                               "имя=значение"))
        _check_name(name, names)
        if value in ("None", "null"):
            found[name] = None
            continue
        try:
            found[name] = getattr(parser.parse_args([f"--{name}={value}"]), name)
        except (ValueError, argparse.ArgumentError) as error:
            raise ValueError(tr(en=f"--set {name}={value} does not fit: {error}",
                                ru=f"--set {name}={value} не подходит: {error}")) from error
    check_choices(found)
    return found


def _check_name(name: str, names: list[str]) -> None:
    if name in OURS:
        decides = OURS[name] or tr(en="the command itself", ru="сама команда")
        raise ValueError(tr(en=f"{name} is not set here: {decides} decides on it",
                            ru=f"{name} здесь не задаётся: за него отвечает {decides}"))
    if name not in names:
        near = ", ".join(get_close_matches(name, names, 3, 0.5)) or "python -m lib.llm.train_trl --fields"
        raise ValueError(tr(en=f"the installed TRL has no setting {name}; the nearest: {near}",
                            ru=f"в установленной TRL нет настройки {name}; ближайшие: {near}"))


def check_choices(settings: Mapping) -> None:
    """TRL itself notices a wrong loss_type only at the first loss, after all completions were sampled."""
    for name, choices in CHOICES.items():
        value = str(settings.get(name, choices[0]))
        if value not in choices and not (name == "scale_rewards" and value in ("True", "False")):
            known, meant = ", ".join(choices), (get_close_matches(value, choices, 1, 0.3) or choices)[0]
            raise ValueError(tr(en=f"{name}={value} is not one of {known}; did you mean {meant}?",
                                ru=f"{name}={value} — не одно из {known}; может быть, {meant}?"))


def config_for(model: str, settings: Mapping, output_dir: str | Path, *, cpu: bool = True):
    """The GRPOConfig of a run: the preset of the model, then the settings. Raises ValueError where TRL refuses them."""
    from trl import GRPOConfig

    check_choices(settings)
    return GRPOConfig(output_dir=str(output_dir), disable_tqdm=True, **settings_for(model, settings, cpu))
