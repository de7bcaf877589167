"""python -m lib.toy: the toy R1-Zero from the command line.

    python -m lib.toy --plot                      # the lesson's run, with its three curves in grpo_toy.png
    python -m lib.toy --p-cot 0 --seeds 5         # no steps in the corpus; mean and interval over five seeds
"""
import math
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path

from lib import cli
from lib.files import open_new
from lib.i18n import tr
from lib.progress import bar
from lib.runlog.rows import json_row
from lib.toy.evaluate import evaluate, mean_interval
from lib.toy.experiment import Result, Run, Settings, over_seeds, sweep
from lib.toy.grpo import LOSSES

PLOT = "grpo_toy.png"
MOST_SEEDS = 1000


def parser() -> cli.Parser:
    flags = {
        "p_cot": tr(en="share of step-by-step answers in the pretraining corpus",
                    ru="доля решений по шагам в корпусе претрейна"),
        "pretrain_steps": tr(en="pretraining steps", ru="шагов претрейна"),
        "base_seed": tr(en="seed of the base model's pretraining", ru="сид претрейна базовой модели"),
        "pretrain": tr(en="pretrain the base model now instead of taking the shipped one",
                       ru="обучить базовую модель сейчас, а не брать готовую"),
        "steps": tr(en="GRPO steps", ru="шагов GRPO"),
        "B": tr(en="prompts a step", ru="промптов на шаг"),
        "G": tr(en="answers a prompt (group size)", ru="ответов на промпт (размер группы)"),
        "beta": tr(en="KL coefficient", ru="коэффициент KL"),
        "lr": tr(en="learning rate", ru="learning rate"),
        "loss": tr(en="averaging: over answers, over tokens, or tokens by a constant",
                   ru="усреднение: по ответам, по токенам или по токенам с постоянным делителем"),
        "eps_low": tr(en="lower clip: 1 - eps_low", ru="нижняя граница клиппинга: 1 - eps_low"),
        "eps_high": tr(en="upper clip: 1 + eps_high (Clip-Higher: 0.28)",
                       ru="верхняя граница клиппинга: 1 + eps_high (Clip-Higher: 0.28)"),
        "updates": tr(en="optimizer steps on each batch of answers", ru="шагов оптимизатора на каждый батч ответов"),
        "length_penalty": tr(en="weight of the length penalty, Kimi k1.5's", ru="вес штрафа за длину, как в Kimi k1.5"),
        "dynamic_sampling": tr(en="replace groups that are all right or all wrong",
                               ru="заменять группы, где верно всё или неверно всё"),
        "max_rounds": tr(en="with --dynamic-sampling: rounds of sampling a step at most",
                         ru="с --dynamic-sampling: не больше стольких раундов сэмплирования на шаг"),
        "seed": tr(en="seed of prompts and answers (and of --pretrain)", ru="сид промптов и ответов (и --pretrain)"),
    }
    p = cli.Parser(prog="python -m lib.toy", description=tr(
        en="A 77-thousand-parameter model learns to add digits through GRPO.",
        ru="Модель из 77 тысяч параметров учится складывать цифры через GRPO."))
    for setting in fields(Settings):
        flag = "--" + setting.name.replace("_", "-")
        if setting.type is bool:
            p.add_argument(flag, action="store_true", default=False, help=flags[setting.name])
        else:
            choices = LOSSES if setting.name == "loss" else None
            p.add_argument(flag, type=setting.type, default=setting.default, choices=choices, help=flags[setting.name])
    p.add_argument("--seeds", type=int, default=1, help=tr(
        en="so many runs with seeds one after the other: mean and 95 %% interval",
        ru="столько запусков с сидами подряд: среднее и 95 %% интервал"))
    p.add_argument("--log", type=Path, metavar="FILE", help=tr(
        en="write the rows here, a JSON line each step; with --seeds a file each seed",
        ru="писать сюда строки лога, по JSON-строке на шаг; с --seeds по файлу на сид"))
    p.add_argument("--plot", type=Path, nargs="?", const=Path(PLOT), metavar="FILE", help=tr(
        en=f"save the three curves (without FILE: {PLOT})", ru=f"сохранить три графика (без FILE: {PLOT})"))
    return p


