"""Right solutions that look unlike the reference: each is put over it and must get full marks."""
from typing import NamedTuple

from solved import replaced


class Alternative(NamedTuple):
    name: str
    parts: tuple[str, ...]      # the functions that it writes, each checked with full marks
    source: str


LOOPS = Alternative("python loops", ("answer_mask", "group_advantages", "kl_k3", "clipped_objective", "mean_per_answer",
                                     "mean_per_token", "dpo_loss"), """
def answer_mask(prompt_lengths, answer_lengths, width):
    rows = []
    for p, a in zip(prompt_lengths.tolist(), answer_lengths.tolist()):
        row = []
        for column in range(width):
            row.append(1.0 if p - 1 <= column <= p + a - 2 else 0.0)
        rows.append(row)
    return torch.tensor(rows)

def group_advantages(rewards, eps=1e-4):
    out = torch.empty_like(rewards)
    for i, row in enumerate(rewards):
        mean = sum(row) / len(row)
        std = (sum((r - mean) ** 2 for r in row) / len(row)) ** 0.5
        for j, r in enumerate(row):
            out[i, j] = (r - mean) / (std + eps)
    return out

def kl_k3(logp, logp_ref):
    rows = []
    for ours, theirs in zip(logp, logp_ref):
        rows.append(torch.stack([torch.exp(b - a) - 1 - (b - a) for a, b in zip(ours, theirs)]))
    return torch.stack(rows)

def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    out = torch.zeros(logp.shape)
    for i in range(logp.shape[0]):
        for j in range(logp.shape[1]):
            ratio = torch.exp(logp[i, j] - logp_old[i, j])
            if advantages[i] > 0:
                out[i, j] = advantages[i] * (ratio if ratio < 1 + eps_high else 1 + eps_high)
            else:
                out[i, j] = advantages[i] * (ratio if ratio > 1 - eps_low else 1 - eps_low)
    return out

def mean_per_answer(x, mask):
    total = 0
    for row, keep in zip(x, mask):
        total = total + row[keep.bool()].mean()
    return total / len(x)

def mean_per_token(x, mask):
    total, count = 0, 0
    for row, keep in zip(x, mask):
        for value, m in zip(row, keep):
            if m:
                total = total + value
                count += 1
    return total / count

def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    losses = []
    for c, r, rc, rr in zip(logp_chosen, logp_rejected, ref_chosen, ref_rejected):
        losses.append(-torch.nn.functional.logsigmoid(beta * (c - r - rc + rr)))
    return sum(losses) / len(losses)
""")

EINSUM = Alternative("einsum", ("group_advantages", "mean_per_answer", "mean_per_token"), """
def group_advantages(rewards, eps=1e-4):
    G = rewards.shape[1]
    centred = rewards - torch.einsum("bg->b", rewards)[:, None] / G
    return centred / ((torch.einsum("bg,bg->b", centred, centred) / G).sqrt()[:, None] + eps)

def mean_per_answer(x, mask):
    return torch.einsum("nt,nt,n->", x, mask, 1 / torch.einsum("nt->n", mask)) / x.shape[0]

def mean_per_token(x, mask):
    return torch.einsum("nt,nt->", x, mask) / torch.einsum("nt->", mask)
""")

IN_PLACE = Alternative("in place on clones", ("answer_mask", "group_advantages", "kl_k3", "clipped_objective"), """
def answer_mask(prompt_lengths, answer_lengths, width):
    mask = torch.zeros(len(prompt_lengths), width)
    for i in range(len(mask)):
        mask[i, prompt_lengths[i] - 1 : prompt_lengths[i] - 1 + answer_lengths[i]] = 1
    return mask

def group_advantages(rewards, eps=1e-4):
    a = rewards.clone()
    a -= a.mean(dim=-1, keepdim=True)
    a /= a.square().mean(dim=-1, keepdim=True).sqrt_().add_(eps)
    return a

def kl_k3(logp, logp_ref):
    d = logp_ref.clone()
    d -= logp
    out = d.exp() - 1
    out -= d
    return out

def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    ratio = logp.clone().sub_(logp_old).exp_()
    bounded = ratio.clone().clamp_(min=1 - eps_low, max=1 + eps_high)
    return torch.minimum(ratio.mul(advantages.unsqueeze(-1)), bounded.mul_(advantages.unsqueeze(-1)))
""")

