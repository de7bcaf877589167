"""verl's launches as data: what the course sets, key by key, and how that becomes a command.

    overrides("gsm8k-grpo", {"trainer.n_gpus_per_node": 4})     # ['algorithm.adv_estimator=grpo', …]

Keys are those of verl 0.9.1. A preset says only what it decides; verl's defaults are the rest.
"""
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from lib.i18n import tr

MAIN = "verl.trainer.main_ppo"
REWARD_FILE = Path(__file__).parents[1] / "countdown" / "rewards.py"

GSM8K_GRPO = {
    "algorithm.adv_estimator": "grpo",
    "algorithm.use_kl_in_reward": False,
    "data.train_files": "data/gsm8k/train.parquet",
    "data.val_files": "data/gsm8k/test.parquet",
    "data.train_batch_size": 128,                                    # prompts of an iteration
    "data.max_prompt_length": 512,
    "data.max_response_length": 512,
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-0.5B-Instruct",
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 64,               # prompts of an optimizer step
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 8,       # completions at once on a GPU
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.kl_loss_coef": 0.001,
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",            # k3
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.n": 8,                                # G
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.5,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 8,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 8,
    "trainer.logger": "console",
    "trainer.n_gpus_per_node": 4,
    "trainer.nnodes": 1,
    "trainer.test_freq": 10,
    "trainer.save_freq": 50,
    "trainer.total_epochs": 3,
}


def dapo(limit: int, buffer: int) -> dict:
    """What makes DAPO of GRPO (arXiv:2503.14476): Clip-Higher, averages over tokens, dynamic sampling, no KL, and a soft
    punishment over the last `buffer` of `limit` tokens."""
    return {
        "actor_rollout_ref.actor.clip_ratio_high": 0.28,
        "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
        "actor_rollout_ref.actor.use_kl_loss": False,
        "algorithm.filter_groups.enable": True,
        "algorithm.filter_groups.metric": "acc",         # and not the score, which the punishment makes differ
        "reward.reward_manager.name": "dapo",
        "+reward.reward_kwargs.overlong_buffer_cfg": f"{{enable:True,len:{buffer},penalty_factor:1.0,log:True}}",
        "+reward.reward_kwargs.max_resp_len": limit,
    }


# The Countdown of the TRL lesson, setting by setting: lib.llm.presets.TINY_PRESET and OVERLONG.
COUNTDOWN_GRPO = GSM8K_GRPO | {
    "data.train_files": "data/countdown/train.parquet",
    "data.val_files": "data/countdown/test.parquet",
    "data.max_response_length": 256,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.clip_ratio_high": 0.28,
    "reward.custom_reward_function.path": str(REWARD_FILE),
    "reward.custom_reward_function.name": "compute_score",
}
PRESETS = {
    "gsm8k-grpo": GSM8K_GRPO,
    "gsm8k-dapo": GSM8K_GRPO | dapo(512, 128),
    "countdown-grpo": COUNTDOWN_GRPO,
    "countdown-dapo": COUNTDOWN_GRPO | dapo(256, 64),
}