def main() -> int:
    p = parser()
    args = vars(p.parse_args())
    seeds, log, plot = args.pop("seeds"), args.pop("log"), args.pop("plot")
    settings = Settings(**args)
    if not 1 <= seeds <= MOST_SEEDS:
        raise ValueError(tr(en=f"seeds={seeds}: at least 1 is needed, and at most {MOST_SEEDS}",
                            ru=f"seeds={seeds}: нужно не меньше 1 и не больше {MOST_SEEDS}"))
    if log and plot and log.absolute() == plot.absolute():
        raise ValueError(tr(en=f"{log}: the log and the plot need different files",
                            ru=f"{log}: логу и графику нужны разные файлы"))
    if plot:
        check_plot(plot)
    logs = [log] if seeds == 1 else [log and log.with_stem(f"{log.stem}-seed{s.seed}") for s in over_seeds(settings, seeds)]
    for path in filter(None, logs):
        check_new(path)
    if seeds == 1:
        return one_run(settings, log, plot)
    return many_runs(over_seeds(settings, seeds), logs, plot)


# ── one run ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def one_run(settings: Settings, log: Path | None, plot: Path | None) -> int:
    try:
        run = Run(settings)
    except KeyboardInterrupt:
        return stopped_early()
    try:
        print(tr(en="base:  ", ru="база:  ") + str(evaluate(run.base)), flush=True)
        follow(run, log)
        if broken := [row["step"] for row in run.rows if row["kl"] is not None and not math.isfinite(row["kl"])]:
            print(tr(en=f"the run diverged at step {broken[0]}: lower the learning rate",
                     ru=f"обучение разошлось на шаге {broken[0]}: уменьшите learning rate"))
        print(tr(en="after: ", ru="после: ") + str(evaluate(run.policy)))
    except KeyboardInterrupt:
        if not log and run.rows:
            with open_new("grpo_toy-stopped.jsonl") as file:
                file.writelines(map(json_row, run.rows))
            log = Path(file.name)
        kept = tr(en=f"rows so far: {len(run.rows)}", ru=f"готовых строк: {len(run.rows)}")
        kept += f", {log}" if log and run.rows else ""
        print(tr(en="\nstopped; ", ru="\nостановлено; ") + kept)
        return 130
    if plot:
        save_plot(plot, {"": run.rows})
    return 0


def stopped_early() -> int:
    print(tr(en="\nstopped before the first GRPO step: no rows yet",
             ru="\nостановлено до первого шага GRPO: строк пока нет"))
    return 130


def follow(run: Run, log: Path | None) -> None:
    """Makes the whole run: rows into the log at once, a line every 25 steps and at the last one."""
    writing = log.open("x", encoding="utf-8") if log else nullcontext()
    steps = bar(run, tr(en="GRPO", ru="GRPO"), total=run.settings.steps + 1)
    try:
        with writing as file:
            for row in steps:
                if file:
                    file.write(json_row(row))
                    file.flush()
                if row["step"] in (run.settings.steps, *range(0, run.settings.steps, 25)):
                    steps.write(describe(row))
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not log:   # that was the terminal, not the log
            raise
        kept = len(run.rows) - 1
        raise OSError(tr(en=f"{log} could not be written ({error}); rows in it: {kept}",
                         ru=f"не удалось записать {log} ({error}); строк в нём: {kept}")) from error
    finally:
        steps.close()


def describe(row: dict) -> str:
    kl = "-" if row["kl"] is None else f"{row['kl']:.2f}"
    return tr(en=f"step {row['step']:3d}: reward {row['reward']:.2f}  length {row['completions/mean_length']:.1f}  "
                 f"CoT share {row['cot']:.2f}  KL {kl}",
              ru=f"шаг {row['step']:3d}: награда {row['reward']:.2f}  длина {row['completions/mean_length']:.1f}  "
                 f"доля CoT {row['cot']:.2f}  KL {kl}")


