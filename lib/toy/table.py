"""The lesson's table: every experiment over several seeds, means with intervals.

    python -m lib.toy.table --seeds 5     # about 15 minutes on two cores; writes lib/toy/table.json

A seed is a whole repetition: its own base model, its own GRPO run. Lesson 03 shows the file, so it can be made again and
compared.
"""
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from lib import cli
from lib.i18n import tr
from lib.markdown import markdown_table
from lib.progress import bar
from lib.toy.base import load_base
from lib.toy.evaluate import Interval, mean_interval
from lib.toy.experiment import Result, Settings, sweep

FILE = Path(__file__).with_name("table.json")
EXPERIMENTS = {
    "default": Settings(),
    "p_cot=0.05": Settings(p_cot=0.05),
    "p_cot=0": Settings(p_cot=0.0),
    "G=2": Settings(G=2),
    "beta=0": Settings(beta=0.0),
    "beta=0.2": Settings(beta=0.2),
    "loss=dapo": Settings(loss="dapo"),
    "loss=dr_grpo": Settings(loss="dr_grpo"),
    **{f"length_penalty={w:g}": Settings(length_penalty=w) for w in (0.25, 0.5, 1.0, 2.0, 4.0)},
}
LAST = 10   # steps at the end of a run over which KL is averaged: a single step is noise


def measure(result: Result) -> dict:
    """What the table keeps of a run."""
    kl = [row["kl"] for row in result.rows[-LAST:]]
    return {"seed": result.settings.seed, "kl": sum(kl) / len(kl),
            "before": result.before._asdict(), "after": result.after._asdict()}


def interval(name: str, figure: Callable[[dict], float], table: dict | None = None) -> Interval:
    """Mean and interval over seeds of a figure of one experiment: interval("G=2", lambda run: run["after"]["pass1"])."""
    table = table or load()
    return mean_interval(figure(run) for run in table["experiments"][name])


def load() -> dict:
    """The measured table: versions, and for each experiment its runs, one a seed."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def lines(table: dict | None = None) -> list[list[str]]:
    """The table's cells as text, the head first; means over seeds with half of the 95 % interval."""
    table = table or load()
    head = [tr(en="experiment", ru="запуск"), tr(en="base: pass@1", ru="база: pass@1"), tr(en="base: CoT", ru="база: CoT"),
            tr(en="after: pass@1", ru="после: pass@1"), "pass@8", tr(en="length", ru="длина"), "CoT",
            tr(en="different of 8", ru="разных из 8"), "KL"]
    figures = [lambda run: run["before"]["pass1"], lambda run: run["before"]["cot"], lambda run: run["after"]["pass1"],
               lambda run: run["after"]["passk"], lambda run: run["after"]["length"], lambda run: run["after"]["cot"],
               lambda run: run["after"]["distinct"], lambda run: run["kl"]]
    return [head] + [[name, *(str(interval(name, figure, table)) for figure in figures)] for name in table["experiments"]]


def markdown(names: Sequence[str], columns: Sequence[int] = range(9)) -> str:
    """Some lines of the table, and some of its columns by number, as a Markdown table."""
    head, *body = [[line[c] for c in columns] for line in lines()]
    return markdown_table(head, [line for line in body if line[0] in names])


def main() -> None:
    p = cli.Parser(prog="python -m lib.toy.table", description=tr(
        en="Repeats the lesson's experiments over seeds and writes the table.",
        ru="Повторяет эксперименты урока на разных сидах и записывает таблицу."))
    p.add_argument("--seeds", type=int, default=5, help=tr(en="repetitions", ru="повторений"))
    p.add_argument("--out", type=Path, default=FILE, help=tr(en="where to write", ru="куда записать"))
    args = p.parse_args()
    runs = [(name, replace(settings, seed=seed, base_seed=seed))
            for name, settings in EXPERIMENTS.items() for seed in range(args.seeds)]
    for p_cot in sorted({settings.p_cot for _, settings in runs}):   # each base model once, with both cores
        for seed in range(args.seeds):
            load_base(p_cot, seed=seed)
    found = {name: [] for name in EXPERIMENTS}
    for index, result in bar(sweep([settings for _, settings in runs]), tr(en="runs", ru="запуски"), total=len(runs)):
        found[runs[index][0]].append(measure(result))
    for repetitions in found.values():
        repetitions.sort(key=lambda run: run["seed"])
    table = {"versions": {"python": platform.python_version(), "torch": torch.__version__}, "experiments": found}
    args.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for line in lines(table):
        print(" | ".join(line))


if __name__ == "__main__":
    cli.main(main)
