"""Three runs of countdown-grpo on a CPU, from the shipped base: what lesson 06 lays over TRL's.

    python -m lib.llm.verl_runs --out runs/verl-seeds     # some minutes a run; writes lib/llm/verl_runs.json

Only the order of the tasks differs between the runs (data.seed), and what is drawn. A run that is complete in --out is taken
as it is. Test accuracy: `lib.runlog.verl.ACCURACY`, on 500 tasks x 8 replies.
"""
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lib import cli
from lib.i18n import tr
from lib.llm.presets import TINY_PRESET
from lib.runlog.names import STEP
from lib.runlog.verl import ACCURACY, TRL, read_console

FILE = Path(__file__).with_name("verl_runs.json")
PRESET = "countdown-grpo"
KEPT = (STEP, ACCURACY, *TRL.values(), "training/rollout_probs_diff_mean", "response_length/clip_ratio")


def load_runs() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def kept(rows: Sequence[dict]) -> list[dict]:
    """What the lesson shows of a run's rows, in four digits."""
    return [{name: float(f"{row[name]:.4g}") if name != STEP else row[name] for name in KEPT if name in row} for row in rows]


def complete(folder: Path) -> bool:
    log = folder / "console.log"
    return log.is_file() and f"step:{TINY_PRESET['max_steps']} - " in log.read_text(encoding="utf-8", errors="replace")


def mean_rows(runs: Sequence[Sequence[dict]], every: int = 5) -> list[dict]:
    """Means over the runs and over `every` steps, as TRL logs them; rows before training are left out."""
    found, last = [], min(len(rows) for rows in runs)
    trained = [[row for row in rows if row[STEP] > 0][:last] for rows in runs]
    for end in range(every, min(map(len, trained)) + 1, every):
        part = [row for rows in trained for row in rows[end - every : end]]
        names = {name for row in part for name in row} - {STEP, ACCURACY}
        found.append({STEP: end} | {name: sum(row[name] for row in part if name in row) / sum(name in row for row in part)
                                    for name in names})
    return found


def main() -> None:
    p = cli.Parser(prog="python -m lib.llm.verl_runs", description=tr(
        en="Repeats the CPU run of verl and keeps its curves.", ru="Повторяет запуск verl на CPU и сохраняет его кривые."))
    p.add_argument("--seeds", type=int, default=3, metavar="N", help=tr(en="runs", ru="запусков"))
    p.add_argument("--out", type=Path, default=Path("runs/verl-seeds"), metavar="DIR", help=tr(
        en="where they go", ru="куда их писать"))
    args = p.parse_args()
    cli.at_least("--seeds", args.seeds, 1)
    runs = []
    for seed in range(args.seeds):
        folder = args.out / str(seed)
        if not complete(folder):
            order = ["--set", f"data.seed={seed}"] if seed else []       # the first in verl's own order
            subprocess.run([sys.executable, "-m", "lib.llm.launch_verl", PRESET, "--cpu", "--out", str(folder), *order],
                           check=True)
        runs.append({"seed": seed, "rows": kept(read_console(folder / "console.log"))})
    found = {"verl": "0.9.1", "preset": PRESET, "tasks": 500, "samples": 8, "runs": runs}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    cli.main(main)
