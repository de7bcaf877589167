"""TRL's GRPOTrainer on Countdown: the same rewards as everywhere in the course, rows of the course's log, a stop that saves.

    trainer = make_trainer("tiny", config_for("tiny", {}, "runs/tiny"), make_countdown(4000), callbacks=[Rows(print)])
    trainer.train()
"""
import os
import signal
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import groupby
from pathlib import Path

from transformers import PrinterCallback, ProgressCallback, TrainerCallback
from trl import GRPOTrainer

from lib.countdown import correctness_reward, format_reward, to_dataset
from lib.countdown.rewards import text_of
from lib.i18n import language, tr
from lib.llm.models import load_tokenizer, opened, quiet, rendered, resolve
from lib.llm.plan import first_process
from lib.llm.sizing import LORA_RANK
from lib.progress import bar
from lib.runlog.names import EQUAL_GROUPS, STEP
from lib.runlog.rows import json_row

LORA = {"r": LORA_RANK, "lora_alpha": 32, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}


def make_trainer(model: str, config, tasks: Sequence[dict], *, overlong: int = 0, lora: bool = False,
                 callbacks: Sequence[TrainerCallback] = ()) -> GRPOTrainer:
    """A GRPOTrainer, ready for .train().

    model: 'tiny', a folder or a hub id. config: a GRPOConfig, of `config_for`. overlong: the last tokens before the length
    limit in which DAPO's soft punishment grows from 0 to -1 (arXiv:2503.14476, equation 13); 0 for none. lora: train
    adapters on all linear layers and leave the model frozen. The prompts are in the learner's language.
    """
    quiet()
    path = resolve(model)
    tokenizer = load_tokenizer(path)
    peft_config = None
    if lora:
        from peft import LoraConfig
        peft_config = LoraConfig(**LORA)
        if config.bf16 and not config.model_init_kwargs:     # frozen weights need no float32, which is TRL's default
            config.model_init_kwargs = {"dtype": "bfloat16"}
    trainer = GRPOTrainer(model=path, args=config, processing_class=tokenizer, train_dataset=dataset(tasks, tokenizer),
                          reward_funcs=reward_functions(opened(tokenizer), config.max_completion_length, overlong),
                          peft_config=peft_config, callbacks=list(callbacks))
    for ours in (PrinterCallback, ProgressCallback):     # Rows and Bar say the same in a line
        trainer.remove_callback(ours)
    return trainer


def dataset(tasks: Sequence[dict], tokenizer):
    """Columns prompt, nums and target; prompts are chats, or texts where the tokenizer has no chat template."""
    found = to_dataset(tasks, language())
    if tokenizer.chat_template is None:
        found = found.map(lambda row: {"prompt": rendered(tokenizer, row["prompt"])})
    return found


def reward_functions(opening: str, limit: int, overlong: int) -> list[Callable]:
    """The two rewards of the course, and DAPO's soft overlong punishment where it is wanted."""
    found = [whole_reply(format_reward, opening), count_equal_groups(whole_reply(correctness_reward, opening))]
    if overlong:
        from trl.rewards import get_soft_overlong_punishment
        found.append(get_soft_overlong_punishment(max_completion_len=limit, soft_punish_cache=overlong))
    return found


def whole_reply(reward: Callable, opening: str = "") -> Callable:
    """A reward that sees a reply whole: with the '<think>' that the chat template wrote, and with the reasoning that TRL
    moved into `reasoning_content`, as it does for tokenizers that parse replies."""
    @wraps(reward)       # TRL names its metrics after the function
    def wrapped(completions, **columns):
        return reward([_whole(completion, opening) for completion in completions], **columns)
    return wrapped


def count_equal_groups(reward: Callable) -> Callable:
    """A reward that also logs the share of groups in which all completions earn the same of it.

    TRL's own frac_reward_zero_std misses them where rewards are no binary fractions: the std of eight times 0.2 is 1.6e-8 in
    float32, and TRL 1.16 calls it zero only up to 1e-8.
    """
    @wraps(reward)
    def wrapped(completions, prompts=None, log_metric=None, **columns):
        paid = reward(completions, **columns)
        if log_metric and prompts:
            groups = [{paid[i] for i, _ in same} for _, same in groupby(enumerate(prompts), key=lambda pair: str(pair[1]))]
            log_metric(EQUAL_GROUPS, sum(len(group) == 1 for group in groups) / len(groups))
        return paid
    return wrapped