# A machine without a GPU: the plugin's rollout and engine, one process, float32, and Ray told of what is not there.
CPU = {
    "actor_rollout_ref.rollout.name": "transformers",
    "actor_rollout_ref.rollout.agent.num_workers": 1,
    "actor_rollout_ref.model.use_remove_padding": False,
    "actor_rollout_ref.model.enable_gradient_checkpointing": False,
    "+actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
    "actor_rollout_ref.actor.strategy": "fsdp2",
    "actor_rollout_ref.ref.strategy": "fsdp2",
    "actor_rollout_ref.actor.fsdp_config.dtype": "float32",
    "actor_rollout_ref.ref.fsdp_config.dtype": "float32",
    "actor_rollout_ref.actor.fsdp_config.model_dtype": "fp32",
    "actor_rollout_ref.actor.use_torch_compile": False,
    "reward.num_workers": 1,
    "data.dataloader_num_workers": 0,
    "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
    "trainer.device": "cpu",
    "trainer.n_gpus_per_node": 1,
    "ray_kwargs.ray_init.num_cpus": 16,
    "+ray_kwargs.ray_init.num_gpus": 1,
}
# A tiny model: all 64 completions of a step at once, and a learning rate at which it moves.
TINY = {
    "data.train_batch_size": 8,
    "data.max_prompt_length": 256,
    "data.max_response_length": 200,
    "actor_rollout_ref.actor.optim.lr": 3e-4,
    "actor_rollout_ref.actor.optim.lr_warmup_steps": 5,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 8,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 64,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 64,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 64,
    "actor_rollout_ref.rollout.val_kwargs.do_sample": True,
    "actor_rollout_ref.rollout.val_kwargs.temperature": 1.0,
    "actor_rollout_ref.rollout.val_kwargs.n": 8,
    "trainer.test_freq": 30,
    "trainer.save_freq": -1,
    "trainer.total_training_steps": 60,
}
# The soft punishment with which the TRL lesson trains; DAPO's presets have it already.
TINY_OVERLONG = {name: value for name, value in dapo(200, 50).items() if "reward" in name}
PLUGIN = {"VERL_USE_EXTERNAL_MODULES": "lib.llm.verl_cpu", "VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1"}


def settings_for(preset: str, chosen: Mapping, cpu: bool = False) -> dict:
    """A preset's keys and values; what a CPU and a tiny model need over them; over all, what was chosen.

    Raises ValueError for an unknown preset, with the nearest.
    """
    if preset not in PRESETS:
        known, near = ", ".join(PRESETS), (get_close_matches(preset, PRESETS, 1, 0.3) or list(PRESETS))[0]
        raise ValueError(tr(en=f"there is no preset {preset}: did you mean {near}? All: {known}",
                            ru=f"пресета {preset} нет; может быть, {near}? Все: {known}"))
    found = dict(PRESETS[preset])
    if cpu:
        found |= CPU | TINY
        if preset.startswith("countdown") or "dapo" in preset:
            found |= TINY_OVERLONG
    for name, value in chosen.items():        # '+key' and 'key' are one setting
        bare = name.lstrip("+")
        found = {key: old for key, old in found.items() if key.lstrip("+") != bare}
        found[name] = value
    return found


def read_settings(items: Sequence[str]) -> dict[str, str]:
    """['trainer.nnodes=2', …] -> {'trainer.nnodes': '2', …}. Names are checked by verl itself (`--check`)."""
    found = {}
    for item in items:
        name, given, value = item.partition("=")
        if not given or not name.strip("+"):
            raise ValueError(tr(en=f"--set {item}: write it as name=value", ru=f"--set {item}: запишите это как "
                                                                               "имя=значение"))
        found[name] = value
    return found


def overrides(settings: Mapping) -> list[str]:
    """Hydra's words of the command line."""
    return [f"{name}={value}".replace("e-0", "e-") if isinstance(value, float) else f"{name}={value}"
            for name, value in settings.items()]


def shell(settings: Mapping, environment: Mapping[str, str], python: str = "python3") -> str:
    """The command as one types it, a key a line."""
    start = " ".join([*(f"{name}={value}" for name, value in environment.items()), python, "-m", MAIN])
    return " \\\n  ".join([start, *map(shlex.quote, overrides(settings))])


def cluster(nodes: int, gpus: int, address: str = "HEAD_IP") -> str:
    """How several machines become one Ray cluster, as verl documents it; what is started then takes all of them."""
    return "\n".join([
        tr(en="# on the first machine:", ru="# на первой машине:"),
        f"ray start --head --port=6379 --num-gpus={gpus} --dashboard-host=0.0.0.0",
        tr(en=f"# on each of the other {nodes - 1}:", ru=f"# на каждой из остальных ({nodes - 1}):"),
        f"ray start --address={address}:6379 --num-gpus={gpus}",
        tr(en="# then on the first one, so that the run outlives your terminal:",
           ru="# затем на первой, чтобы запуск пережил ваш терминал:"),
        f"ray job submit --address=http://{address}:8265 --no-wait -- \\",
    ])
