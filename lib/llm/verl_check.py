"""Checks a launch in verl's own environment: composes it strictly, lets verl validate it, and looks for what verl lets pass.

    .venv-verl/bin/python -m lib.llm.verl_check algorithm.adv_estimator=grpo …      # exit code 0, or 2 and what is wrong

Some mistakes verl takes without a word and ignores, others it notices only after the models are loaded or never (it hangs).
"""
import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from lib.i18n import tr

LEGACY = {"custom_reward_function.path": "reward.custom_reward_function.path",
          "custom_reward_function.name": "reward.custom_reward_function.name",
          "reward_model.reward_manager": "reward.reward_manager.name"}
RAY_CPUS = 10       # with fewer, and eight storage units (verl's default), the trainer waits for them for ever


def compose(words: Sequence[str]):
    """The whole configuration. Raises ValueError with Hydra's sentence where a key does not exist."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException

    GlobalHydra.instance().clear()
    with initialize_config_module("verl.trainer.config", version_base=None):
        try:
            return hydra_compose("ppo_trainer", overrides=list(words))
        except HydraException as error:
            cause: BaseException = error
            while cause.__cause__:
                cause = cause.__cause__
            said = f"{str(error).splitlines()[0]} {str(cause).splitlines()[0]}"
            raise ValueError(tr(en=f"verl has no such setting: {said}", ru=f"такой настройки в verl нет: {said}")) from error


def faults(config, words: Sequence[str], cpus: int | None = None) -> list[str]:
    """What is wrong with a composed launch, a sentence each; nothing where it can run. cpus: that Ray will find."""
    return [*_legacy(config, words), *_names(config), *_batches(config), *_validated(config), *_files(config),
            *_ray(config, cpus or os.cpu_count() or 1), *_resume(config)]


def notes(config) -> list[str]:
    """What is not wrong, but surprises."""
    found = []
    if config.trainer.val_before_train and config.trainer.test_freq > 0:
        found.append(tr(en="trainer.val_before_train=True: the test set is answered before the first step. It looks like a "
                           "hang; False skips it",
                        ru="trainer.val_before_train=True: до первого шага модель ответит на весь тест. Выглядит как "
                           "зависание; False это отключит"))
    if config.algorithm.filter_groups.enable:
        found.append(tr(en="dynamic sampling draws until the batch is full: on tasks that are all too hard it never ends "
                           "(max_num_gen_batches is ignored by this trainer). Look at training/filter_groups/*",
                        ru="динамический сэмплинг набирает батч, пока тот не полон: на слишком трудных задачах это не "
                           "кончится (max_num_gen_batches этот тренер не читает). Следите за training/filter_groups/*"))
        if config.algorithm.filter_groups.metric != "acc":
            found.append(tr(en="algorithm.filter_groups.metric is not acc: a punishment for length makes rewards differ in "
                               "groups where all answers are equally wrong, and these then stay",
                            ru="algorithm.filter_groups.metric не acc: штраф за длину разводит награды и в группах, где "
                               "все ответы одинаково неверны, и такие группы останутся"))
    return found


def _legacy(config, words):
    given = {word.partition("=")[0].lstrip("+"): word.partition("=")[2] for word in words}
    for old, new in LEGACY.items():
        if old in given:
            value = given[old]
            yield tr(en=f"{old} is taken and ignored by this verl: write {new}={value}",
                     ru=f"{old} эта verl принимает и не читает: напишите {new}={value}")
    if config.actor_rollout_ref.rollout.mode == "sync":
        yield tr(en="actor_rollout_ref.rollout.mode=sync was removed from verl: leave it out",
                 ru="actor_rollout_ref.rollout.mode=sync из verl убрали: не задавайте его")


def _names(config):
    """Words that verl looks up only when it needs them."""
    from verl.experimental.reward_loop.reward_manager.registry import REWARD_MANAGER
    from verl.trainer.ppo import core_algos
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    kinds = [f"{kind}{plus}" for kind in ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3") for plus in ("", "+")]
    for name, value, known in (
            ("algorithm.adv_estimator", config.algorithm.adv_estimator, map(_word, core_algos.ADV_ESTIMATOR_REGISTRY)),
            ("actor_rollout_ref.actor.kl_loss_type", actor.kl_loss_type, kinds),
            ("actor_rollout_ref.actor.policy_loss.loss_mode", actor.policy_loss.loss_mode,
             core_algos.POLICY_LOSS_REGISTRY),
            ("reward.reward_manager.name", config.reward.reward_manager.name, REWARD_MANAGER),
            ("actor_rollout_ref.rollout.name", rollout.name, RolloutReplicaRegistry._registry)):
        words = sorted(map(str, known))
        if str(value) not in words:
            listed = ", ".join(words)
            yield tr(en=f"{name}={value}: this verl knows {listed}", ru=f"{name}={value}: эта verl знает {listed}")


def _word(name) -> str:
    return getattr(name, "value", name)


def _batches(config):
    prompts, mini = config.data.train_batch_size, config.actor_rollout_ref.actor.ppo_mini_batch_size
    group, gpus = config.actor_rollout_ref.rollout.n, config.trainer.n_gpus_per_node * config.trainer.nnodes
    micro = config.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
    if prompts % mini:
        yield tr(en=f"data.train_batch_size={prompts} is no multiple of ppo_mini_batch_size={mini}: the last optimizer step "
                    "would be a smaller one",
                 ru=f"data.train_batch_size={prompts} не делится на ppo_mini_batch_size={mini}: последний шаг оптимизатора "
                    "вышел бы меньше")
    if group < 2 and config.algorithm.adv_estimator == "grpo":
        yield tr(en=f"actor_rollout_ref.rollout.n={group}: GRPO compares within a group, it needs at least 2",
                 ru=f"actor_rollout_ref.rollout.n={group}: GRPO сравнивает внутри группы, нужно хотя бы 2")
    if (mini * group) % gpus:
        yield tr(en=f"{mini} x {group} completions of a mini-batch do not divide among {gpus} GPUs",
                 ru=f"{mini} × {group} ответов мини-батча не делятся на {gpus} GPU")
    elif micro and (mini * group // gpus) % micro:
        share = mini * group // gpus
        yield tr(en=f"a GPU's {share} completions of a mini-batch are no multiple of ppo_micro_batch_size_per_gpu={micro}",
                 ru=f"на GPU приходится {share} ответов мини-батча, а это не делится на "
                    f"ppo_micro_batch_size_per_gpu={micro}")


def _validated(config):
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    try:
        with contextlib.redirect_stdout(io.StringIO()):      # it prints that all is well
            validate_config(config, need_reference_policy(config), need_critic(config))
        for part in (config.actor_rollout_ref.rollout, config.actor_rollout_ref.actor, config.algorithm):
            if "_target_" in part:
                omega_conf_to_dataclass(part)
    except Exception as error:       # noqa: BLE001 -- whatever verl's own validation raises is what it has to say
        cause: BaseException = error
        while cause.__cause__:
            cause = cause.__cause__
        said = (str(cause) or type(cause).__name__).splitlines()[0]
        yield tr(en=f"verl's own check refuses it: {said}", ru=f"собственная проверка verl не пропускает: {said}")


def _files(config):
    for name, value in (("data.train_files", config.data.train_files), ("data.val_files", config.data.val_files),
                        ("reward.custom_reward_function.path", config.reward.custom_reward_function.path)):
        for path in [value] if isinstance(value, str) else value or []:
            if "://" not in path and not Path(path).expanduser().is_file():
                hint = "(python -m lib.llm.gsm8k)" if name.startswith("data") else ""
                yield tr(en=f"{name}: there is no file {path} {hint}", ru=f"{name}: файла {path} нет {hint}").rstrip()


def _ray(config, cpus):
    told = config.ray_kwargs.ray_init.num_cpus or cpus
    if told < RAY_CPUS and config.transfer_queue.backend.SimpleStorage.num_data_storage_units > 1:
        yield tr(en=f"Ray will find {told} CPUs; with fewer than {RAY_CPUS} verl waits for ever for its storage. Add "
                    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1 or ray_kwargs.ray_init.num_cpus=16",
                 ru=f"Ray найдёт {told} CPU; если их меньше {RAY_CPUS}, verl будет вечно ждать своё хранилище. Добавьте "
                    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1 или ray_kwargs.ray_init.num_cpus=16")


def _resume(config):
    folder = Path(config.trainer.default_local_dir).expanduser()
    if config.trainer.resume_mode == "auto" and (folder / "latest_checkpointed_iteration.txt").is_file():
        yield tr(en=f"{folder} holds a checkpoint: verl would go on with that run without a word. If so, pass --resume; "
                    "else choose another --out (trainer.experiment_name)",
                 ru=f"в {folder} лежит чекпоинт: verl молча продолжит тот запуск. Нужно это — добавьте --resume; иначе "
                    "выберите другой --out (trainer.experiment_name)")


def main(words: Sequence[str]) -> int:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    if os.environ.get("VERL_PLATFORM") == "cpu":
        from lib.llm.verl_cpu import register_rollout
        register_rollout()
    try:
        config = compose(words)
    except ValueError as error:
        print(error)
        return 2
    found = faults(config, words)
    for sentence in found:
        print("✗", sentence)
    for sentence in notes(config):
        print("·", sentence)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