def _whole(completion, opening: str) -> str:
    last = completion[-1] if isinstance(completion, list) and completion else None
    reasoning = last.get("reasoning_content") if isinstance(last, dict) else None
    return (f"<think>{reasoning}</think>" if reasoning else opening) + text_of(completion)


# ── while it runs ─────────────────────────────────────────────────────────────────────────────────────────────────────
class Rows(TrainerCallback):
    """Rows of the course's run log, one each logging step: `rows`, and a file of JSON lines if one is named.

    heard: called with each new row. A resumed run begins with the rows of the run that it goes on with.
    """

    def __init__(self, heard: Callable[[dict], None] | None = None, path: Path | None = None):
        self.heard, self.path, self.rows = heard, path, []

    def on_train_begin(self, args, state, control, **kwargs):
        self.rows = [row for row in state.log_history if "reward" in row]

    def on_log(self, args, state, control, logs, **kwargs):
        if not state.is_world_process_zero or "reward" not in logs:
            return
        row = {STEP: state.global_step} | logs
        self.rows.append(row)
        if self.path:       # whole and at once, so that a run that dies leaves no half of a line
            whole = self.path.with_suffix(".part")
            whole.write_text("".join(map(json_row, self.rows)), encoding="utf-8")
            os.replace(whole, self.path)
        if self.heard:
            self.heard(row)


class Bar(TrainerCallback):
    """A progress bar of optimizer steps."""

    def on_train_begin(self, args, state, control, **kwargs):
        self.bar = bar(title="GRPO", total=state.max_steps, show=state.is_world_process_zero)
        self.bar.update(state.global_step)

    def on_step_end(self, args, state, control, **kwargs):
        self.bar.update()

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()


class Stop(TrainerCallback):
    """Ctrl-C (and SIGTERM, as a cluster sends it) ends the run after the step under way, with a checkpoint.

    A second Ctrl-C ends it at once. `stopped` says whether that happened. With several processes all must leave after the
    same step, so they tell each other.
    """

    def __init__(self):
        self.asked = self.stopped = False
        self.before: dict = {}

    def on_train_begin(self, args, state, control, **kwargs):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._ask)

    def on_train_end(self, args, state, control, **kwargs):
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _ask(self, number, frame):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if first_process():
            print(tr(en="\nstopping after this step, with a checkpoint (Ctrl-C again: at once, without)",
                     ru="\nостановлюсь после этого шага и сохраню чекпоинт (Ctrl-C ещё раз — сразу и без него)"), flush=True)

    def on_step_end(self, args, state, control, **kwargs):
        if _any_process(self.asked):
            self.stopped = control.should_save = control.should_training_stop = True


def _any_process(flag: bool) -> bool:
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return flag
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    found = torch.tensor([float(flag)], device=device)
    torch.distributed.all_reduce(found)
    return found.item() > 0


def line(row: dict, steps: int) -> str:
    """A row as one plain line of text."""
    step, seconds, tokens = row[STEP], f"{row['step_time']:.1f}", f"{row['completions/mean_length']:.0f}"
    reward, cut, entropy = (f"{row[name]:.2f}" for name in ("reward", "completions/clipped_ratio", "entropy"))
    right, form = (f"{row[f'rewards/{name}_reward/mean']:.2f}" for name in ("correctness", "format"))
    return tr(en=f"step {step}/{steps}: reward {reward} (right {right}, form {form}), length {tokens}, cut off {cut}, "
                 f"entropy {entropy}, {seconds} s a step",
              ru=f"шаг {step}/{steps}: награда {reward} (верно {right}, форма {form}), длина {tokens}, обрезано {cut}, "
                 f"энтропия {entropy}, {seconds} с на шаг")