IN_DOUBLE = Alternative("float64 inside", ("group_advantages", "kl_k3", "clipped_objective", "mean_per_answer",
                                           "dpo_loss"), """
def group_advantages(rewards, eps=1e-4):
    r = rewards.double()
    return ((r - r.mean(1, keepdim=True)) / (r.std(1, unbiased=False, keepdim=True) + eps)).to(rewards.dtype)

def kl_k3(logp, logp_ref):
    d = logp_ref.double() - logp.double()
    return (d.exp() - d - 1).float()

def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    ratio, A = (logp.double() - logp_old.double()).exp(), advantages.double()[:, None]
    return torch.min(ratio * A, ratio.clip(1 - eps_low, 1 + eps_high) * A).float()

def mean_per_answer(x, mask):
    return ((x.double() * mask).sum(1) / mask.double().sum(1)).mean().float()

def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    c, r, rc, rr = (x.double() for x in (logp_chosen, logp_rejected, ref_chosen, ref_rejected))
    return -torch.nn.functional.logsigmoid(beta * (c - rc - r + rr)).mean().float()
""")

OUT_DOUBLE = Alternative("float64 returned", ("answer_mask", "group_advantages", "kl_k3", "clipped_objective",
                                              "mean_per_answer", "mean_per_token", "dpo_loss"), """
def answer_mask(prompt_lengths, answer_lengths, width):
    j = torch.arange(1, width + 1)
    return ((j >= prompt_lengths[:, None]) & (j < (prompt_lengths + answer_lengths)[:, None])).double()

def group_advantages(rewards, eps=1e-4):
    r = rewards.double()
    return (r - r.mean(1, keepdim=True)) / (r.var(1, correction=0, keepdim=True) ** 0.5 + eps)

def kl_k3(logp, logp_ref):
    ratio = (logp_ref.double() - logp.double()).exp()
    return ratio - ratio.log() - 1

def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    ratio, A = (logp.double() - logp_old.double()).exp(), advantages.double().reshape(-1, 1)
    return torch.stack([ratio * A, ratio.clamp(1 - eps_low, 1 + eps_high) * A]).amin(0)

def mean_per_answer(x, mask):
    return (x.double() * mask / mask.sum(1, keepdim=True)).sum() / len(x)

def mean_per_token(x, mask):
    return torch.dot(x.double().flatten(), mask.double().flatten()) / mask.double().sum()

def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    margin = (logp_chosen - logp_rejected).double() - (ref_chosen - ref_rejected).double()
    return torch.nn.functional.softplus(-beta * margin).mean()
""")

NUMPY = Alternative("numpy and string methods for the reward", ("rule_reward", "answer_mask"), """
import numpy as np

def rule_reward(prompt, completion):
    if not completion.endswith(".") or not set(completion) <= set("0123456789,."):
        return 0.0
    numbers = completion[:-1].split(",")
    if "." in completion[:-1] or "" in numbers:
        return 0.0
    total = np.array(list(prompt[:4]), dtype=int).sum()
    return np.float64(len(numbers[-1].lstrip("0")) <= 2 and int(numbers[-1].lstrip("0") or 0) == total)

def answer_mask(prompt_lengths, answer_lengths, width):
    first = prompt_lengths.numpy()[:, None] - 1
    column = np.arange(width)[None]
    return torch.from_numpy(((column >= first) & (column < first + answer_lengths.numpy()[:, None])).astype("float32"))
""")

