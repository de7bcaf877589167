"""Data for verl: GSM8K, a sample like it, and Countdown, as train.parquet and test.parquet of the columns that verl reads.

    python -m lib.llm.gsm8k --out data/gsm8k                     # from the hub, through `datasets`
    python -m lib.llm.gsm8k --out data/gsm8k --local train.jsonl test.jsonl
    python -m lib.llm.gsm8k --out data/sample --sample           # made on the spot: for a CPU and for tests, no benchmark
    python -m lib.llm.gsm8k --out data/countdown --countdown     # paid by lib/countdown/rewards.py

A row has data_source (which scorer), prompt (a chat), ability, reward_model {"style": "rule", "ground_truth": …} and
extra_info; verl hands the last two to the reward.
"""
import json
import os
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lib import cli
from lib.countdown.tasks import make_countdown
from lib.countdown.tasks import prompt as countdown_prompt
from lib.i18n import language, tr
from lib.progress import bar

HUB = "openai/gsm8k"            # the data set on the hub; as data_source it makes verl take its own scorer
COUNTDOWN = "countdown"
# verl's scorer reads the number after '#### '. These are the words of verl's own examples/data_preprocess/gsm8k.py.
INSTRUCTION = 'Let\'s think step by step and output the final answer after "####".'
SPLITS = ("train", "test")
SAMPLE = {"train": 256, "test": 64}
TASKS = {"train": 4000, "test": 500}        # Countdown, as the TRL lesson takes them


def solution(answer: str) -> str:
    """What stands after the last '#### ' of a GSM8K answer, without commas. Raises ValueError where nothing does."""
    found = re.findall(r"#### (-?[0-9.,]+)", answer)
    if not found or not found[-1].strip(".,"):
        short = answer[-60:]
        raise ValueError(tr(en=f"an answer of GSM8K ends in '#### number', this one in {short!r}",
                            ru=f"ответ GSM8K кончается на '#### число', а этот — на {short!r}"))
    return found[-1].replace(",", "").rstrip(".")


def row(question: str, answer: str, split: str, index: int) -> dict:
    """A question of GSM8K as verl reads it."""
    return {"data_source": HUB, "prompt": [{"role": "user", "content": f"{question} {INSTRUCTION}"}], "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": solution(answer)},
            "extra_info": {"split": split, "index": index, "question": question, "answer": answer}}


def countdown_row(task: Mapping, split: str, index: int) -> dict:
    """A Countdown task as verl reads it, in the learner's language; `lib.countdown.rewards.compute_score` pays it."""
    truth = {"nums": list(task["nums"]), "target": task["target"]}
    return {"data_source": COUNTDOWN, "prompt": countdown_prompt(task, language()), "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": truth}, "extra_info": {"split": split, "index": index}}


