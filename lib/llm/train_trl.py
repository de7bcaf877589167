"""python -m lib.llm.train_trl: GRPO on Countdown with TRL, from a laptop to several GPUs.

    python -m lib.llm.train_trl --eval                                  # the tiny model on a CPU, some minutes
    python -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct      # one GPU
    accelerate launch --num_processes 4 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct
    accelerate launch --config_file "$(python -m lib.llm.train_trl --config-file zero3)" --num_processes 3 \
        -m lib.llm.train_trl --model Qwen/Qwen2.5-3B-Instruct
"""
import importlib.util
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lib import cli
from lib.i18n import tr
from lib.llm import plan, sizing
from lib.llm.plan import Machine, first_process
from lib.llm.presets import OVERLONG, TINY, config_for, read_settings, settings_for

TASKS = 4000
EVAL_TASKS, EVAL_SAMPLES = 200, 8
VLLM = ("server", "colocate")


@dataclass
class Run:
    """What makes a run, kept in its folder as run.json, so that --resume needs no other flag."""

    model: str
    settings: dict           # of GRPOConfig, beside the preset
    tasks: int
    overlong: int
    lora: bool
    vllm: str


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m lib.llm.train_trl", description=tr(
        en="GRPO on Countdown with TRL: the tiny model on a CPU, models of the hub on GPUs.",
        ru="GRPO на Countdown через TRL: маленькая модель на CPU, модели с хаба на видеокартах."))
    p.add_argument("--model", default=TINY, metavar="NAME", help=tr(
        en="'tiny', a folder, or an id of the hub such as Qwen/Qwen2.5-0.5B-Instruct",
        ru="'tiny', папка или имя на хабе, например Qwen/Qwen2.5-0.5B-Instruct"))
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=tr(
        en="any field of TRL's GRPOConfig; repeat it for more", ru="любое поле GRPOConfig из TRL; можно несколько раз"))
    p.add_argument("--max-steps", type=int, metavar="N", help=tr(en="optimizer steps", ru="шагов оптимизатора"))
    p.add_argument("--tasks", type=int, default=TASKS, metavar="N", help=tr(en="training tasks", ru="обучающих задач"))
    p.add_argument("--overlong", type=int, metavar="TOKENS", help=tr(
        en=f"DAPO's soft punishment over so many last tokens before the limit (0: none, as for all but tiny: {OVERLONG})",
        ru="мягкий штраф DAPO на стольких последних токенах перед лимитом (0 — без него, как у всех, кроме tiny: "
           f"{OVERLONG})"))
    p.add_argument("--lora", action="store_true", help=tr(
        en="train LoRA adapters, the model itself stays frozen", ru="обучать адаптеры LoRA, саму модель заморозить"))
    p.add_argument("--vllm", choices=VLLM, default="", help=tr(
        en="let vLLM generate: a server on cards of its own, or on the training cards",
        ru="генерировать через vLLM: сервер на отдельных картах или на тех же, что обучают"))
    p.add_argument("--eval", type=int, nargs="?", const=EVAL_TASKS, default=0, metavar="TASKS", help=tr(
        en=f"evaluate before and after, on so many test tasks x {EVAL_SAMPLES} replies (without a number: {EVAL_TASKS})",
        ru=f"оценка до и после, на стольких тестовых задачах × {EVAL_SAMPLES} ответов (без числа: {EVAL_TASKS})"))
    p.add_argument("--out", type=Path, metavar="DIR", help=tr(
        en="where everything goes (default: runs/ and the model's name)", ru="куда всё писать (по умолчанию runs/ и имя "
                                                                             "модели)"))
    p.add_argument("--resume", action="store_true", help=tr(
        en="go on from the last checkpoint in --out, with its settings",
        ru="продолжить с последнего чекпоинта в --out, с его настройками"))
    p.add_argument("--plan", action="store_true", help=tr(
        en="print the plan and what cannot work, and stop there", ru="напечатать план и то, что не сработает, и закончить"))
    p.add_argument("--config-file", metavar="NAME", help=tr(
        en="print the path of accelerate's configuration in TRL (zero2, zero3, multi_gpu, …) and stop there",
        ru="напечатать путь к конфигурации accelerate внутри TRL (zero2, zero3, multi_gpu, …) и закончить"))
    p.add_argument("--fields", action="store_true", help=tr(
        en="print every setting that --set takes, with the value it has here, and stop there",
        ru="напечатать все настройки для --set с их значениями и закончить"))
    return p


