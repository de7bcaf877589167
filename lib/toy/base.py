"""The base models: pretraining on the 'internet', the shipped models, and a cache for every other p_cot.

    python -m lib.toy.base            # pretrain the shipped base models again and write their manifest
"""
import hashlib
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import filelock
import platformdirs
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch.nn import functional as F

from lib import cli
from lib.i18n import tr
from lib.progress import bar
from lib.toy.halves import add_gradients
from lib.toy.policy import TinyLM
from lib.toy.task import PROMPT_LENGTH, answer_mask, corpus

SHIPPED = Path(__file__).parent / "bases"
SHIPPED_P_COT = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SHIPPED_SEED = 2   # of seeds 0-6 the typical one: at p_cot 0.3 they score pass@1 0.17-0.23, this one 0.20
STEPS = 2500
BATCH_SIZE = 128
LEARNING_RATE = 3e-3
BLIND = PROMPT_LENGTH + 2   # tokens read of a line with a blind answer: a number of two digits, the dot is not read


# ── pretraining ───────────────────────────────────────────────────────────────────────────────────────────────────────
def next_token_loss(model: TinyLM, lines: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of every next token, summed over the lines' real tokens: lines [n, L], lengths [n] -> [].

    A blind line is over after BLIND tokens. What stands behind them is read of the other lines only: in a padded batch a
    third of the reading would be padding.
    """
    inputs = lengths - 1                                    # the last token is predicted but not read
    logits, hidden = model(lines[:, :BLIND])
    total = _cross_entropy(logits, lines[:, 1 : BLIND + 1], inputs)
    going = (inputs > BLIND).nonzero()[:, 0]
    if len(going):
        logits, _ = model(lines[going, BLIND:-1], hidden[:, going])
        total = total + _cross_entropy(logits, lines[going, BLIND + 1 :], inputs[going] - BLIND)
    return total


def _cross_entropy(logits, targets, lengths):
    """logits [n, T, V], targets [n, T], of which the first `lengths` [n] are real -> their sum []."""
    real = answer_mask(lengths, targets.shape[1]).bool()
    return F.cross_entropy(logits[real], targets[real], reduction="sum")


def new_model(seed: int = 0) -> TinyLM:
    """A model before pretraining. Its weights come from torch's global generator, which is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyLM()


def pretrain(p_cot: float, steps: int = STEPS, seed: int = SHIPPED_SEED, progress: bool = True) -> TinyLM:
    """Trains a language model on next-token prediction, on fresh lines of the corpus at every step."""
    rng = torch.Generator().manual_seed(seed)
    model = new_model(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    title = tr(en=f"pretraining, p_cot = {p_cot:g}", ru=f"претрейн, p_cot = {p_cot:g}")
    for _ in bar(range(steps), title, show=progress):
        lines, lengths = corpus(BATCH_SIZE, p_cot, rng)
        tokens = (lengths - 1).sum()

        def mean_loss(rows, lines=lines, lengths=lengths, tokens=tokens):
            return next_token_loss(model, lines[rows], lengths[rows]) / tokens, None

        add_gradients(model, mean_loss, BATCH_SIZE)
        optimizer.step()
    return model


# ── finding a base model ──────────────────────────────────────────────────────────────────────────────────────────────
def load_base(p_cot: float = 0.3, steps: int = STEPS, seed: int = SHIPPED_SEED, progress: bool = True) -> TinyLM:
    """The base model for a corpus with a share p_cot of step-by-step answers.

    A shipped one where its recipe is the one asked for, else from the user's cache, else pretrained now and cached.
    Two processes that ask for the same one at once pretrain it once. Raises ValueError when a shipped file is damaged.
    """
    p_cot = float(p_cot) + 0.0   # -0.0 is 0.0
    if (steps, seed) == (STEPS, SHIPPED_SEED) and p_cot in SHIPPED_P_COT:
        return _read(SHIPPED / file_name(p_cot), manifest()["models"][f"{p_cot:g}"]["sha256"])
    # the name holds the whole recipe: another recipe is another file
    path = cache_folder() / f"base-{p_cot!r}-{steps}x{BATCH_SIZE}-lr{LEARNING_RATE:g}-seed{seed}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{path}.lock"):
        try:
            return _read(path)
        except (OSError, ValueError):   # not there, or damaged: make it
            model = pretrain(p_cot, steps, seed, progress)
            try:
                _write(path, model)
            except OSError as error:   # a full disk must not cost the model that was just trained
                print(tr(en=f"the base model could not be kept for next time: {error}",
                         ru=f"базовую модель не удалось сохранить на будущее: {error}"), file=sys.stderr)
            return model


def cache_folder() -> Path:
    """Where base models that are not shipped are kept. GRPO_COURSE_CACHE overrides it."""
    return Path(os.environ.get("GRPO_COURSE_CACHE") or platformdirs.user_cache_dir("grpo-by-hand"))


def file_name(p_cot: float) -> str:
    return f"p_cot_{p_cot:g}.safetensors"


def manifest() -> dict:
    """How the shipped base models were made, their hashes and what they score."""
    return json.loads((SHIPPED / "manifest.json").read_text(encoding="utf-8"))


def _read(path: Path, sha256: str | None = None) -> TinyLM:
    data = path.read_bytes()
    model = new_model()
    try:
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError
        model.load_state_dict(load(data))
    except (SafetensorError, RuntimeError, ValueError) as error:
        raise ValueError(tr(en=f"{path} is damaged: get it again (git checkout) or run python -m lib.toy.base",
                            ru=f"файл {path} повреждён: верните его (git checkout) или запустите python -m lib.toy.base",
                            )) from error
    return model


def _write(path: Path, model: TinyLM) -> bytes:
    """Writes under another name and renames: whoever reads sees a whole file or none."""
    data = save({name: tensor.contiguous() for name, tensor in model.state_dict().items()})
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
    return data


def main() -> None:
    cli.Parser(prog="python -m lib.toy.base", description=tr(
        en="Pretrains the shipped base models again.",
        ru="Заново обучает готовые базовые модели.")).parse_args()
    from lib.toy.evaluate import evaluate  # only here: a model can be loaded where the reward is not there

    models, trained = {}, {p_cot: pretrain(p_cot) for p_cot in SHIPPED_P_COT}   # all of them before any file is touched
    SHIPPED.mkdir(exist_ok=True)
    for p_cot, model in trained.items():
        data = _write(SHIPPED / file_name(p_cot), model)
        found = evaluate(model)
        models[f"{p_cot:g}"] = {"file": file_name(p_cot), "sha256": hashlib.sha256(data).hexdigest(),
                                "evaluation": {k: round(v, 4) for k, v in found._asdict().items()}}
        print(f"p_cot {p_cot:4g}: {found}", flush=True)
    recipe = {"seed": SHIPPED_SEED, "steps": STEPS, "batch_size": BATCH_SIZE, "lr": LEARNING_RATE, "optimizer": "Adam"}
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    whole = {"recipe": recipe, "versions": versions, "models": models}
    (SHIPPED / "manifest.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.main(main)
