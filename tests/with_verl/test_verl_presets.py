"""verl itself composes and validates every preset, and every trap that it would pass over is told."""
import re

import pytest

from lib.llm import gsm8k, verl_check
from lib.llm.verl_presets import PRESETS, dapo, overrides, settings_for

pytestmark = pytest.mark.filterwarnings("ignore")      # of verl's and Ray's own imports


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Parquet files for the checks that look for them."""
    folder = tmp_path_factory.mktemp("data")
    gsm8k.write(gsm8k.made_up({"train": 8, "test": 8}), folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def plugin():
    """As a CPU launch: the rollout that it names is registered."""
    from lib.llm.verl_cpu import register_rollout
    register_rollout()


def found(preset, data, chosen=None, cpu=False, cpus=32):
    files = {"data.train_files": str(data / "train.parquet"), "data.val_files": str(data / "test.parquet")}
    words = overrides(settings_for(preset, files | (chosen or {}), cpu))
    return verl_check.faults(verl_check.compose(words), words, cpus)


@pytest.mark.parametrize("cpu", [False, True], ids=["gpu", "cpu"])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_composes_and_validates(preset, cpu, data):
    assert found(preset, data, cpu=cpu) == []


def test_every_key_alone_is_a_key_of_verl():
    words = {word for preset in PRESETS for cpu in (False, True) for word in overrides(settings_for(preset, {}, cpu))}
    keys = {word.partition("=")[0]: word for word in words}
    assert len(keys) > 50
    for word in keys.values():
        verl_check.compose([word])


def test_a_key_that_does_not_exist_is_told():
    for word in ("actor_rollout_ref.actor.clip_ratio_hihg=0.28", "reward_model.overlong_buffer.enable=True"):
        with pytest.raises(ValueError, match="no such setting"):
            verl_check.compose([word])


TRAPS = {
    "legacy reward file": ({"custom_reward_function.path": "x.py"}, r"ignored.*reward.custom_reward_function.path=x.py"),
    "legacy manager": ({"reward_model.reward_manager": "dapo"}, r"ignored.*reward.reward_manager.name=dapo"),
    "sync rollout": ({"actor_rollout_ref.rollout.mode": "sync"}, "was removed"),
    "hf rollout": ({"actor_rollout_ref.rollout.name": "hf"}, "rollout.name=hf: this verl knows"),
    "kl type": ({"actor_rollout_ref.actor.kl_loss_type": "k4"}, "kl_loss_type=k4: this verl knows.*low_var_kl"),
    "estimator": ({"algorithm.adv_estimator": "grpo2"}, "adv_estimator=grpo2: this verl knows.*grpo"),
    "manager": ({"reward.reward_manager.name": "dopo"}, "reward_manager.name=dopo: this verl knows.*dapo"),
    "loss mode": ({"actor_rollout_ref.actor.policy_loss.loss_mode": "vanila"}, "loss_mode=vanila: this verl knows.*vanilla"),
    "aggregation": ({"actor_rollout_ref.actor.loss_agg_mode": "token_mean"}, "own check refuses it"),
    "mini-batch": ({"actor_rollout_ref.actor.ppo_mini_batch_size": 48}, "no multiple of ppo_mini_batch_size=48"),
    "larger mini-batch": ({"actor_rollout_ref.actor.ppo_mini_batch_size": 256}, "no multiple of ppo_mini_batch_size=256"),
    "gpus": ({"trainer.n_gpus_per_node": 7}, "do not divide among 7 GPUs"),
    "micro-batch": ({"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 48}, "ppo_micro_batch_size_per_gpu=48"),
    "group of one": ({"actor_rollout_ref.rollout.n": 1}, "needs at least 2"),
    "no data": ({"data.train_files": "nowhere.parquet"}, "no file nowhere.parquet.*lib.llm.gsm8k"),
    "no reward": ({"reward.custom_reward_function.path": "nowhere.py"}, "no file nowhere.py"),
    "no micro-batch": ({"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": "null"}, "own check refuses it"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_is_told(trap, data):
    chosen, said = TRAPS[trap]
    sentences = found("gsm8k-grpo", data, chosen)
    assert any(re.search(said, sentence) for sentence in sentences), sentences


def test_too_few_cpus_for_ray_would_hang(data):
    assert "waits for ever" in found("gsm8k-grpo", data, cpus=4)[0]
    assert found("gsm8k-grpo", data, {"ray_kwargs.ray_init.num_cpus": 16}, cpus=4) == []
    assert found("gsm8k-grpo", data, {"transfer_queue.backend.SimpleStorage.num_data_storage_units": 1}, cpus=4) == []


def test_a_run_of_the_same_name_would_be_gone_on_with(data, tmp_path):
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("50")
    assert "go on with that run" in found("gsm8k-grpo", data, {"trainer.default_local_dir": str(tmp_path)})[0]
    assert found("gsm8k-grpo", data, {"trainer.default_local_dir": str(tmp_path), "trainer.resume_mode": "disable"}) == []


def test_what_surprises_is_told():
    config = verl_check.compose(overrides(settings_for("gsm8k-dapo", {"algorithm.filter_groups.metric": "score"})))
    before, endless, metric = verl_check.notes(config)
    assert "before the first step" in before
    assert "never ends" in endless
    assert "not acc" in metric
    quiet = {"trainer.val_before_train": False}
    assert verl_check.notes(verl_check.compose(overrides(settings_for("gsm8k-grpo", quiet)))) == []


def test_dapo_is_what_its_keys_say():
    config = verl_check.compose(overrides(settings_for("gsm8k-dapo", {})))
    actor = config.actor_rollout_ref.actor
    assert (actor.clip_ratio_low, actor.clip_ratio_high, actor.loss_agg_mode, actor.use_kl_loss) == (
        0.2, 0.28, "token-mean", False)
    assert (config.algorithm.filter_groups.enable, config.algorithm.filter_groups.metric) == (True, "acc")
    assert config.reward.reward_manager.name == "dapo"
    assert config.reward.reward_kwargs.overlong_buffer_cfg.len == 128
    assert {name.lstrip("+") for name in dapo(1, 1)} > {"reward.reward_kwargs.max_resp_len"}


def test_the_command_says_what_it_found(data, capsys):
    good = overrides(settings_for("gsm8k-grpo", {
        "data.train_files": str(data / "train.parquet"), "data.val_files": str(data / "test.parquet")}, cpu=True))
    assert verl_check.main(good) == 0
    assert "✗" not in capsys.readouterr().out
    assert verl_check.main([*good, "actor_rollout_ref.actor.kl_loss_type=k4"]) == 2
    assert "✗ actor_rollout_ref.actor.kl_loss_type=k4" in capsys.readouterr().out
    assert verl_check.main([*good, "nosuch.key=1"]) == 2