BOOLEAN = Alternative("bool mask and bool reward", ("rule_reward", "answer_mask"), """
def rule_reward(prompt: str, completion: str) -> float:
    found = re.compile("^([0-9]+,)*0*(?P<last>[0-9]{1,2})[.]$(?!\\\\n)", re.ASCII).search(completion)
    return bool(found) and int(found["last"]) == sum(map(int, prompt.rstrip("=")))

def answer_mask(prompt_lengths, answer_lengths, width):
    column = torch.arange(width).expand(len(prompt_lengths), width)
    begin = prompt_lengths.unsqueeze(1) - 1
    return torch.logical_and(column.ge(begin), column.lt(begin + answer_lengths.unsqueeze(1)))
""")

INTEGER = Alternative("int mask and int reward", ("rule_reward", "answer_mask"), """
def rule_reward(prompt, completion):
    *_, last = completion[:-1].split(",")
    form = all(part and set(part) <= {*"0123456789"} for part in completion[:-1].split(","))
    return int(completion[-1:] == "." and form and last.lstrip("0").zfill(1) == str(sum(map(int, prompt[:4]))))

def answer_mask(prompt_lengths, answer_lengths, width):
    steps = torch.zeros(len(prompt_lengths), width + 2 * int(answer_lengths.max()) + 2, dtype=torch.int64)
    rows = torch.arange(len(steps))
    steps[rows, prompt_lengths - 1] += 1
    steps[rows, prompt_lengths - 1 + answer_lengths] -= 1
    return steps.cumsum(1)[:, :width]
""")

WHERE = Alternative("torch.where instead of clamp and min", ("clipped_objective", "mean_per_token"), """
def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    A = advantages.view(-1, 1).expand_as(logp)
    ratio = torch.exp(logp - logp_old)
    stopped = torch.where(A > 0, ratio > 1 + eps_high, ratio < 1 - eps_low)
    border = torch.where(A > 0, 1 + eps_high, 1 - eps_low)
    return torch.where(stopped, border, ratio) * A

def mean_per_token(x, mask):
    return torch.where(mask > 0, x, torch.zeros_like(x)).sum() / mask.count_nonzero()
""")

LOGADDEXP = Alternative("logaddexp", ("dpo_loss",), """
def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    ours, theirs = logp_chosen - logp_rejected, ref_chosen - ref_rejected
    return torch.logaddexp(torch.tensor(0.0), beta * (theirs - ours)).mean()
""")

SELECT = Alternative("masked_select and split", ("mean_per_answer", "mean_per_token"), """
def mean_per_token(x, mask):
    return torch.masked_select(x, mask.bool()).mean()

def mean_per_answer(x, mask):
    parts = torch.masked_select(x, mask > 0.5).split(mask.sum(1).long().tolist())
    return torch.stack([part.mean() for part in parts]).mean()
""")

METHODS = Alternative("methods bound to the names", ("kl_k3", "mean_per_answer", "mean_per_token", "clipped_objective"), """
class Objective:
    def __init__(self, base=math.e):
        self.base = base

    def k3(self, logp, logp_ref):
        d = logp_ref - logp
        return self.base**d - 1 - d

    @staticmethod
    def answers(x, mask):
        return ((x * mask).sum(-1) / mask.sum(-1)).mean(0)

    @classmethod
    def tokens(cls, x, mask):
        return (x * mask).sum() / mask.sum()

    def __call__(self, logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
        ratio = self.base ** (logp - logp_old)
        return torch.min(ratio * advantages[:, None], torch.clamp(ratio, 1 - eps_low, 1 + eps_high) * advantages[:, None])

objective = Objective()
kl_k3, mean_per_answer, mean_per_token = objective.k3, objective.answers, objective.tokens
clipped_objective = objective
""")

