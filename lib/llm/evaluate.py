"""How well a language model solves Countdown: samples, what they score, and two controls.

    python -m lib.llm.evaluate tiny --tasks 500 --max-tokens 150

The controls ask whether a longer search is all that was learned: the base that is forced to go on until it says yes, and the
best of k short replies of the base at the same number of tokens.
"""
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from lib import cli
from lib.countdown.rewards import correctness_reward, format_reward
from lib.countdown.tasks import make_countdown, prompt
from lib.files import open_new
from lib.i18n import language, tr
from lib.llm.models import load, opened, rendered
from lib.llm.tiny import YES
from lib.progress import bar
from lib.toy.evaluate import pass_at_k

BATCH = 256      # replies at a time


class Samples(NamedTuple):
    """k replies to each of n tasks."""

    texts: list[list[str]]      # [n][k], without the end token
    tokens: torch.Tensor        # [n, k] tokens of each, the end token included
    ended: torch.Tensor         # [n, k] whether it ended by itself, and not at the limit
    right: torch.Tensor         # [n, k]
    formed: torch.Tensor        # [n, k]


class Score(NamedTuple):
    """What the replies of a model are worth. `low` and `high`: Wilson's 95 % interval of accuracy, on n tasks."""

    tasks: int
    samples: int                # a task
    accuracy: float             # pass@1: the mean over tasks and replies
    low: float
    high: float
    pass_k: float               # a right reply among `samples`
    format: float
    tokens: float
    cut: float                  # share of replies that ran into the limit


@torch.no_grad()
def sample(model, tokenizer, tasks: Sequence[dict], k: int = 8, *, max_tokens: int, seed: int = 0, batch: int = BATCH,
           insist: bool = False, progress: bool = True) -> Samples:
    """k replies a task at temperature 1, from a causal language model of the transformers library.

    insist: the tiny model may not leave its search before it has said yes (the first control). torch's global generator is
    left as it was.
    """
    was_training = model.training
    model.eval()
    asked = [text for task in tasks for text in [rendered(tokenizer, prompt(task, language()))] * k]
    opening, ends = opened(tokenizer), _ends(model, tokenizer)
    texts, lengths, ended = [], [], []
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        for start in bar(range(0, len(asked), batch), tr(en="replies", ru="ответы"), show=progress):
            given = tokenizer(asked[start : start + batch], return_tensors="pt", padding=True, padding_side="left",
                              add_special_tokens=False).to(model.device)
            written = model.generate(
                input_ids=given.input_ids, attention_mask=given.attention_mask, max_new_tokens=max_tokens, do_sample=True,
                temperature=1.0, top_k=0, top_p=1.0, pad_token_id=tokenizer.pad_token_id,
                logits_processor=[Insist(tokenizer)] if insist else None)[:, given.input_ids.shape[1] :]
            for row in written.tolist():
                stop = next((i for i, token in enumerate(row) if token in ends), None)
                ended.append(stop is not None)
                lengths.append(len(row) if stop is None else stop + 1)
                texts.append(opening + tokenizer.decode(row[:stop], skip_special_tokens=True))
    model.train(was_training)
    right = correctness_reward(texts, [task["nums"] for task in tasks for _ in range(k)],
                               [task["target"] for task in tasks for _ in range(k)])
    shape = (len(tasks), k)
    return Samples([texts[i : i + k] for i in range(0, len(texts), k)], torch.tensor(lengths).view(shape),
                   torch.tensor(ended).view(shape), (torch.tensor(right) > 0).view(shape),
                   (torch.tensor(format_reward(texts)) > 0).view(shape))


def _ends(model, tokenizer) -> set[int]:
    stops = model.generation_config.eos_token_id
    stops = stops if isinstance(stops, list) else [stops]
    return {token for token in (*stops, tokenizer.eos_token_id) if token is not None}


