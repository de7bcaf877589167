"""The task: add four digits. Prompt '3527=', right answer '17.' at once or '8,10,17.' with the partial sums.

Text forms are for reading, batched forms for training; the tests hold them to each other.
"""
import torch

from lib.i18n import tr

VOCAB = [*"0123456789,.=", "<bos>"]
STOI = {token: i for i, token in enumerate(VOCAB)}
COMMA, DOT, EQUALS, BOS = (STOI[token] for token in (",", ".", "=", "<bos>"))
V_IN, V_OUT = len(VOCAB), len(VOCAB) - 1   # <bos> is read but never written
N_DIGITS = 4
PROMPT_LENGTH = N_DIGITS + 2               # <bos>, the digits, '='
MAX_SUM = 9 * N_DIGITS                     # 36: blind guesses are drawn from 0..36
MAX_NEW = 10                               # an answer is cut after so many tokens


# ── text ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_prompt(digits) -> str:
    """[3, 5, 2, 7] -> '3527='."""
    return "".join(str(int(d)) for d in digits) + "="


def cot_answer(digits) -> str:
    """The step-by-step answer, that is, the partial sums: [3, 5, 2, 7] -> '8,10,17.'."""
    sums = [sum(digits[: i + 1]) for i in range(1, len(digits))]
    return ",".join(str(int(s)) for s in sums) + "."


def encode(text: str) -> list[int]:
    """Token ids of a text, without <bos>. Raises ValueError for a character outside the vocabulary."""
    unknown = sorted({c for c in text if c not in STOI})
    if unknown:
        raise ValueError(tr(en=f"the model's vocabulary is {''.join(VOCAB[:-1])}, it has no {''.join(unknown)!r}",
                            ru=f"словарь модели: {''.join(VOCAB[:-1])}, в нём нет {''.join(unknown)!r}"))
    return [STOI[c] for c in text]


def decode(ids) -> str:
    """The text of token ids (a list or a tensor of one dimension)."""
    return "".join(VOCAB[int(i)] for i in ids)


# ── batches ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def random_digits(n: int, rng: torch.Generator) -> torch.Tensor:
    """n tasks: digits [n, 4], each 0..9."""
    return torch.randint(10, (n, N_DIGITS), generator=rng)


def prompt_tokens(digits: torch.Tensor) -> torch.Tensor:
    """digits [n, 4] -> prompts [n, 6]: <bos>, the digits (a digit's token id is the digit), '='."""
    n = len(digits)
    return torch.cat([torch.full((n, 1), BOS), digits, torch.full((n, 1), EQUALS)], dim=1)


def corpus(n: int, p_cot: float, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """n lines of the 'internet': a share p_cot is solved step by step, the rest ends in a blind guess from 0..36.

    Returns tokens [n, 15], padded with dots, and lengths [n].
    """
    digits = random_digits(n, rng)
    stepwise = torch.rand(n, generator=rng) < p_cot
    guess = torch.randint(MAX_SUM + 1, (n,), generator=rng)
    sums = digits.cumsum(1)[:, 1:]                                        # [n, 3] the partial sums
    sums[:, -1] = torch.where(stepwise, sums[:, -1], guess)
    # Each number takes three cells, tens, ones and a separator. Cells that are not written are then squeezed out.
    ends = torch.tensor([COMMA] * (sums.shape[1] - 1) + [DOT]).expand_as(sums)
    cells = torch.stack([sums // 10, sums % 10, ends], dim=2)             # [n, 3, 3]
    written = stepwise[:, None].expand_as(sums).clone()
    written[:, -1] = True                                                 # a blind line writes its last number only
    written = written[:, :, None].expand_as(cells).clone()
    written[:, :, 0] &= sums >= 10
    return _squeeze(prompt_tokens(digits), cells.flatten(1), written.flatten(1))


def _squeeze(prompts, cells, written):
    """Appends to each prompt its written cells, moved to the left; dots fill the rest."""
    n, width = prompts.shape
    lines = torch.full((n, width + cells.shape[1]), DOT)
    lines[:, :width] = prompts
    rows, columns = written.nonzero(as_tuple=True)
    lines[rows, width - 1 + written.cumsum(1)[rows, columns]] = cells[rows, columns]
    return lines, width + written.sum(1)


def has_steps(answers: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Which answers reason, that is, hold a comma: answers [N, T], lengths [N] -> [N] bool."""
    return ((answers == COMMA) & answer_mask(lengths, answers.shape[1]).bool()).any(1)


def answer_mask(lengths: torch.Tensor, width: int) -> torch.Tensor:
    """1 where a column holds a token of the answer, 0 on the padding behind it: lengths [N] -> [N, width] float32."""
    return (torch.arange(width) < lengths[:, None]).float()


def answer_texts(answers: torch.Tensor, lengths: torch.Tensor) -> list[str]:
    """answers [N, T], lengths [N] -> N texts."""
    return [decode(row[:length]) for row, length in zip(answers.tolist(), lengths.tolist(), strict=True)]