# ── where the rows come from ──────────────────────────────────────────────────────────────────────────────────────────
def from_hub() -> dict[str, list[dict]]:
    """GSM8K of the hub: 7473 and 1319 rows. What was downloaded is kept in the cache, a broken download goes on there.

    Raises ValueError, in a sentence, where the hub cannot be reached.
    """
    import httpx
    from huggingface_hub import constants

    reason = tr(en="HF_HUB_OFFLINE is set", ru="задано HF_HUB_OFFLINE") if constants.HF_HUB_OFFLINE else ""
    try:
        if not reason:
            httpx.head(constants.ENDPOINT, timeout=10, follow_redirects=True)
            from datasets import load_dataset
            return {split: [row(item["question"], item["answer"], split, i)
                            for i, item in enumerate(load_dataset(HUB, "main", split=split))] for split in SPLITS}
    except (httpx.HTTPError, OSError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    raise ValueError(tr(
        en=f"GSM8K cannot be downloaded ({reason}). With a copy of its JSON lines: --local train.jsonl test.jsonl; to try "
           "things out without it: --sample",
        ru=f"GSM8K не скачивается ({reason}). Если есть копия в JSON-строках: --local train.jsonl test.jsonl; чтобы "
           "попробовать без него: --sample"))


def from_files(paths: Sequence[Path]) -> dict[str, list[dict]]:
    """JSON lines with question and answer: a file for training and one for the test. Raises ValueError with the line."""
    found = {}
    for split, path in zip(SPLITS, paths, strict=True):
        found[split] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
                found[split].append(row(item["question"], item["answer"], split, len(found[split])))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                kind, said = type(error).__name__, error
                raise ValueError(tr(en=f"{path}, line {number}: a row needs question and answer ({kind}: {said})",
                                    ru=f"{path}, строка {number}: нужны question и answer ({kind}: {said})")) from error
        if not found[split]:
            raise ValueError(tr(en=f"{path} holds no rows", ru=f"в {path} нет строк"))
    return found


def made_up(sizes: Mapping[str, int] = SAMPLE, seed: int = 0) -> dict[str, list[dict]]:
    """Arithmetic in a sentence, in GSM8K's form. It tries the machinery out; no model's skill is measured by it."""
    rng, found = random.Random(seed), {}
    for split, size in sizes.items():
        found[split] = []
        for index in range(size):
            a, b, c = rng.randint(2, 20), rng.randint(2, 20), rng.randint(2, 5)
            question = f"Anna buys {a} red and {b} green apples each day. How many apples does she have after {c} days?"
            steps = (f"Each day she buys {a}+{b}=<<{a}+{b}={a + b}>>{a + b} apples.\nIn {c} days that is "
                     f"{c}*{a + b}=<<{c}*{a + b}={c * (a + b)}>>{c * (a + b)} apples.\n#### {c * (a + b)}")
            found[split].append(row(question, steps, split, index))
            found[split][-1]["extra_info"]["made_up"] = True
    return found


def countdown(sizes: Mapping[str, int] = TASKS) -> dict[str, list[dict]]:
    return {split: [countdown_row(task, split, i) for i, task in enumerate(make_countdown(sizes[split], split=split))]
            for split in SPLITS}


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def write(rows: Mapping[str, Iterable[dict]], folder: Path) -> list[Path]:
    """folder/train.parquet and folder/test.parquet, each whole or not at all; files that are there stay as they are."""
    import pyarrow
    from pyarrow import parquet

    paths = [folder / f"{split}.parquet" for split in rows]
    for path in paths:
        if path.exists():
            raise ValueError(tr(en=f"{path} is there already: name a new folder with --out",
                                ru=f"{path} уже есть: назовите новую папку в --out"))
    folder.mkdir(parents=True, exist_ok=True)
    for path, part in zip(paths, rows.values(), strict=True):
        whole = path.with_suffix(".part")
        parquet.write_table(pyarrow.Table.from_pylist(list(bar(part, path.name))), whole)
        os.replace(whole, path)
    return paths


def main() -> None:
    p = cli.Parser(prog="python -m lib.llm.gsm8k", description=tr(
        en="Writes the data that verl reads: GSM8K, a sample like it, or Countdown.",
        ru="Записывает данные для verl: GSM8K, похожий образец или Countdown."))
    p.add_argument("--out", type=Path, required=True, metavar="DIR", help=tr(
        en="where train.parquet and test.parquet go", ru="куда записать train.parquet и test.parquet"))
    source = p.add_mutually_exclusive_group()
    source.add_argument("--local", type=Path, nargs=2, metavar=("TRAIN", "TEST"), help=tr(
        en="two files of JSON lines with question and answer, instead of the hub",
        ru="два файла JSON-строк с question и answer вместо хаба"))
    source.add_argument("--sample", action="store_true", help=tr(
        en="made-up arithmetic of the same form: to try things out, no benchmark",
        ru="придуманная арифметика той же формы: чтобы попробовать, это не бенчмарк"))
    source.add_argument("--countdown", action="store_true", help=tr(en="Countdown instead", ru="вместо этого Countdown"))
    args = p.parse_args()
    rows = (from_files(args.local) if args.local else made_up() if args.sample else
            countdown() if args.countdown else from_hub())
    for path, part in zip(write(rows, args.out), rows.values(), strict=True):
        count = len(part)
        print(tr(en=f"{path}: {count} rows", ru=f"{path}: строк {count}"))


if __name__ == "__main__":
    cli.main(main)