class Insist:
    """A logits processor that forbids '</think>' unless the last verdict was yes."""

    def __init__(self, tokenizer):
        self.yes, self.leave = tokenizer.convert_tokens_to_ids([YES, "</think>"])

    def __call__(self, tokens: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        logits[tokens[:, -1] != self.yes, self.leave] = -math.inf
        return logits


def score(samples: Samples) -> Score:
    n, k = samples.right.shape
    accuracy = samples.right.float().mean().item()
    low, high = wilson(accuracy, n)
    return Score(n, k, accuracy, low, high, samples.right.any(1).float().mean().item(), samples.formed.float().mean().item(),
                 samples.tokens.float().mean().item(), 1 - samples.ended.float().mean().item())


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a share that was seen in n independent trials (Wilson, 1927).

    For the mean over k replies to n tasks it is rather too wide than too narrow: the replies to one task are alike.
    """
    middle = (share + z * z / 2 / n) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / 2 / n) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def best_of(samples: Samples, tokens: float) -> float:
    """The share of tasks solved by the best of several replies, of which as many are taken as `tokens` tokens pay for.

    pass@k by the unbiased estimator (Chen et al., 2021, arXiv:2107.03374), between two whole k by straight line.
    """
    k = max(1.0, tokens / samples.tokens.float().mean().item())
    n = samples.right.shape[1]
    if k > n:
        raise ValueError(tr(en=f"{tokens:.0f} tokens pay for {k:.1f} replies, there are only {n} a task",
                            ru=f"на {tokens:.0f} токенов приходится {k:.1f} ответа, а на задачу их всего {n}"))
    below, above = math.floor(k), math.ceil(k)
    correct = samples.right.sum(1).tolist()
    few, more = (sum(pass_at_k(n, c, size) for c in correct) / len(correct) for size in (below, above))
    return few + (k - below) * (more - few)


def line(name: str, found: Score) -> str:
    """A score as a line of text."""
    tokens = f"{found.tokens:.0f}"
    return tr(en=f"{name}: accuracy {found.accuracy:.3f} (95 %: {found.low:.3f} to {found.high:.3f}; {found.tasks} tasks x "
                 f"{found.samples} replies), pass@{found.samples} {found.pass_k:.3f}, form {found.format:.3f}, length "
                 f"{tokens}, cut off {found.cut:.3f}",
              ru=f"{name}: точность {found.accuracy:.3f} (95 %: {found.low:.3f}–{found.high:.3f}; задач {found.tasks} × "
                 f"{found.samples} ответов), pass@{found.samples} {found.pass_k:.3f}, форма {found.format:.3f}, длина "
                 f"{tokens}, обрезано {found.cut:.3f}")


def save(samples: Samples, tasks: Sequence[dict], path: Path) -> Path:
    """Writes every reply as a JSON line: its task, its tokens, and whether it is right, has the form and ended by itself.

    Returns the file: `path`, or the first of name-1, name-2, … that is free.
    """
    with open_new(path) as file:
        for i, task in enumerate(tasks):
            for j, text in enumerate(samples.texts[i]):
                numbers = {name: getattr(samples, name)[i, j].item() for name in ("tokens", "right", "formed", "ended")}
                file.write(json.dumps(task | {"reply": text} | numbers, ensure_ascii=False) + "\n")
    return Path(file.name)


# ── command ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def main() -> None:
    parser = cli.Parser(prog="python -m lib.llm.evaluate", description=tr(
        en="How well a model solves held-out Countdown tasks.", ru="Насколько хорошо модель решает отложенные задачи "
                                                                   "Countdown."))
    parser.add_argument("model", help=tr(en="'tiny', a folder or an id of the hub", ru="'tiny', папка или имя на хабе"))
    parser.add_argument("--tasks", type=int, default=200, metavar="N", help=tr(en="how many", ru="сколько"))
    parser.add_argument("--samples", type=int, default=8, metavar="K", help=tr(en="replies a task", ru="ответов на задачу"))
    parser.add_argument("--max-tokens", type=int, default=256, metavar="N", help=tr(en="of a reply", ru="в ответе"))
    parser.add_argument("--split", choices=("validation", "test"), default="test", help=tr(
        en="choose settings on validation, report on test", ru="настройки выбирают на validation, сообщают по test"))
    parser.add_argument("--save", type=Path, metavar="FILE", help=tr(
        en="write the replies here, JSON lines", ru="записать сюда ответы, JSON-строками"))
    args = parser.parse_args()
    for name, value in (("--tasks", args.tasks), ("--samples", args.samples), ("--max-tokens", args.max_tokens)):
        cli.at_least(name, value, 1)
    tasks = make_countdown(args.tasks, split=args.split)
    model, tokenizer = load(args.model)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        found = sample(model.to(device), tokenizer, tasks, args.samples, max_tokens=args.max_tokens)
    print(line(args.model, score(found)))
    if args.save:
        print(save(found, tasks, args.save))


if __name__ == "__main__":
    cli.main(main)
