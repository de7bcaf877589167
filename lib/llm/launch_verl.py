"""python -m lib.llm.launch_verl: GRPO and DAPO with verl, from a laptop's CPU to several machines with GPUs.

    python -m lib.llm.launch_verl countdown-grpo --cpu             # really trains: the tiny model, some minutes
    python -m lib.llm.launch_verl gsm8k-grpo --print               # the command, to read or to take elsewhere
    python -m lib.llm.launch_verl gsm8k-dapo --gpus 8 --check      # composed and validated by verl itself, nothing started
    python -m lib.llm.launch_verl gsm8k-grpo --gpus 4              # runs

verl lives in an environment of its own (`make verl`), which is found by itself.
"""
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

from lib import cli
from lib.i18n import tr
from lib.llm import sizing
from lib.llm.verl_presets import MAIN, PLUGIN, PRESETS, cluster, overrides, read_settings, settings_for, shell
from lib.runlog import verl as log
from lib.runlog.rows import json_row

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-verl"
BASE = Path(__file__).parent / "tiny_base"       # as lib.llm.tiny says, which would import torch


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m lib.llm.launch_verl", description=tr(
        en="GRPO and DAPO with verl: on GPUs, or a tiny model on a CPU.",
        ru="GRPO и DAPO через verl: на видеокартах или маленькая модель на CPU."))
    p.add_argument("preset", choices=list(PRESETS), help=tr(en="what to train, and how", ru="что и как обучать"))
    p.add_argument("--model", metavar="NAME", help=tr(
        en="a hub id or a folder (default: the preset's; with --cpu a tiny one)",
        ru="имя на хабе или папка (по умолчанию из пресета; с --cpu — маленькая)"))
    p.add_argument("--data", type=Path, metavar="DIR", help=tr(
        en="with train.parquet and test.parquet, as lib.llm.gsm8k writes them (with --cpu made by itself)",
        ru="с train.parquet и test.parquet, как их пишет lib.llm.gsm8k (с --cpu делается само)"))
    p.add_argument("--gpus", type=int, metavar="N", help=tr(en="GPUs of a machine", ru="видеокарт на машину"))
    p.add_argument("--nodes", type=int, metavar="N", help=tr(en="machines, a Ray cluster", ru="машин, кластер Ray"))
    p.add_argument("--card-gb", type=float, default=80.0, metavar="GB", help=tr(
        en="memory of a GPU, for the plan", ru="память видеокарты, для плана"))
    p.add_argument("--steps", type=int, metavar="N", help=tr(en="iterations, instead of epochs", ru="итераций вместо эпох"))
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=tr(
        en="any key of verl; repeat it for more", ru="любой ключ verl; можно несколько раз"))
    p.add_argument("--cpu", action="store_true", help=tr(
        en="train a tiny model on this machine's CPU", ru="обучить маленькую модель на CPU этой машины"))
    p.add_argument("--out", type=Path, metavar="DIR", help=tr(
        en="log, rows and checkpoints (default: runs/verl- and the preset's name)",
        ru="лог, строки и чекпоинты (по умолчанию runs/verl- и имя пресета)"))
    p.add_argument("--resume", action="store_true", help=tr(
        en="go on from the last checkpoint in --out", ru="продолжить с последнего чекпоинта в --out"))
    p.add_argument("--print", action="store_true", dest="show", help=tr(
        en="print the shell command and stop there", ru="напечатать команду и закончить"))
    p.add_argument("--check", action="store_true", help=tr(
        en="let verl compose and validate it, look for what verl lets pass, and stop there",
        ru="собрать и проверить средствами самой verl, поискать то, что она пропускает, и закончить"))
    return p