def main() -> int:
    args = parser().parse_args()
    if args.config_file:
        print(config_file(args.config_file))
        return 0
    for name, value, least in (("--max-steps", args.max_steps, 1), ("--tasks", args.tasks, 1), ("--eval", args.eval, 0),
                               ("--overlong", args.overlong, 0)):
        if value is not None:
            cli.at_least(name, value, least)
    out = args.out or Path("runs") / args.model.rstrip("/").split("/")[-1]
    check_installed("vllm" if args.vllm else "trl")
    run = resumed(out, args) if args.resume else asked(args)
    machine = Machine.here(run.lora)
    if args.fields:
        print_fields(run, machine)
        return 0
    check_launch(machine, run)
    said = make_plan(run, machine, args.eval)
    if first_process():
        print(said, flush=True)
    if args.plan:
        return 0
    checkpoint = claim(out, run, args.resume)
    return train(run, machine, out, checkpoint, args.eval)


def asked(args) -> Run:
    settings = read_settings(args.set)
    if args.max_steps:
        settings["max_steps"] = args.max_steps
    overlong = args.overlong if args.overlong is not None else OVERLONG if args.model == TINY else 0
    return Run(args.model, settings, args.tasks, overlong, args.lora, args.vllm)


def resumed(out: Path, args) -> Run:
    """The run of a folder, as it was started; --max-steps may take it further."""
    kept = out / "run.json"
    if not kept.is_file():
        raise ValueError(tr(en=f"there is no run in {out} to go on with: name its folder with --out",
                            ru=f"в {out} нет запуска, который можно продолжить: укажите его папку через --out"))
    if args.set or args.lora or args.vllm or args.overlong is not None:
        raise ValueError(tr(en="--resume goes on with the settings of the run: of the others, only --max-steps, --eval and "
                               "--out may stand beside it",
                            ru="--resume продолжает с настройками самого запуска: рядом с ним могут стоять только "
                               "--max-steps, --eval и --out"))
    run = Run(**json.loads(kept.read_text(encoding="utf-8")))
    if args.max_steps:
        run.settings["max_steps"] = args.max_steps
    return run


def claim(out: Path, run: Run, resume: bool) -> str | None:
    """Makes the run's folder, which must be new, or finds the checkpoint to resume from; returns that."""
    from transformers.trainer_utils import get_last_checkpoint

    if resume:
        checkpoint = get_last_checkpoint(str(out))
        if not checkpoint:
            raise ValueError(tr(en=f"{out} holds no checkpoint: that run ended before its first one. Start anew with "
                                   "another --out",
                                ru=f"в {out} нет чекпоинта: запуск закончился раньше первого. Начните заново с другим "
                                   "--out"))
        if first_process() and run.settings.get("max_steps"):
            write_run(out, run)
        return checkpoint
    if first_process():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ValueError(tr(en=f"{out} is there already: go on with --resume --out {out}, or name another folder with "
                                   "--out",
                                ru=f"{out} уже есть: продолжите его (--resume --out {out}) или назовите другую папку "
                                   "(--out)"))
        out.mkdir(parents=True, exist_ok=True)
        write_run(out, run)
    return None


def write_run(out: Path, run: Run) -> None:
    (out / "run.json").write_text(json.dumps(asdict(run), indent=2) + "\n", encoding="utf-8")


