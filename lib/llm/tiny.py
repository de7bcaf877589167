"""A Qwen3 of 0.4 million parameters that plays Countdown: its tokenizer, its SFT, and the shipped base for GRPO.

    python -m lib.llm.tiny             # teach the shipped base again (minutes) and write its manifest
    python -m lib.llm.tiny DIR --seed 3     # another one, into a folder

It is a real Hugging Face model in a folder: TRL trains it as it trains Qwen2.5. What makes it small enough for a laptop is
the tokenizer: a number is one token, and so is each fixed piece of the prompt.
"""
import hashlib
import json
import math
import random
import re
import string
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn import functional as F

from lib import cli
from lib.countdown.tasks import PROMPTS, make_countdown, prompt
from lib.i18n import LANGUAGES, tr
from lib.llm.models import quiet, rendered
from lib.progress import bar

BASE = Path(__file__).parent / "tiny_base"
SEED = 0                        # of the shipped base
CONTEXT = 512                   # tokens of prompt and reply
LARGEST = 120                   # numbers beyond it have no token: no task has them, and attempts that need one are left out
NO, YES = " ✗\n", " ✓\n"        # the verdict that ends each attempt
END = "<|im_end|>"
CHAT = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

STEPS, TOKENS = 2000, 2048      # optimizer steps, tokens of a step at most
TASKS = 4000                    # to learn on
DILIGENT = 0.7                  # of the steps teach arithmetic on long searches, the others what the base shall write
VERDICT_WEIGHT = 4.0            # verdicts are few, and the search hangs on them


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def pieces() -> list[str]:
    """The fixed texts that are one token each: the prompts' (in both languages), the chat's and the replies'."""
    found = []
    for text in PROMPTS.values():
        fixed = [literal for literal, *_ in string.Formatter().parse(text)]
        # a list of numbers is written with brackets, which stick to the text around it
        at = 1 + [name for _, name, *_ in string.Formatter().parse(text)].index("nums")
        fixed[at - 1], fixed[at] = fixed[at - 1] + "[", "]" + fixed[at]
        found += [piece for piece in fixed if piece]
    return [*found, "user\n", "assistant\n", "\n", "<think>", "</think>", "<answer>", "</answer>", ", ", NO, YES, *"+-*/=()"]


def new_tokenizer():
    """A transformers tokenizer: a vocabulary of whole words, which are the fixed pieces and the numbers to LARGEST."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", END, "<unk>"]
    words = pieces()
    vocabulary = {word: i for i, word in enumerate([*special, *words, *map(str, range(LARGEST + 1))])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    longest_first = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(longest_first + r"|\d+"), "isolated")
    raw.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, pad_token="<|endoftext|>", unk_token="<unk>",
                                        additional_special_tokens=["<|im_start|>"], padding_side="left",
                                        model_max_length=CONTEXT)
    tokenizer.chat_template = CHAT
    return tokenizer


def byte_tokenizer():
    """A tokenizer that reads any text, a byte a token: for trying machinery out on texts that have no tokens above."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", END]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({word: i for i, word in enumerate([*special, *letters])}, []))
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, pad_token="<|endoftext|>",
                                        additional_special_tokens=["<|im_start|>"], padding_side="left",
                                        model_max_length=CONTEXT)
    tokenizer.chat_template = CHAT
    return tokenizer