def main() -> int:
    args = parser().parse_args()
    for name, value in (("--gpus", args.gpus), ("--nodes", args.nodes), ("--steps", args.steps)):
        if value is not None:
            cli.at_least(name, value, 1)
    out = args.out or Path("runs") / f"verl-{args.preset}"
    settings = asked(args, out)
    environment = PLUGIN if args.cpu else {}
    if args.show:
        nodes = int(settings["trainer.nnodes"])
        if nodes > 1:
            print(cluster(nodes, int(settings["trainer.n_gpus_per_node"])))
        print(shell(settings, environment))
        return 0
    python = verl_python()
    if not args.check:
        claim(out, args.resume)
    if args.cpu:
        prepare(args, out, settings)
    print(plan(settings, args.cpu, args.card_gb), flush=True)
    checked = subprocess.run([python, "-m", "lib.llm.verl_check", *overrides(settings)], env=surroundings(environment),
                             stderr=subprocess.PIPE, text=True, errors="replace")
    if checked.returncode:
        if checked.returncode != 2:      # not a finding but a crash
            print(checked.stderr, file=sys.stderr)
        return 2
    if args.check:
        print(tr(en="verl takes it, and nothing was found that it would pass over in silence",
                 ru="verl это принимает, и того, что она молча пропустила бы, не нашлось"))
        return 0
    # Hydra would put the config that it composed into outputs/ of whatever folder this was called from
    composed = f"hydra.run.dir={out.absolute() / 'hydra'}"
    return run([python, "-m", MAIN, *overrides(settings), composed], surroundings(environment), out)


def asked(args, out: Path) -> dict:
    """The settings of this call. With --cpu, data and model lie in `out` where they were not named."""
    chosen: dict = {}
    if args.model:
        chosen["actor_rollout_ref.model.path"] = args.model
    elif args.cpu:
        chosen["actor_rollout_ref.model.path"] = str((BASE if args.preset.startswith("countdown")
                                                      else out / "model").absolute())
    if args.preset == "gsm8k-dapo" and args.cpu and not args.model:
        raise ValueError(tr(en="gsm8k-dapo --cpu: a tiny untaught model is never right on GSM8K, and dynamic sampling would "
                               "look for its right answers for ever. Take countdown-dapo --cpu",
                            ru="gsm8k-dapo --cpu: маленькая необученная модель на GSM8K никогда не права, и динамический "
                               "сэмплинг искал бы её верные ответы вечно. Возьмите countdown-dapo --cpu"))
    data = args.data or (out / "data" if args.cpu else None)
    if data:
        for name, split in (("data.train_files", "train"), ("data.val_files", "test")):
            chosen[name] = str((data / f"{split}.parquet").absolute())
    for name, value in (("trainer.n_gpus_per_node", args.gpus), ("trainer.nnodes", args.nodes),
                        ("trainer.total_training_steps", args.steps)):
        if value is not None:
            if args.cpu and name != "trainer.total_training_steps":
                raise ValueError(tr(en="--cpu trains in one process: leave --gpus and --nodes out",
                                    ru="--cpu обучает в одном процессе: уберите --gpus и --nodes"))
            chosen[name] = value
    chosen |= {"trainer.project_name": "grpo-by-hand", "trainer.experiment_name": args.preset,
               "trainer.default_local_dir": str((out / "checkpoints").absolute())}
    if args.resume:
        chosen["trainer.resume_mode"] = "resume_path"
        chosen["trainer.resume_from_path"] = str(last_checkpoint(out))
    return settings_for(args.preset, chosen | read_settings(args.set), args.cpu)


def last_checkpoint(out: Path) -> Path:
    mark = out / "checkpoints" / "latest_checkpointed_iteration.txt"
    if not mark.is_file():
        raise ValueError(tr(en=f"{out} holds no checkpoint to go on from (trainer.save_freq)",
                            ru=f"в {out} нет чекпоинта, с которого можно продолжить (trainer.save_freq)"))
    return (mark.parent / f"global_step_{mark.read_text(encoding='utf-8').strip()}").absolute()