# ── before it starts ──────────────────────────────────────────────────────────────────────────────────────────────────
def check_installed(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        file = {"trl": "requirements-llm-cpu.txt"}.get(package, "requirements-llm.txt")
        raise ValueError(tr(en=f"{package} is not installed here: pip install -r {file}",
                            ru=f"{package} здесь не установлен: pip install -r {file}"))


def config_file(name: str) -> Path:
    """accelerate's configuration of that name in the installed TRL. All say 8 processes: pass --num_processes."""
    check_installed("trl")
    folder = Path(importlib.util.find_spec("trl").origin).parent / "accelerate_configs"
    if not (folder / f"{name}.yaml").is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
        raise ValueError(tr(en=f"TRL has no configuration {name}: choose one of {known}",
                            ru=f"в TRL нет конфигурации {name}: выберите из {known}"))
    return folder / f"{name}.yaml"


def check_launch(machine, run: Run) -> None:
    """What no setting mends: one process that sees several cards, vLLM without a server or without a card."""
    if machine.cards > 1 and "RANK" not in os.environ:
        cards = machine.cards
        raise ValueError(tr(en=f"this one process sees {cards} cards: accelerate launch --num_processes {cards} -m "
                               "lib.llm.train_trl … uses all, CUDA_VISIBLE_DEVICES=0 python -m lib.llm.train_trl … one",
                            ru=f"один процесс видит {cards} карт: accelerate launch --num_processes {cards} -m "
                               "lib.llm.train_trl … возьмёт все, CUDA_VISIBLE_DEVICES=0 python -m lib.llm.train_trl … "
                               "одну"))
    if not run.vllm:
        return
    if not machine.cards:
        raise ValueError(tr(en="vLLM needs an NVIDIA GPU here: leave --vllm out on a CPU",
                            ru="для vLLM здесь нужна карта NVIDIA: на CPU запускайте без --vllm"))
    if run.vllm == "server":
        host, port = run.settings.get("vllm_server_host", "127.0.0.1"), run.settings.get("vllm_server_port", 8000)
        if not run.settings.get("vllm_server_base_url") and not answers(host, port):
            command = server_command(run.model, port)
            raise ValueError(tr(en=f"no vLLM server answers at {host}:{port}. Start it first, in another "
                                   f"terminal:\n{command}",
                                ru=f"сервер vLLM не отвечает на {host}:{port}. Сначала запустите его в другом "
                                   f"терминале:\n{command}"))


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=3):
            return True
    except OSError:
        return False


def server_command(model: str, port: int = 8000, card: int = 0) -> str:
    """What `trl vllm-serve`, which TRL 1.16 calls deprecated, runs: the same, without the wrapper."""
    return (f"CUDA_VISIBLE_DEVICES={card} VLLM_SERVER_DEV_MODE=1 vllm serve {model} --port {port} --logprobs-mode "
            "processed_logprobs --max-logprobs -1 --weight-transfer-config '{\"backend\":\"nccl\"}' --enable-scale-out")


def make_plan(run: Run, machine, evaluated: int) -> str:
    """The plan as text. Raises ValueError for what cannot work, before the weights are loaded."""
    from lib.countdown import make_countdown
    from lib.countdown.tasks import prompt
    from lib.i18n import language
    from lib.llm.models import load_config, load_tokenizer, rendered, resolve

    settings = settings_for(run.model, run.settings, cpu=not machine.cards)
    plan.batch(settings, machine.processes)
    if run.overlong >= settings["max_completion_length"]:
        limit = settings["max_completion_length"]
        raise ValueError(tr(en=f"--overlong {run.overlong}: less than max_completion_length={limit} is needed",
                            ru=f"--overlong {run.overlong}: нужно меньше, чем max_completion_length={limit}"))
    if evaluated and machine.placement == "zero3":
        raise ValueError(tr(en="--eval cannot read a model that is spread over the cards: train without it, then python -m "
                               "lib.llm.evaluate OUT/final",
                            ru="--eval не прочтёт модель, разложенную по картам: обучите без него, затем python -m "
                               "lib.llm.evaluate OUT/final"))
    path = resolve(run.model)
    config, tokenizer = load_config(path), load_tokenizer(path)
    try:
        sizes = sizing.of_config(config)
    except ValueError as error:      # another architecture trains as well, only that its memory is not told beforehand
        sizes, unknown = None, str(error)
    asked_for = make_countdown(run.tasks)
    longest = max(len(tokenizer(rendered(tokenizer, prompt(task, language())), add_special_tokens=False).input_ids)
                  for task in asked_for[:500])
    plan.check_context(settings, getattr(config, "max_position_embeddings", None), longest)
    if sizes is None:
        return plan.describe_steps(settings, machine) + "\n" + unknown
    plan.check_memory(sizes, machine)
    return plan.describe_steps(settings, machine) + "\n" + plan.describe_memory(
        settings, machine, sizes, longest, run.vllm, settings.get("vllm_gpu_memory_utilization", 0.3))


