"""verl's console log as rows of the course's run log: one table from verl's names to TRL's.

    rows = read_console("runs/verl-countdown-grpo/console.log")

Two traps that no renaming mends. verl's response_length/clip_ratio compares with the longest completion of the batch, not
with the limit, and is never 0; it keeps its own name here. With dynamic sampling, critic/score/mean is the mean over the
groups that were kept.
"""
import math
import re
from collections.abc import Iterable
from pathlib import Path

from lib.i18n import tr
from lib.runlog.names import STEP

ACCURACY = "eval/accuracy"       # on the test set; step 0 is before training
TRL = {
    "critic/score/mean": "reward",
    "response_length/mean": "completions/mean_length",
    "response_length/max": "completions/max_length",
    "response_length/min": "completions/min_length",
    "actor/entropy": "entropy",
    "actor/kl_loss": "kl",
    "actor/pg_clipfrac": "clip_ratio/region_mean",
    "actor/grad_norm": "grad_norm",
    "actor/loss": "loss",
    "actor/lr": "learning_rate",
    "timing_s/step": "step_time",
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ROW = re.compile(r"\bstep:(\d+) - (.*)")
VALUE = re.compile(r"(?:np\.\w+\()?([-+0-9.eE]+|nan|inf|-inf)\)?$")


def row_of(line: str) -> dict | None:
    """The row that a line of the console holds, with TRL's names where there are such; None where it holds none.

    Colours, Ray's prefix and numpy's np.float64(…) are taken off.
    """
    found = ROW.search(ANSI.sub("", line))
    if not found:
        return None
    row: dict = {STEP: int(found.group(1))}
    for item in found.group(2).split(" - "):
        name, _, text = item.strip().rpartition(":")
        if name and (value := VALUE.match(text)):
            try:
                row[TRL.get(name, name)] = float(value.group(1))
            except ValueError:       # a row that was cut off in the middle of a number
                continue
            if re.fullmatch(r"val-core/.*/(acc|reward)/mean@\d+", name):
                row[ACCURACY] = float(value.group(1))
    return row if len(row) > 1 else None


def rows_of(lines: Iterable[str]) -> list[dict]:
    """A row a step, in order; a step that stands twice (a run that was resumed) counts as it came last."""
    found: dict[int, dict] = {}
    for line in lines:
        if row := row_of(line):
            found[row[STEP]] = found.get(row[STEP], {}) | row
    return [found[step] for step in sorted(found)]


def read_console(path: str | Path) -> list[dict]:
    """The rows of a console log. Raises ValueError where it holds none."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        rows = rows_of(file)
    if not rows:
        raise ValueError(tr(en=f"{path} holds no line like 'step:1 - critic/score/mean:0.5 - …', as verl's console logger "
                               "writes them (trainer.logger=console)",
                            ru=f"в {path} нет строк вида «step:1 - critic/score/mean:0.5 - …», как их пишет логгер "
                               "verl (trainer.logger=console)"))
    return rows


def line(row: dict) -> str:
    """A row as one plain line of text."""
    def shown(name, digits=2):
        value = row.get(name)
        return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"

    step, accuracy = row[STEP], ""
    if ACCURACY in row:
        accuracy = tr(en=f", test accuracy {shown(ACCURACY, 3)}", ru=f", точность на тесте {shown(ACCURACY, 3)}")
    if "reward" not in row:
        return tr(en=f"step {step}{accuracy}", ru=f"шаг {step}{accuracy}")
    reward, length, entropy, seconds = (shown("reward"), shown("completions/mean_length", 0), shown("entropy"),
                                        shown("step_time", 1))
    return tr(en=f"step {step}: reward {reward}, length {length}, entropy {entropy}, {seconds} s{accuracy}",
              ru=f"шаг {step}: награда {reward}, длина {length}, энтропия {entropy}, {seconds} с{accuracy}")