def make_untaught(folder: str | Path) -> None:
    """Writes a model that reads bytes and knows nothing, with its tokenizer: it is right about nothing, and says so fast."""
    quiet()
    tokenizer = byte_tokenizer()
    new_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def new_model(tokenizer, seed: int = 0):
    """An untaught Qwen3 of 0.44 million parameters. torch's global generator is left as it was."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    # Qwen3 and not Qwen2: of a folder of type qwen2, AutoTokenizer replaces a custom tokenizer, without a word
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=1, head_dim=32, max_position_embeddings=CONTEXT, initializer_range=0.05,
        tie_word_embeddings=True, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


# ── what SFT teaches ──────────────────────────────────────────────────────────────────────────────────────────────────
def attempts(nums: Sequence[int]) -> list[tuple]:
    """All (x, op1, y, v, op2, z, r) with v = x op1 y and r = v op2 z, within 0 … LARGEST and without negative numbers."""
    found = []
    for last in range(3):
        x, y = sorted((n for i, n in enumerate(nums) if i != last), reverse=True)
        z = nums[last]
        for op1, v in (("+", x + y), ("-", x - y), ("*", x * y)):
            for op2, r in (("+", v + z), ("-", v - z), ("*", v * z)):
                if v <= LARGEST and 0 <= r <= LARGEST:
                    found.append((x, op1, y, v, op2, z, r))
    return found


def reply(task: dict, rng: random.Random, luck: float, quitting: float, most: int = 10) -> tuple[str, bool]:
    """A written search and whether it ends in success: attempts in random order, the answer is the last one.

    luck: probability that an attempt is a right one, where one is left. quitting: probability to stop after a wrong attempt,
    with a wrong answer.
    """
    left = attempts(task["nums"])
    rng.shuffle(left)
    lines, solved = [], False
    while left and len(lines) < most and not solved:
        right = [attempt for attempt in left if attempt[-1] == task["target"]]
        tried = right[0] if right and rng.random() < luck else left[-1]
        left.remove(tried)
        x, op1, y, v, op2, z, r = tried
        solved = r == task["target"]
        lines.append(f"{x}{op1}{y}={v}, {v}{op2}{z}={r}" + (YES if solved else NO))
        if rng.random() < quitting:
            break
    return f"<think>{''.join(lines)}</think><answer>({x}{op1}{y}){op2}{z}</answer>", solved


def style(step: int, steps: int, rng: random.Random) -> tuple[float, float]:
    """luck and quitting of the replies at a step: first diligent searches, then the mixture that the base shall write."""
    return (0.3, 0.05) if step < DILIGENT * steps else (0.0, rng.choice([0.3, 0.9]))


# ── SFT ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
def teach(model, tokenizer, tasks: Sequence[dict], steps: int = STEPS, seed: int = 0, progress: bool = True):
    """Supervised fine-tuning on written searches; only the reply is learned. Yields (step, loss) after each step.

    Muon for the matrices, AdamW for the rest: of the optimizers tried it taught the arithmetic best in the same time.
    """
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    optimizers = [torch.optim.Muon(matrices, lr=1e-2, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
                  torch.optim.AdamW(others, lr=5e-3, betas=(0.9, 0.95), weight_decay=0.01)]
    peak = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    verdicts = torch.tensor(tokenizer.convert_tokens_to_ids([NO, YES]))
    model.train()
    batches = _batches(tokenizer, tasks, steps, seed)
    for step in bar(range(steps), tr(en="SFT of the tiny model", ru="SFT маленькой модели"), show=progress):
        inputs, labels = next(batches)
        logits = model(input_ids=inputs, use_cache=False).logits
        targets = labels[:, 1:].flatten()
        losses = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets, ignore_index=-100, reduction="none")
        weights = (targets >= 0) + (VERDICT_WEIGHT - 1) * torch.isin(targets, verdicts)
        loss = (losses * weights).sum() / weights.sum()
        rate = min(1, (step + 1) / 50) * (0.05 + 0.475 * (1 + math.cos(math.pi * step / steps)))
        for optimizer, lr in zip(optimizers, peak, strict=True):
            optimizer.param_groups[0]["lr"] = lr * rate
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        yield step + 1, loss.item()


def _batches(tokenizer, tasks, steps, seed):
    """For each step inputs and labels [n, L], labels -100 where nothing is learned; of similar lengths, to pad little."""
    rng, pool = random.Random(seed), []
    for step in range(steps):
        if not pool:
            prompts, replies = _pairs(tokenizer, tasks, step, steps, rng)
            batch: list = []
            for p, r in sorted(zip(prompts, replies, strict=True), key=lambda pair: len(pair[0]) + len(pair[1])):
                if batch and (len(batch) + 1) * (len(p) + len(r)) > TOKENS:
                    pool.append(batch)
                    batch = []
                batch.append((p, r))
            pool.append(batch)
            rng.shuffle(pool)
        batch = pool.pop()
        longest = max(len(p) + len(r) for p, r in batch)
        inputs = torch.full((len(batch), longest), tokenizer.pad_token_id)
        labels = torch.full((len(batch), longest), -100)
        for row, (p, r) in enumerate(batch):
            inputs[row, : len(p) + len(r)] = torch.tensor(p + r)
            labels[row, len(p) : len(p) + len(r)] = torch.tensor(r)
        yield inputs, labels


def _pairs(tokenizer, tasks, step, steps, rng, count=1024):
    """Token ids of prompts, in either language, and of replies."""
    drawn = [rng.choice(tasks) for _ in range(count)]
    prompts = [rendered(tokenizer, prompt(task, rng.choice(LANGUAGES))) for task in drawn]
    replies = [reply(task, rng, *style(step, steps, rng))[0] + END for task in drawn]
    return (tokenizer(texts, add_special_tokens=False).input_ids for texts in (prompts, replies))


# ── the shipped base ──────────────────────────────────────────────────────────────────────────────────────────────────
def manifest(folder: Path = BASE) -> dict:
    """How a base was made, and the SHA-256 of its weights."""
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def check_base(folder: Path = BASE) -> None:
    """Raises ValueError where a base's weights are not those of its manifest."""
    weights = folder / "model.safetensors"
    if not weights.is_file() or _sha256(weights) != manifest(folder)["sha256"]:
        raise ValueError(tr(en=f"{weights} is damaged: get it again (git checkout) or run python -m lib.llm.tiny",
                            ru=f"файл {weights} повреждён: верните его (git checkout) или запустите python -m lib.llm.tiny"))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recipe(seed: int = SEED, steps: int = STEPS) -> dict:
    """What the weights follow from, beside this file and the tasks."""
    return {"seed": seed, "steps": steps, "tokens": TOKENS, "tasks": TASKS, "diligent": DILIGENT,
            "verdict_weight": VERDICT_WEIGHT}