def print_fields(run: Run, machine) -> None:
    from dataclasses import fields

    config = config_for(run.model, run.settings, "runs", cpu=not machine.cards)
    for field in fields(config):
        print(f"{field.name}={getattr(config, field.name)!r}")


# ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def train(run: Run, machine, out: Path, checkpoint: str | None, evaluated: int) -> int:
    import torch

    from lib.countdown import make_countdown
    from lib.llm.trainer import Bar, Rows, Stop, line, make_trainer

    if not machine.cards and run.model == TINY:
        torch.set_num_threads(1)      # a second thread saves little on so small a model, and costs much on a busy machine
    settings: Mapping = run.settings | ({"use_vllm": True, "vllm_mode": run.vllm} if run.vllm else {})
    config = config_for(run.model, settings, out, cpu=not machine.cards)
    rows, stop = Rows(lambda row: print(line(row, config.max_steps), flush=True), out / "rows.jsonl"), Stop()
    trainer = make_trainer(run.model, config, make_countdown(run.tasks), overlong=run.overlong, lora=run.lora,
                           callbacks=[rows, Bar(), stop])
    if evaluated and not checkpoint:
        judge(trainer, evaluated, out, "before")
    trainer.train(resume_from_checkpoint=checkpoint)
    if stop.stopped and trainer.state.global_step < config.max_steps:
        if first_process():
            step = trainer.state.global_step
            print(tr(en=f"stopped after step {step}, checkpoint saved; go on with: python -m lib.llm.train_trl --resume "
                        f"--out {out}",
                     ru=f"остановлено после шага {step}, чекпоинт сохранён; продолжить: python -m lib.llm.train_trl "
                        f"--resume --out {out}"))
        return 130
    trainer.save_model(str(out / "final"))
    if evaluated:
        judge(trainer, evaluated, out, "after")
    if first_process():
        print(tr(en=f"the model is in {out}/final, its rows in {out}/rows.jsonl, completions in {out}/completions",
                 ru=f"модель в {out}/final, строки лога в {out}/rows.jsonl, ответы в {out}/completions"))
    return 0


def judge(trainer, n: int, out: Path, when: str) -> None:
    """Scores the model on n test tasks, all processes together; prints a line and saves the replies as when.jsonl."""
    import torch
    from accelerate.utils import gather_object

    from lib.countdown import make_countdown
    from lib.llm.evaluate import Samples, line, sample, save, score

    tasks = make_countdown(n, split="test")
    rank, processes = trainer.accelerator.process_index, trainer.accelerator.num_processes
    own = tasks[rank::processes]
    with torch.autocast(trainer.accelerator.device.type, torch.bfloat16, enabled=bool(trainer.args.bf16)):
        found = sample(trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class, own, EVAL_SAMPLES,
                       max_tokens=trainer.args.max_completion_length, seed=rank) if own else None
    parts = [part for part in (gather_object([found]) if processes > 1 else [found]) if part]
    if trainer.accelerator.is_main_process:
        whole = Samples([texts for part in parts for texts in part.texts],
                        *(torch.cat([part[i] for part in parts]) for i in range(1, len(Samples._fields))))
        ordered = [task for r in range(processes) for task in tasks[r::processes]]
        save(whole, ordered, out / f"{when}.jsonl")
        name = {"before": tr(en="before", ru="до"), "after": tr(en="after", ru="после")}[when]
        print(line(name, score(whole)), flush=True)


if __name__ == "__main__":
    cli.main(main)