# ── many seeds ────────────────────────────────────────────────────────────────────────────────────────────────────────
def many_runs(all_settings: list[Settings], logs: list[Path | None], plot: Path | None) -> int:
    if not all_settings[0].pretrain:
        try:
            all_settings[0].make_base()   # pretrained once and cached, with a bar, before the runs want it all together
        except KeyboardInterrupt:
            return stopped_early()
    done: dict[int, Result] = {}
    runs = bar(sweep(all_settings), tr(en="runs", ru="запуски"), total=len(all_settings))
    try:
        for index, result in runs:
            done[index] = result
            if logs[index]:
                write_rows(logs[index], result.rows)
            runs.write(f"{seed_name(result)}: {result.after}")
    except BrokenProcessPool:
        print(tr(en="a run's process was killed from outside, perhaps for want of memory; what is finished is kept",
                 ru="процесс запуска убит извне, возможно, не хватило памяти; законченное сохранено"), file=sys.stderr)
    except KeyboardInterrupt:
        print(tr(en=f"\nstopped, runs finished: {len(done)} of {len(all_settings)}",
                 ru=f"\nостановлено, закончено запусков: {len(done)} из {len(all_settings)}")
              + "".join(f"\n{logs[i]}" for i in sorted(done) if logs[i]))
    finally:
        runs.close()
    if done:
        print(summary(list(done.values())))
        if plot:
            save_plot(plot, {seed_name(done[i]): done[i].rows for i in sorted(done)})
    return 0 if len(done) == len(all_settings) else 130


def seed_name(result: Result) -> str:
    return tr(en=f"seed {result.settings.seed}", ru=f"сид {result.settings.seed}")


def summary(results: list[Result]) -> str:
    """Mean ± half-width of the 95 % interval over seeds, before and after."""
    def line(title, evaluations):
        e = evaluations[0]
        figure = {name: mean_interval(getattr(x, name) for x in evaluations) for name in ("pass1", "passk", "length", "cot")}
        return title + tr(en=f"pass@1 {figure['pass1']}  pass@{e.k} {figure['passk']}  length {figure['length']}  "
                             f"CoT share {figure['cot']}",
                          ru=f"pass@1 {figure['pass1']}  pass@{e.k} {figure['passk']}  длина {figure['length']}  "
                             f"доля CoT {figure['cot']}")
    one = results[0].after
    bases = (tr(en="a base model each", ru="у каждого своя база") if results[0].settings.pretrain else
             tr(en="one base model for all (--pretrain: one each)", ru="база общая (с --pretrain у каждого своя)"))
    head = tr(en=f"mean ± half of the 95 % interval, {len(results)} seeds, {bases}, "
                 f"{one.n} prompts x {one.samples} answers an evaluation",
              ru=f"среднее ± половина 95 % интервала, сидов: {len(results)}, {bases}, "
                 f"каждая оценка — {one.n} задач × {one.samples} ответов")
    return "\n".join([head, line(tr(en="base:  ", ru="база:  "), [r.before for r in results]),
                      line(tr(en="after: ", ru="после: "), [r.after for r in results])])


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def write_rows(path: Path, rows: list[dict]) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.writelines(map(json_row, rows))


def check_new(path: Path) -> None:
    check_folder(path)
    if path.exists():
        raise ValueError(tr(en=f"{path} exists already: name another file, that run would be lost",
                            ru=f"файл {path} уже есть: назовите другой, иначе тот запуск пропадёт"))


def check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(tr(en=f"there is no folder {path.parent}: make it first",
                            ru=f"нет папки {path.parent}: сначала создайте её"))
    if path.is_dir():
        raise ValueError(tr(en=f"{path} is a folder: name a file in it", ru=f"{path} — папка: назовите файл в ней"))


def check_plot(path: Path) -> None:
    """Before the run, not after it: the folder must be there and the ending one that can be drawn."""
    from lib.runlog.plot import FORMATS

    check_folder(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(tr(en=f"{path}: a plot's name ends in one of {', '.join(FORMATS)}",
                            ru=f"{path}: имя графика оканчивается на одно из {', '.join(FORMATS)}"))


def save_plot(path: Path, runs: dict[str, list[dict]]) -> None:
    from lib.runlog.plot import curves  # matplotlib only when there is something to draw

    curves(runs).savefig(path, dpi=120)
    print(tr(en=f"curves saved in {path}", ru=f"графики сохранены в {path}"))


if __name__ == "__main__":
    cli.main(main)