def claim(out: Path, resume: bool) -> None:
    """The run's folder must be new, or hold no more than what a check has prepared: its log would be written over."""
    if not resume and out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - {"data", "model"}):
        raise ValueError(tr(en=f"{out} is there already: go on with --resume, or name another folder with --out",
                            ru=f"{out} уже есть: продолжите его с --resume или назовите другую папку в --out"))
    out.mkdir(parents=True, exist_ok=True)


def prepare(args, out: Path, settings: Mapping) -> None:
    """What a CPU run needs and was not named: data, and for GSM8K an untaught model that reads bytes."""
    from lib.llm import gsm8k

    train = Path(settings["data.train_files"])
    if not args.data and not train.is_file():
        gsm8k.write(gsm8k.countdown() if args.preset.startswith("countdown") else gsm8k.made_up(), train.parent)
    model = Path(settings["actor_rollout_ref.model.path"])
    if not args.model and not (model / "config.json").is_file():
        # in verl's environment, which has transformers when the course's own may not
        code = f"from lib.llm.tiny import make_untaught; make_untaught({str(model)!r})"
        subprocess.run([verl_python(), "-c", code], env=surroundings({}), check=True)


# ── the environment ───────────────────────────────────────────────────────────────────────────────────────────────────
def verl_python() -> str:
    """The interpreter that has verl: this one, else that of `make verl`. Raises ValueError where there is none."""
    if importlib.util.find_spec("verl") is not None:
        return sys.executable
    for name in ("bin/python", "Scripts/python.exe"):
        if (ENVIRONMENT / name).is_file():
            return str(ENVIRONMENT / name)
    raise ValueError(tr(en="verl has an environment of its own, which is not here yet: make verl",
                        ru="у verl своё окружение, и его ещё нет: make verl"))


def surroundings(more: Mapping[str, str]) -> dict[str, str]:
    return os.environ | {"PYTHONUNBUFFERED": "1", "RAY_DEDUP_LOGS": "0", "HYDRA_FULL_ERROR": "1", "PYTHONPATH": str(ROOT),
                         "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "PYTHONWARNINGS": "ignore"} | dict(more)


# ── before it starts ──────────────────────────────────────────────────────────────────────────────────────────────────
def plan(settings: Mapping, cpu: bool, card_gb: float) -> str:
    """What an iteration consists of, and the memory of a GPU. Raises ValueError where what is certain does not fit."""
    def number(name):
        try:
            return int(settings[name])
        except ValueError:
            value = settings[name]
            raise ValueError(tr(en=f"{name}={value} is not a whole number", ru=f"{name}={value} — не целое число")) from None

    prompts, mini = number("data.train_batch_size"), number("actor_rollout_ref.actor.ppo_mini_batch_size")
    group, limit = number("actor_rollout_ref.rollout.n"), number("data.max_response_length")
    answers, updates = prompts * group, -(-prompts // max(1, mini))
    tokens = answers * limit
    text = tr(en=f"an iteration: {prompts} prompts x {group} = {answers} completions, at most {tokens} tokens; optimizer "
                 f"steps: {updates} of {mini} prompts",
              ru=f"итерация: промптов {prompts} × {group} = {answers} ответов, токенов не больше {tokens}; шагов "
                 f"оптимизатора: {updates} по {mini} промптов")
    sizes = None if cpu else sizes_of(settings["actor_rollout_ref.model.path"])
    if sizes is None:
        return text
    gpus = number("trainer.n_gpus_per_node") * number("trainer.nnodes")
    parts = memory(sizes, settings, gpus, card_gb)
    state, engine = parts["state"] + parts["reference"], parts["vllm"]
    peak = state + max(engine, parts["batch"]) + sizing.OVERHEAD
    said = {name: f"{gb:.1f}" for name, gb in parts.items()}
    text += "\n" + tr(
        en=f"memory of a GPU, estimated: training state {said['state']} GB ({gpus} GPUs share 16 bytes a parameter), "
           f"reference {said['reference']}, then in turns vLLM {said['vllm']} and a micro-batch {said['batch']}; about "
           f"{peak:.1f} of {card_gb:g} GB",
        ru=f"память видеокарты, оценка: состояние обучения {said['state']} ГБ (16 байт на параметр делят {gpus} GPU), "
           f"референс {said['reference']}, дальше по очереди vLLM {said['vllm']} и микробатч {said['batch']}; около "
           f"{peak:.1f} из {card_gb:g} ГБ")
    if state + sizing.OVERHEAD > card_gb:
        raise ValueError(text + "\n" + tr(en="it does not fit: more GPUs, a smaller model, or LoRA "
                                             "(--set actor_rollout_ref.model.lora_rank=16)",
                                          ru="не помещается: больше GPU, модель меньше или LoRA "
                                             "(--set actor_rollout_ref.model.lora_rank=16)"))
    if peak > card_gb:
        text += "\n" + tr(en="that is more than a GPU has: lower gpu_memory_utilization or the micro-batches",
                          ru="это больше, чем есть: уменьшите gpu_memory_utilization или микробатчи")
    return text


def memory(sizes: sizing.Model, settings: Mapping, gpus: int, card_gb: float) -> dict[str, float]:
    """GB a GPU, estimated: what FSDP shards (float32 weights, gradients, Adam), the reference, vLLM's share, a micro-batch
    with its logits whole in float32 and bfloat16. vLLM's memory and the micro-batch's are free in each other's turn."""
    n, tokens = sizes.parameters, int(settings["data.max_prompt_length"]) + int(settings["data.max_response_length"])
    completions = int(settings["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"])
    reference = str(settings["actor_rollout_ref.actor.use_kl_loss"]) == "True"
    activations = 2.0 * completions * tokens * sizes.layers * sizes.hidden
    logits = 6.0 * completions * tokens * sizes.vocab
    return {"state": 16.0 * n / gpus / sizing.GB, "reference": 4.0 * n / gpus / sizing.GB if reference else 0.0,
            "vllm": float(settings["actor_rollout_ref.rollout.gpu_memory_utilization"]) * card_gb,
            "batch": (activations + logits) / sizing.GB}


def sizes_of(model: str) -> sizing.Model | None:
    """The sizes of a Qwen2.5 by its name, or of a folder's config.json; None where they cannot be told."""
    if (Path(model) / "config.json").is_file():
        try:
            return sizing.of_config(SimpleNamespace(**json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))))
        except ValueError:
            return None
    return sizing.MODELS.get(model.rpartition("/")[2].removesuffix("-Instruct"))


# ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def run(command: list[str], environment: Mapping[str, str], out: Path) -> int:
    """Starts verl, keeps all it says in console.log and its rows in rows.jsonl, and prints a line a step.

    Ctrl-C is passed on; verl's workers end with it.
    """
    path = out / "console.log"
    print(tr(en=f"started; all that verl says is in {path}", ru=f"запущено; всё, что говорит verl, — в {path}"), flush=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("$ " + shlex.join(command) + "\n")
        file.flush()
        process = subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        tail: list[str] = []
        try:
            with process.stdout:
                for line in process.stdout:
                    file.write(line)
                    file.flush()
                    tail = [*tail[-30:], line]
                    if row := log.row_of(line):
                        with (out / "rows.jsonl").open("a", encoding="utf-8") as rows:
                            rows.write(json_row(row))
                        print(log.line(row), flush=True)
            code = process.wait()
        except KeyboardInterrupt:
            print(tr(en="stopping verl…", ru="останавливаю verl…"), flush=True)
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            kept = out / "checkpoints" / "latest_checkpointed_iteration.txt"
            if kept.is_file():
                print(tr(en="go on with the same command and --resume", ru="продолжить: та же команда и --resume"))
            return 130
    if code:
        print("".join(tail), file=sys.stderr)
        print(tr(en=f"verl ended with exit code {code}; its last lines are above, all of them in {path}",
                 ru=f"verl завершилась с кодом {code}; её последние строки выше, все — в {path}"), file=sys.stderr)
    return 1 if code else 0


if __name__ == "__main__":
    cli.main(main)