WRAPPED = Alternative("decorators, lambdas and partials", ("group_advantages", "kl_k3", "dpo_loss", "mean_per_token",
                                                           "clipped_objective"), """
import functools
import time

def timed(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            inner.seconds = time.perf_counter() - start
    return inner

@timed
@torch.no_grad()
def group_advantages(rewards, eps=1e-4):
    return (rewards - rewards.mean(1, True)) / (rewards.std(1, False, True) + eps)

kl_k3 = lambda logp, logp_ref: torch.expm1(logp_ref - logp) - (logp_ref - logp)
mean_per_token = lambda x, mask: (x * mask).sum().div(mask.sum())

def preference(link, logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
    return link(-beta * (logp_chosen - ref_chosen - logp_rejected + ref_rejected)).mean()

dpo_loss = functools.partial(preference, torch.nn.functional.softplus)

def clip(logp, logp_old, advantages, eps_low, eps_high):
    ratio = (logp - logp_old).exp()
    return torch.fmin(ratio * advantages[:, None], ratio.clamp(1 - eps_low, 1 + eps_high) * advantages[:, None])

clipped_objective = functools.partial(clip, eps_low=0.2, eps_high=0.2)
""")

NAMED = Alternative("renamed parameters, keyword-only defaults, helpers and type hints", (
    "rule_reward", "answer_mask", "group_advantages", "clipped_objective", "dpo_loss"), """
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Tensor = torch.Tensor

@dataclass
class Range:
    low: float
    high: float

    def __call__(self, ratio: Tensor) -> Tensor:
        return ratio.clamp(1 - self.low, 1 + self.high)

def digits_of(question: str) -> list[int]:
    return [int(c) for c in question if c in "0123456789"]

def last_number(text: str) -> Fraction | None:
    match = re.fullmatch("([0-9]+,)*([0-9]+)[.]", text)
    return Fraction(match[2]) if match and len(match[2]) < 1000 else None

def rule_reward(question: str, answer: str, /) -> float:
    return 1.0 if last_number(answer) == sum(digits_of(question)) else 0.0

def answer_mask(before: Tensor, lengths: Tensor, columns: int) -> Tensor:
    place = torch.arange(columns)[None, :] - before[:, None] + 1
    return ((0 <= place) * (place < lengths[:, None])).float()

def group_advantages(r: Tensor, *, eps: float = 1e-4) -> Tensor:
    var, mean = torch.var_mean(r, dim=1, correction=0, keepdim=True)
    return (r - mean) / (torch.sqrt(var) + eps)

def clipped_objective(new: Tensor, old: Tensor, adv: Tensor, *, eps_low: float = 0.2, eps_high: float = 0.2) -> Tensor:
    ratio = torch.exp(new - old)
    return torch.min(adv[:, None] * ratio, adv[:, None] * Range(eps_low, eps_high)(ratio))

def dpo_loss(pw: Tensor, pl: Tensor, rw: Tensor, rl: Tensor, *, beta: float = 0.1) -> Tensor:
    return -(beta * ((pw - rw) - (pl - rl))).sigmoid().log().where(
        beta * ((pw - rw) - (pl - rl)) > -50, beta * ((pw - rw) - (pl - rl))).mean()
""")

NOISY = Alternative("prints and warnings", ("rule_reward", "kl_k3", "mean_per_answer"), """
import sys
import warnings

def rule_reward(prompt, completion):
    print("checking", repr(completion)[:50])
    warnings.warn("this will change", DeprecationWarning, stacklevel=1)
    match = re.fullmatch(r"(?:[0-9]+,)*0*([0-9]+)\\.", completion, flags=re.ASCII)
    return float(bool(match) and match.group(1) == str(sum(map(int, prompt[:4]))))

def kl_k3(logp, logp_ref):
    print(logp.mean().item(), file=sys.stderr)
    warnings.warn("k3", UserWarning, stacklevel=1)
    return (logp_ref - logp).exp() - 1 - (logp_ref - logp)

def mean_per_answer(x, mask):
    print(f"{x.shape = }")
    return (x * mask).sum(1).div(mask.sum(1)).mean()
""")

# ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
ONE_BIG = Alternative("one big step without the other functions", ("grpo_step",), """
del rule_reward, answer_mask, group_advantages, kl_k3, clipped_objective, mean_per_answer, mean_per_token

def grpo_step(policy, reference, optimizer, prompts, group_size, beta):
    optimizer.zero_grad()
    sequences, before, lengths, questions, texts = sample_answers(policy, prompts, group_size)
    paid = [text.endswith(".") and text[:-1].split(",")[-1].lstrip("0") == str(sum(map(int, question[:4])))
            and re.fullmatch("([0-9]+,)*[0-9]+", text[:-1]) is not None for question, text in zip(questions, texts)]
    r = torch.tensor(paid).float().reshape(len(prompts), group_size)
    A = ((r - r.mean(1, keepdim=True)) / (r.std(1, correction=0, keepdim=True) + 1e-4)).reshape(-1, 1)
    ours = policy(sequences[:, :-1])[0].log_softmax(-1)
    with torch.inference_mode():
        theirs = reference(sequences[:, :-1])[0].log_softmax(-1)
    loss = 0
    for i in range(len(sequences)):      # on policy the ratio is 1: the gradient of the objective is A times that of logp
        token = sequences[i, before[i] : before[i] + lengths[i]]
        place = torch.arange(int(before[i]) - 1, int(before[i] + lengths[i]) - 1)
        logp, ref = ours[i, place, token], theirs[i, place, token].clone()
        loss = loss - (A[i] * logp - beta * ((ref - logp).exp() - (ref - logp))).mean() / len(sequences)
    loss.backward()
    optimizer.step()
    return {"reward": r.mean()}
""")

OTHER_LOGPROBS = Alternative("token_logprobs of the course instead of next_token_logprobs", ("grpo_step",), """
from lib.toy.policy import token_logprobs

def grpo_step(policy, reference, optimizer, prompts, group_size, beta):
    sequences, _, lengths, questions, texts = sample_answers(policy, prompts, group_size)
    answers = sequences[:, prompts.shape[1]:]
    rewards = torch.tensor(list(map(rule_reward, questions, texts))).unflatten(0, (-1, group_size))
    logp, _ = token_logprobs(policy, prompts, answers)
    ref, _ = token_logprobs(reference, prompts, answers)
    mask = (torch.arange(answers.shape[1]) < lengths[:, None]).float()
    gain = mean_per_answer(clipped_objective(logp, logp.detach(), group_advantages(rewards).flatten()), mask)
    penalty = mean_per_answer(kl_k3(logp, ref.detach()), mask)
    optimizer.zero_grad(set_to_none=False)
    (beta * penalty - gain).backward()
    optimizer.step()
    return {"reward": float(rewards.mean()), "kl": float(penalty), "texts": texts[:3], "note": None}
""")

OWN_SAMPLER = Alternative("the sampler and its log-probs as logp_old, micro-batches", ("grpo_step",), """
def grpo_step(policy, reference, optimizer, prompts, group_size, beta):
    answers = sample(policy, prompts, group_size, torch.Generator().manual_seed(int(torch.randint(2**40, ()))))
    texts = answer_texts(answers.tokens, answers.lengths)
    questions = [decode(row[1:]) for row in prompts.tolist() for _ in range(group_size)]
    rewards = torch.tensor([rule_reward(q, a) for q, a in zip(questions, texts)]).view(-1, group_size)
    sequences = torch.cat([prompts.repeat_interleave(group_size, 0), answers.tokens], 1)
    A = group_advantages(rewards).flatten()
    optimizer.zero_grad()
    for rows in torch.arange(len(sequences)).chunk(4):
        logp = next_token_logprobs(policy, sequences[rows])[:, PROMPT_LENGTH - 1 :]
        with torch.no_grad():
            ref = next_token_logprobs(reference, sequences[rows])[:, PROMPT_LENGTH - 1 :]
        mask = torch.arange(logp.shape[1]) < answers.lengths[rows, None]
        objective = clipped_objective(logp, answers.logp[rows], A[rows]) - beta * kl_k3(logp, ref)
        (-mean_per_answer(objective, mask.float()) * len(rows) / len(sequences)).backward()
    optimizer.step()
    return dict(reward=rewards.double().mean().item())
""")