def make(folder: Path, seed: int = SEED, steps: int = STEPS) -> None:
    """Teaches a base and writes it to a folder in Hugging Face's format, with its manifest."""
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, seed)
    quiet()
    losses: list[float] = []
    for step, loss in teach(model, tokenizer, make_countdown(TASKS), steps, seed):
        losses.append(loss)
        if step % 100 == 0:
            mean = sum(losses[-100:]) / 100
            print(tr(en=f"step {step}/{steps}: loss {mean:.3f}", ru=f"шаг {step}/{steps}: loss {mean:.3f}"), flush=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    made = recipe(seed, steps) | {"torch": torch.__version__, "sha256": _sha256(folder / "model.safetensors")}
    (folder / "manifest.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = cli.Parser(prog="python -m lib.llm.tiny", description=tr(
        en="Teaches the tiny Countdown model by SFT.", ru="Обучает маленькую модель для Countdown (SFT)."))
    parser.add_argument("folder", nargs="?", type=Path, default=BASE, metavar="DIR", help=tr(
        en="where to write it", ru="куда её записать"))
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=tr(
        en="of weights and data", ru="весов и данных"))
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=tr(
        en="optimizer steps", ru="шагов оптимизатора"))
    options = parser.parse_args()
    cli.at_least("--steps", options.steps, 1)
    if options.folder != BASE and options.folder.exists() and (not options.folder.is_dir() or any(options.folder.iterdir())):
        raise ValueError(tr(en=f"{options.folder} is there already: name a new folder",
                            ru=f"{options.folder} уже есть: назовите новую папку"))
    torch.set_num_threads(1)       # two threads on a busy machine cost many times more than they save
    make(options.folder, options.seed, options.steps)


if __name__ == "__main__":
    cli.main(main)
