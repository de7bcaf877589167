"""The lesson's results over five seeds, each with its own base model, on test tasks that no setting was chosen on.

    python -m lib.llm.table               # about an hour on two cores; writes lib/llm/table.json

Settings were chosen on the validation tasks with seed 0. A base that is there already, in the cache folder, is taken.
"""
import json
import multiprocessing
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

from lib import cli
from lib.i18n import tr
from lib.llm import tiny
from lib.llm.presets import OVERLONG, TINY, config_for
from lib.markdown import markdown_table
from lib.progress import bar

FILE = Path(__file__).with_name("table.json")
TASKS, SAMPLES, LIMIT = 500, 8, 200
# Settings beside the preset, and the tokens of the soft punishment.
VARIANTS = {
    "limit 150": ({"max_completion_length": 150}, 0),
    "limit 150, overlong": ({"max_completion_length": 150}, 30),
    "preset": ({}, OVERLONG),
}


def base(seed: int) -> str:
    """A base model of a seed: the shipped one for its own, else one in the cache folder, made now if it is not there."""
    from lib.toy.base import cache_folder

    if seed == tiny.SEED:
        return TINY
    folder = cache_folder() / f"tiny-{tiny.STEPS}-seed{seed}"
    if not (folder / "manifest.json").is_file():
        tiny.make(folder, seed)
    return str(folder)


def measure(seed: int) -> dict:
    """Everything of a seed: the base, its two controls, and each variant's rows and score."""
    import torch

    from lib.countdown import make_countdown
    from lib.llm.evaluate import best_of, sample, score
    from lib.llm.models import load
    from lib.llm.trainer import Rows, make_trainer

    torch.set_num_threads(1)
    name, test = base(seed), make_countdown(TASKS, split="test")
    model, tokenizer = load(name)
    before = sample(model, tokenizer, test, SAMPLES, max_tokens=LIMIT, seed=seed, progress=False)
    forced = sample(model, tokenizer, test, SAMPLES, max_tokens=LIMIT, seed=seed, insist=True, progress=False)
    found = {"seed": seed, "base": score(before)._asdict(), "forced": score(forced)._asdict(), "variants": {}}
    for variant, (settings, overlong) in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            config = config_for(TINY, settings | {"seed": seed, "save_strategy": "no", "log_completions": False}, folder)
            rows = Rows()
            trainer = make_trainer(name, config, make_countdown(tiny.TASKS), overlong=overlong, callbacks=[rows])
            trainer.train()
        after = sample(trainer.model, tokenizer, test, SAMPLES, max_tokens=config.max_completion_length, seed=seed,
                       progress=False)
        result = score(after)
        found["variants"][variant] = {"after": result._asdict(), "best_of": best_of(before, result.tokens),
                                      "rows": rows.rows}
    return found


def load_table() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def interval(figure: Callable[[dict], float], table: dict | None = None):
    """Mean over seeds and half of its 95 % interval: interval(lambda seed: seed["base"]["accuracy"])."""
    from lib.toy.evaluate import mean_interval

    return mean_interval(figure(seed) for seed in (table or load_table())["seeds"])


def lines(table: dict | None = None) -> list[list[str]]:
    """The table's cells as text, the head first; means over seeds with half of the 95 % interval."""
    from lib.toy.evaluate import mean_interval

    table = table or load_table()
    head = [tr(en="model", ru="модель"), "pass@1", "pass@8", tr(en="form", ru="форма"), tr(en="tokens", ru="токенов"),
            tr(en="cut off", ru="обрезано")]
    names = {
        "base": tr(en="base", ru="база"),
        "forced": tr(en="base, forced to go on until its ✓", ru="база, вынужденная искать до своего ✓"),
        "limit 150": tr(en="GRPO, limit 150", ru="GRPO, лимит 150"),
        "limit 150, overlong": tr(en="GRPO, limit 150, soft punishment", ru="GRPO, лимит 150, мягкий штраф"),
        "preset": tr(en="GRPO, limit 200, soft punishment (the preset)", ru="GRPO, лимит 200, мягкий штраф (пресет)"),
    }

    def cells(name, pick):
        scores = [pick(seed) for seed in table["seeds"]]
        return [name, *(str(mean_interval(score[column] for score in scores))
                        for column in ("accuracy", "pass_k", "format", "tokens", "cut"))]

    found = [head, cells(names["base"], lambda seed: seed["base"])]
    best = str(interval(lambda seed: seed["variants"]["preset"]["best_of"], table))
    found.append([tr(en="base, best of k at the preset's tokens", ru="база, лучший из k при токенах пресета"), best,
                  *["–"] * 4])
    found.append(cells(names["forced"], lambda seed: seed["forced"]))
    for variant in VARIANTS:
        found.append(cells(names[variant], lambda seed, variant=variant: seed["variants"][variant]["after"]))
    return found


def markdown() -> str:
    head, *body = lines()
    return markdown_table(head, body)


def main() -> None:
    p = cli.Parser(prog="python -m lib.llm.table", description=tr(
        en="Repeats the TRL experiment over seeds and writes the table.",
        ru="Повторяет опыт с TRL на разных сидах и записывает таблицу."))
    p.add_argument("--seeds", type=int, default=5, help=tr(en="repetitions", ru="повторений"))
    p.add_argument("--jobs", type=int, default=2, help=tr(en="seeds at once", ru="сидов одновременно"))
    p.add_argument("--out", type=Path, default=FILE, help=tr(en="where to write", ru="куда записать"))
    args = p.parse_args()
    cli.at_least("--seeds", args.seeds, 1)
    cli.at_least("--jobs", args.jobs, 1)
    import torch
    import transformers
    import trl

    found = []
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        for seed in bar(pool.imap_unordered(measure, range(args.seeds)), tr(en="seeds", ru="сиды"), total=args.seeds):
            found.append(seed)
            print({name: round(part["after"]["accuracy"], 3) for name, part in seed["variants"].items()}, flush=True)
    found.sort(key=lambda seed: seed["seed"])
    versions = {"python": platform.python_version(), "torch": torch.__version__, "trl": trl.__version__,
                "transformers": transformers.__version__}
    table = {"versions": versions, "tasks": TASKS, "samples": SAMPLES, "seeds": found}
    args.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(markdown() if args.out == FILE else args.out)


if __name__ == "__main__":
    cli.main(main)