DAPO_MISSING = Alternative("DAPO asks for what is missing, and masks instead of cutting", ("dapo_step",), """
def dapo_step(policy, optimizer, next_prompts, batch_size, group_size, eps_low=0.2, eps_high=0.28, max_rounds=8):
    batches, seen = [], []
    missing = batch_size
    for _ in range(max_rounds):
        if missing == 0:
            break
        sequences, before, lengths, questions, texts = sample_answers(policy, next_prompts(missing), group_size)
        r = torch.tensor([rule_reward(q, t) for q, t in zip(questions, texts)]).view(-1, group_size)
        seen += r.flatten().tolist()
        good = (r.mean(1) > 0) & (r.mean(1) < 1)
        mask = answer_mask(before, lengths, sequences.shape[1] - 1) * good.repeat_interleave(group_size)[:, None]
        batches.append((sequences, mask, group_advantages(r).flatten()))
        missing -= good.sum().item()
    kept = batch_size - missing
    if kept:
        tokens = sum(mask.sum() for _, mask, _ in batches)
        optimizer.zero_grad()
        for sequences, mask, A in batches:      # the gradients of the rounds add up
            logp = next_token_logprobs(policy, sequences)
            (-(clipped_objective(logp, logp.detach(), A, eps_low, eps_high) * mask).sum() / tokens).backward()
        optimizer.step()
    return {"reward": sum(seen) / len(seen), "groups": kept, "rounds": len(batches), "generated": len(seen)}
""")

RECURSIVE = Alternative("DAPO by a class and a recursion, numbers as tensors", ("dapo_step",), """
class Collector:
    def __init__(self, policy, next_prompts, group_size):
        self.policy, self.next_prompts, self.group_size = policy, next_prompts, group_size
        self.rewards, self.answers, self.rounds = [], [], 0

    def fill(self, want, most):
        if len(self.answers) >= want or most == 0:
            return self.answers[:want]
        self.rounds += 1
        sequences, before, lengths, questions, texts = sample_answers(self.policy, self.next_prompts(want), self.group_size)
        mask = answer_mask(before, lengths, sequences.shape[1] - 1)
        rewards = torch.tensor(list(map(rule_reward, questions, texts)))
        self.rewards.append(rewards)
        for one in zip(sequences.split(self.group_size), mask.split(self.group_size), rewards.split(self.group_size)):
            if len(set(one[2].tolist())) > 1:
                self.answers.append(one)
        return self.fill(want, most - 1)

def dapo_step(policy, optimizer, next_prompts, batch_size, group_size, eps_low=0.2, eps_high=0.28, max_rounds=8):
    collector = Collector(policy, next_prompts, group_size)
    groups = collector.fill(batch_size, max_rounds)
    if groups:
        sequences, mask, rewards = (torch.cat(parts) for parts in zip(*groups))
        logp = next_token_logprobs(policy, sequences)
        A = group_advantages(rewards.view(-1, group_size)).view(-1)
        objective = clipped_objective(logp, logp.detach(), A, eps_low, eps_high)
        loss = -mean_per_token(objective, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rewards = torch.cat(collector.rewards)
    return {"reward": rewards.mean(), "groups": torch.tensor(len(groups)), "rounds": collector.rounds,
            "generated": torch.tensor(rewards.numel())}
""")

# ── compare ───────────────────────────────────────────────────────────────────────────────────────────────────────────
COMPARE = """
import statistics

from scipy import stats

ANSWERS, PROMPTS, GROUP = 2560, 16, 8

def grpo_run(policy, base, optimizer):
    used = 0
    while used < ANSWERS:
        grpo_step(policy, base, optimizer, new_prompts(PROMPTS), GROUP, 0.02)
        used += PROMPTS * GROUP
    return used

def dapo_run(policy, base, optimizer):
    used = 0
    while used < ANSWERS:
        rounds = (ANSWERS - used) // (PROMPTS * GROUP)
        used += dapo_step(policy, optimizer, new_prompts, PROMPTS, GROUP, max_rounds=rounds)["generated"]
    return used

def train(run, seed):
    torch.manual_seed(seed)
    base = load_base(0.3)
    policy = copy.deepcopy(base)
    return run(policy, base, torch.optim.Adam(policy.parameters(), lr=1e-3)), measure(policy)

def measure(policy):
    *_, questions, texts = sample_answers(policy, new_prompts(500), 2)
    return statistics.fmean(map(rule_reward, questions, texts))

def interval(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=statistics.fmean(values), scale=stats.sem(values))
    return {"mean": (low + high) / 2, "half_width": (high - low) / 2}

def arm(runs):
    return {"answers": [n for n, _ in runs], "pass1": [p for _, p in runs], **interval([p for _, p in runs])}

def compare(seeds):
    grpo, dapo = [], []
    for seed in seeds:
        grpo.append(train(grpo_run, seed))
        dapo.append(train(dapo_run, seed + 10_000))
    return {"grpo": arm(grpo), "dapo": arm(dapo), "difference": interval([d[1] - g[1] for d, g in zip(dapo, grpo)])}
"""


def compared(name: str, *edits: tuple[str, str]) -> Alternative:
    return Alternative(name, ("compare",), replaced(name, COMPARE, *edits))


BY_SEED = compared("compare seed by seed, with scipy's interval and tensors for numbers", (
    '"answers": [n for n, _ in runs], "pass1": [p for _, p in runs], **interval',
    '"answers": torch.tensor([n for n, _ in runs]), "pass1": torch.tensor([p for _, p in runs]).double(), **interval'))
TABLE = compared(
    "compare through a table, in a context, with one policy object that is reset",
    ("def grpo_run(", "STEPS = {'grpo': grpo_step, 'dapo': dapo_step}\nPOLICY = load_base(0.3)\n\ndef grpo_run("),
    ("        grpo_step(policy", "        STEPS['grpo'](policy"), ("dapo_step(policy, opt", "STEPS['dapo'](policy, opt"),
    ("def compare(seeds)", "@torch.random.fork_rng()\ndef compare(seeds)"),
    ("policy = copy.deepcopy(base)", "policy = POLICY\n    policy.load_state_dict(base.state_dict())"))
PARTIAL = compared(
    "compare as a partial, steps with other names for the policy, one of them decorated",
    ("def compare(seeds)", "def _compare(pause, seeds)"),
    ("for d, g in zip(dapo, grpo)])}\n", "for d, g in zip(dapo, grpo)])}\n\nimport functools\n\n"
     "compare = functools.partial(_compare, 0)\n"),
    ("def grpo_run(", "_own = grpo_step\n\ndef grpo_step(model, ref, opt, x, g, beta):\n"
     "    return _own(model, ref, opt, x, g, beta)\n\ndef counted(step):\n    calls = []\n\n"
     "    def inner(*args, **options):\n        calls.append(len(args))\n        return step(*args, **options)\n"
     "    return inner\n\ndapo_step = counted(dapo_step)\n\ndef grpo_run("),
    ("grpo_step(policy, base, optimizer, new_prompts(PROMPTS), GROUP, 0.02)",
     "grpo_step(ref=base, model=policy, opt=optimizer, x=new_prompts(PROMPTS), g=GROUP, beta=0.02)"))

ALTERNATIVES = [LOOPS, EINSUM, IN_PLACE, IN_DOUBLE, OUT_DOUBLE, NUMPY, BOOLEAN, INTEGER, WHERE, LOGADDEXP, SELECT, METHODS,
                WRAPPED, NAMED, NOISY, ONE_BIG, OTHER_LOGPROBS, OWN_SAMPLER, DAPO_MISSING, RECURSIVE, BY_SEED, TABLE,
                PARTIAL]
