"""Typical wrong solutions: what a student writes, the name that the checks have for it, and words of what they tell.

`source` is put over the reference solution, so exactly one thing is wrong. Where a function is long, a mutant is an edit of
the right text in RIGHT; the tests check that text too, unedited.
"""
from textwrap import dedent
from typing import NamedTuple

from solved import replaced


class Mutant(NamedTuple):
    name: str
    level: str
    source: str
    mistake: str       # the name that the checks give it
    says: str          # part of the sentence that teaches
    part: str = ""     # the function that is checked, where checking the whole level takes long


# ── right solutions, to be edited ─────────────────────────────────────────────────────────────────────────────────────
GRPO_STEP = """
def grpo_step(policy, reference, optimizer, prompts, group_size, beta):
    sequences, prompt_lengths, answer_lengths, questions, texts = sample_answers(policy, prompts, group_size)
    rewards = torch.tensor([rule_reward(q, t) for q, t in zip(questions, texts)]).view(-1, group_size)
    advantages = group_advantages(rewards).flatten()
    logp = next_token_logprobs(policy, sequences)
    logp_old = logp.detach()
    with torch.no_grad():
        logp_ref = next_token_logprobs(reference, sequences)
    mask = answer_mask(prompt_lengths, answer_lengths, logp.shape[1])
    objective = clipped_objective(logp, logp_old, advantages) - beta * kl_k3(logp, logp_ref)
    loss = -mean_per_answer(objective, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"reward": rewards.mean().item()}
"""

DAPO_STEP = """
def dapo_step(policy, optimizer, next_prompts, batch_size, group_size, eps_low=0.2, eps_high=0.28, max_rounds=8):
    kept, paid, groups, rounds = [], [], 0, 0
    while groups < batch_size and rounds < max_rounds:
        sequences, prompt_lengths, answer_lengths, questions, texts = sample_answers(
            policy, next_prompts(batch_size), group_size)
        rewards = torch.tensor([rule_reward(q, t) for q, t in zip(questions, texts)]).view(-1, group_size)
        mask = answer_mask(prompt_lengths, answer_lengths, sequences.shape[1] - 1)
        mixed = rewards.amax(1) > rewards.amin(1)
        mixed &= mixed.cumsum(0) <= batch_size - groups
        rows = mixed.repeat_interleave(group_size)
        kept.append((sequences[rows], mask[rows], group_advantages(rewards)[mixed].flatten()))
        paid.append(rewards)
        groups += int(mixed.sum())
        rounds += 1
    paid = torch.cat(paid)
    result = {"reward": paid.mean().item(), "groups": groups, "rounds": rounds, "generated": paid.numel()}
    if groups == 0:
        return result
    sequences, mask, advantages = (torch.cat(parts) for parts in zip(*kept))
    logp = next_token_logprobs(policy, sequences)
    loss = -mean_per_token(clipped_objective(logp, logp.detach(), advantages, eps_low, eps_high), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return result
"""

COMPARE = """
from scipy.stats import t

BUDGET, B, G = 1024, 128, 8      # one large step: it is right but for learning too little, and is over soon

def measure(policy):
    *_, questions, texts = sample_answers(policy, new_prompts(400), 4)
    return sum(map(rule_reward, questions, texts)) / len(texts)

def run(name, seed):
    torch.manual_seed(seed)
    base = load_base(0.3)
    policy = copy.deepcopy(base)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    used = 0
    while used < BUDGET:
        if name == "grpo":
            grpo_step(policy, base, optimizer, new_prompts(B), G, 0.02)
            used += B * G
        else:
            said = dapo_step(policy, optimizer, new_prompts, B, G, max_rounds=min(8, (BUDGET - used) // (B * G)))
            used += said["generated"]
    return used, measure(policy)

def summary(values):
    values, n = torch.tensor(values, dtype=torch.float64), len(values)
    return {"mean": values.mean().item(), "half_width": t.ppf(0.975, n - 1) * values.std().item() / n**0.5}

def compare(seeds):
    result = {}
    for name in ("grpo", "dapo"):
        answers, passed = zip(*[run(name, seed) for seed in seeds])
        result[name] = {"answers": list(answers), "pass1": list(passed), **summary(passed)}
    difference = [d - g for d, g in zip(result["dapo"]["pass1"], result["grpo"]["pass1"])]
    result["difference"] = summary(difference)
    return result
"""

ENOUGH = ("BUDGET, B, G = 1024, 128, 8", "BUDGET, B, G = 2560, 16, 8")
RIGHT = {"grpo_step": ("7", GRPO_STEP), "dapo_step": ("boss", DAPO_STEP), "compare": ("boss", COMPARE)}


def edited(function: str, name: str, mistake: str, says: str, *edits: tuple[str, str]) -> Mutant:
    """The right text of a function with replacements, each of a piece that stands there once."""
    level, source = RIGHT[function]
    source = replaced(name, source, *edits)
    return Mutant(name, level, source, mistake, says, function)


def returning(level: str, template: str, part: str = ""):
    """mutant(name, mistake, says, expression): the template, a function, with the expression for its {}."""

    def mutant(name: str, mistake: str, says: str, expression: str) -> Mutant:
        return Mutant(name, level, dedent(template).replace("{}", expression), mistake, says, part)

    return mutant


# ── 1. the reward ─────────────────────────────────────────────────────────────────────────────────────────────────────
def reward(name: str, mistake: str, says: str, body: str) -> Mutant:
    """body: the function's body, with `total`, the sum of the digits, at hand."""
    lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
    return Mutant(name, "1", f"def rule_reward(prompt, completion):\n    total = sum(int(c) for c in prompt[:4])\n{lines}\n",
                  mistake, says)


REWARD = [
    reward("reward takes any format", "wrong_format", "numbers with commas between them", """
        numbers = re.findall("[0-9]+", completion)
        return float(bool(numbers) and numbers[-1].lstrip("0") == str(total).lstrip("0"))
        """),
    reward("reward without the dot", "wrong_format", "numbers with commas between them", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.?", completion)
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward by re.match, without an end", "wrong_format", "numbers with commas between them", r"""
        match = re.match(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward by re.search, without a beginning", "wrong_format", "numbers with commas between them", r"""
        match = re.search(r"([0-9]+)\.\Z", completion)
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward strips blanks", "wrong_format", "numbers with commas between them", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion.strip(" "))
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward for any listed number", "any_number", "whoever lists numbers would be paid", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*[0-9]+\.", completion)
        return float(match is not None and str(total) in [x.lstrip("0") or "0" for x in completion[:-1].split(",")])
        """),
    reward("reward for the sum as a piece of the text", "any_number", "whoever lists numbers would be paid", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*[0-9]+\.", completion)
        return float(match is not None and str(total) in completion)
        """),
    reward("reward for the format alone", "wrong_sum", "The last number is not the sum", r"""
        return float(re.fullmatch(r"(?:[0-9]+,)*[0-9]+\.", completion) is not None)
        """),
    reward("reward for an empty answer", "empty", "An empty answer is no answer", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(not completion or match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward lets a newline follow", "newline", "use re.fullmatch", r"""
        match = re.match(r"^(?:[0-9]+,)*([0-9]+)\.$", completion)
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward takes the digits of other scripts", "other_digits", "write [0-9]", r"""
        match = re.fullmatch(r"(?:\d+,)*(\d+)\.", completion)
        return float(match is not None and len(match[1]) < 100 and int(match[1]) == total)
        """),
    reward("reward is refused for a leading zero", "leading_zero", "A leading zero leaves the number what it is", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(match is not None and match[1] == str(total))
        """),
    reward("reward asks for right steps", "judges_steps", "Only the last number is judged", r"""
        digits = [int(c) for c in prompt[:4]]
        right = [str(sum(digits[:i])) for i in (2, 3, 4)]
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        if match is None or (match[1].lstrip("0") or "0") != str(total):
            return 0.0
        return float("," not in completion or all(step in right for step in completion[:-1].split(",")))
        """),
    reward("reward raises on a long number", "long_number", "A reward must not raise", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(match is not None and int(match[1]) == total)
        """),
    reward("reward looks at the last character of an empty text", "empty", "An empty answer is no answer", r"""
        if completion[-1] != ".":
            return 0.0
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(match is not None and (match[1].lstrip("0") or "0") == str(total))
        """),
    reward("reward strips a lone zero away", "lone_zero", "lstrip('0') or '0'", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return float(match is not None and match[1].lstrip("0") == str(total))
        """),
    reward("reward is 0.1 for the format", "wrong_sum", "The last number is not the sum", r"""
        match = re.fullmatch(r"(?:[0-9]+,)*([0-9]+)\.", completion)
        return 0.0 if match is None else 1.0 if (match[1].lstrip("0") or "0") == str(total) else 0.1
        """),
]


# ── 2. the mask ───────────────────────────────────────────────────────────────────────────────────────────────────────
mask = returning("2", """
    def answer_mask(prompt_lengths, answer_lengths, width):
        j, P, A = torch.arange(width), prompt_lengths[:, None], answer_lengths[:, None]
        return ({}).float()
    """)
MASK = [
    mask("mask off by one to the right", "off_by_one_right", "one column too far right", "(j >= P) & (j < P + A)"),
    mask("mask off by one to the left", "off_by_one_left", "one column too far left", "(j >= P - 2) & (j < P - 2 + A)"),
    mask("mask of the prompt", "mask_of_prompt", "This is the mask of the prompt", "(j < P - 1) & (A >= 0)"),
    mask("mask of prompt and answer", "prompt_and_answer", "the policy did not write it", "j < P + A - 1"),
    mask("mask of answer and padding", "padding", "Padding is inside the mask", "(j >= P - 1) & (A >= 0)"),
    mask("mask without the dot", "too_short", "The answer's last token, the dot, is left out",
         "(j >= P - 1) & (j < P + A - 2)"),
    mask("mask with a column behind the answer", "too_long", "One column behind the answer",
         "(j >= P - 1) & (j <= P + A - 1)"),
    mask("mask by the first row's prompt", "one_prompt_length", "a prompt length of its own",
         "(j >= P[0] - 1) & (j < P[0] + A - 1)"),
    mask("mask inverted", "inverted", "1 and 0 are swapped", "(j < P - 1) | (j >= P + A - 1)"),
]


# ── 3. the advantages ─────────────────────────────────────────────────────────────────────────────────────────────────
advantages = returning("3", """
    def group_advantages(rewards, eps=1e-4):
        r, mean, std = rewards, rewards.mean(1, keepdim=True), rewards.std(1, keepdim=True, correction=0)
        return {}
    """)
ADVANTAGES = [
    advantages("std unbiased", "std_unbiased", "ask for correction=0", "(r - mean) / (r.std(1, keepdim=True) + eps)"),
    advantages("eps outside of the denominator", "eps_outside", "eps belongs into the denominator",
               "(r - mean) / std + eps"),
    advantages("eps in the root", "eps_in_root", "not under the root", "(r - mean) / (std**2 + eps).sqrt()"),
    advantages("no eps", "no_eps", "0 / 0", "(r - mean) / std"),
    advantages("eps ignored", "eps_ignored", "eps is not used", "(r - mean) / (std + 1e-4)"),
    advantages("advantages over the batch", "over_batch", "of the whole batch",
               "(r - r.mean()) / (r.std(correction=0) + eps)"),
    advantages("advantages over the prompts", "over_prompts", "a group is a row",
               "(r - r.mean(0)) / (r.std(0, correction=0) + eps)"),
    advantages("eps of Adam, 1e-8", "no_eps", "too small to matter", "(r - mean) / (std + 1e-8)"),
    advantages("advantages without std (Dr. GRPO)", "no_std", "Divide by the group's std", "r - mean"),
    advantages("advantages without mean", "no_mean", "mean is not subtracted", "r / (std + eps)"),
    advantages("divided by the variance", "variance", "not by its root", "(r - mean) / (std**2 + eps)"),
    advantages("advantages reversed", "sign", "a better answer has a positive advantage", "(mean - r) / (std + eps)"),
]

# ── 4. KL ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
kl = returning("4", """
    def kl_k3(logp, logp_ref):
        return {}
    """)
KL = [
    kl("KL by k1", "k1", "it can be negative", "logp - logp_ref"),
    kl("KL by k1, reversed", "k1_reversed", "k1 with the sign reversed", "logp_ref - logp"),
    kl("KL by k2", "k2", "half of the squared log-ratio", "(logp - logp_ref) ** 2 / 2"),
    kl("k3 reversed", "k3_reversed", "answers are sampled from the policy",
       "(logp - logp_ref).exp() - 1 - (logp - logp_ref)"),
    kl("k3 with the sign reversed", "kl_sign", "k3 is never negative", "(logp_ref - logp) + 1 - (logp_ref - logp).exp()"),
    kl("k3 without - 1", "no_minus_one", "equal log-probs must give 0", "(logp_ref - logp).exp() - (logp_ref - logp)"),
    kl("k3 without - d", "no_log_term", "The - d is missing", "(logp_ref - logp).exp() - 1"),
    kl("k3 averaged", "averaged", "averaging comes later", "((logp_ref - logp).exp() - 1 - (logp_ref - logp)).mean()"),
    kl("k3 detached", "no_gradient", "no gradient flows to logp",
       "(logp_ref - logp.detach()).expm1() - (logp_ref - logp.detach())"),
    kl("exact KL of the sampled tokens", "exact_term", "the sampling has done that already",
       "logp.exp() * (logp - logp_ref)"),
]


# ── 5. the clipped objective ──────────────────────────────────────────────────────────────────────────────────────────
clip = returning("5", """
    def clipped_objective(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
        A, ratio = advantages[:, None], (logp - logp_old).exp()
        clipped = ratio.clamp(1 - eps_low, 1 + eps_high)
        return {}
    """)
CLIP = [
    clip("maximum for A < 0", "max_for_negative", "it must be the minimum for both signs",
         "torch.where(A < 0, torch.max(ratio * A, clipped * A), torch.min(ratio * A, clipped * A))"),
    clip("minimum of the ratios before A", "max_for_negative", "it must be the minimum for both signs",
         "torch.min(ratio, clipped) * A"),
    clip("maximum", "max", "not the maximum", "torch.max(ratio * A, clipped * A)"),
    clip("only clipped", "only_clipped", "Clipping alone is not enough", "clipped * A"),
    clip("not clipped", "not_clipped", "Nothing is clipped", "ratio * A"),
    clip("clipped before exp", "clip_before_exp", "clipped before exp",
         "torch.min(ratio * A, (logp - logp_old).clamp(-eps_low, eps_high).exp() * A)"),
    clip("only the upper border", "only_upper", "for A < 0 the lower one acts",
         "torch.min(ratio * A, ratio.clamp(max=1 + eps_high) * A)"),
    clip("only the lower border", "only_lower", "for A > 0 the upper one acts",
         "torch.min(ratio * A, ratio.clamp(min=1 - eps_low) * A)"),
    clip("one eps for both borders", "one_eps", "The upper border is 1 + eps_high",
         "torch.min(ratio * A, ratio.clamp(1 - eps_low, 1 + eps_low) * A)"),
    clip("eps of the paper, not the arguments", "eps_ignored", "are not used",
         "torch.min(ratio * A, ratio.clamp(0.8, 1.2) * A)"),
    clip("eps swapped", "eps_swapped", "are swapped", "torch.min(ratio * A, ratio.clamp(1 - eps_high, 1 + eps_low) * A)"),
    clip("advantages along the tokens", "broadcast", "write advantages[:, None]",
         "torch.min(ratio * advantages, clipped * advantages)"),
    clip("ratio upside down", "ratio_inverted", "The ratio is upside down",
         "torch.min((1 / ratio) * A, (1 / ratio).clamp(1 - eps_low, 1 + eps_high) * A)"),
    clip("difference instead of ratio", "no_exp", "not the difference",
         "torch.min((logp - logp_old) * A, (logp - logp_old).clamp(1 - eps_low, 1 + eps_high) * A)"),
    clip("loss instead of objective", "sign", "to be maximised, without a minus", "-torch.min(ratio * A, clipped * A)"),
    clip("objective averaged", "averaged", "One number a token", "torch.min(ratio * A, clipped * A).mean()"),
    clip("ratio of detached tensors", "no_gradient", "no gradient flows to logp",
         "torch.min(ratio.detach() * A, clipped.detach() * A)"),
]

# ── 6. the averages ───────────────────────────────────────────────────────────────────────────────────────────────────
AVERAGES = [
    returning("6", f"def {function}(x, mask):\n    return {{}}\n", function)(name, mistake, says, returns)
    for function, name, mistake, says, returns in (
        ("mean_per_answer", "mean over padding", "over_padding", "Padding is averaged too", "x.mean()"),
        ("mean_per_answer", "mean of sums", "mean_of_sums", "This is a mean of sums", "(x * mask).sum(1).mean()"),
        ("mean_per_answer", "divided by T, per answer", "divides_by_all", "divided by all cells, padding included",
         "((x * mask).sum(1) / x.shape[1]).mean()"),
        ("mean_per_answer", "per token instead of per answer", "averages_swapped", "This is mean_per_token",
         "(x * mask).sum() / mask.sum()"),
        ("mean_per_answer", "one mean an answer", "per_row", "One number for the batch", "(x * mask).sum(1) / mask.sum(1)"),
        ("mean_per_answer", "sum of means", "sum_of_means", "added, not averaged",
         "((x * mask).sum(1) / mask.sum(1)).sum()"),
        ("mean_per_token", "per answer instead of per token", "averages_swapped", "This is mean_per_answer",
         "((x * mask).sum(1) / mask.sum(1)).mean()"),
        ("mean_per_token", "divided by T, per token", "divides_by_all", "divided by all cells, padding included",
         "(x * mask).mean()"),
        ("mean_per_token", "sum over tokens", "sum", "This is the sum", "(x * mask).sum()"),
        ("mean_per_token", "mean over padding, per token", "over_padding", "Padding is averaged too", "x.mean()"),
        ("mean_per_token", "sum by the number of answers", "mean_of_sums", "This is a mean of sums",
         "(x * mask).sum() / len(x)"),
    )
]

# ── 7. the GRPO step ──────────────────────────────────────────────────────────────────────────────────────────────────
GRPO = [
    edited("grpo_step", "loss sign", "loss_sign", "the loss is minus the objective", ("loss = -mean", "loss = mean")),
    edited("grpo_step", "no KL", "no_kl", "where is the KL term", (" - beta * kl_k3(logp, logp_ref)", "")),
    edited("grpo_step", "KL of detached log-probs", "no_kl", "where is the KL term", ("kl_k3(logp,", "kl_k3(logp_old,")),
    edited("grpo_step", "KL sign", "kl_sign", "drives the policy away from the reference", (" - beta *", " + beta *")),
    edited("grpo_step", "KL reversed", "kl_reversed", "The KL is reversed",
           ("kl_k3(logp, logp_ref)", "kl_k3(logp_ref, logp)")),
    edited("grpo_step", "token average", "token_average", "GRPO averages over answers",
           ("mean_per_answer", "mean_per_token")),
    edited("grpo_step", "KL over tokens", "kl_token_average", "averaged over tokens, not over answers",
           (" - beta * kl_k3(logp, logp_ref)", ""),
           ("objective, mask)", "objective, mask) + beta * mean_per_token(kl_k3(logp, logp_ref), mask)")),
    edited("grpo_step", "no optimizer step", "no_step", "optimizer.step() follow backward()",
           ("    optimizer.step()\n", "")),
    edited("grpo_step", "zero_grad after backward", "no_step", "optimizer.step() follow backward()",
           ("    optimizer.zero_grad()\n", ""), ("loss.backward()\n", "loss.backward()\n    optimizer.zero_grad()\n")),
    edited("grpo_step", "ratio of detached log-probs", "no_step", "Of twice the same tensor",
           ("clipped_objective(logp,", "clipped_objective(logp_old,")),
    edited("grpo_step", "trains the reference", "reference_changed", "it must stay frozen",
           ("    optimizer.step()\n", "    optimizer.step()\n    reference.load_state_dict(policy.state_dict())\n")),
    edited("grpo_step", "advantages without std", "no_std", "not divided by the group's std",
           ("group_advantages(rewards)", "(rewards - rewards.mean(1, keepdim=True))")),
    edited("grpo_step", "beta of its own", "moves_without_signal", "nothing is to be learned", (" - beta *", " - 0.5 *")),
    edited("grpo_step", "twice the same log-probs", "no_step", "Of twice the same tensor",
           ("clipped_objective(logp, logp_old", "clipped_objective(logp, logp")),
    edited("grpo_step", "logp_old from the reference", "logp_old", "under the policy that sampled",
           ("clipped_objective(logp, logp_old", "clipped_objective(logp, logp_ref")),
    edited("grpo_step", "rewards instead of advantages", "no_baseline", "is the group's mean subtracted",
           ("group_advantages(rewards).flatten()", "rewards.flatten()")),
    edited("grpo_step", "step without the mask", "over_padding", "use the mask",
           ("mean_per_answer(objective, mask)", "objective.mean()")),
    edited("grpo_step", "step by the mean of sums", "mean_of_sums", "are added, not averaged",
           ("-mean_per_answer(objective, mask)", "-(objective * mask).sum(1).mean()")),
    edited("grpo_step", "no zero_grad", "no_zero_grad", "Call optimizer.zero_grad()", ("    optimizer.zero_grad()\n", "")),
    edited("grpo_step", "two optimizer steps", "two_steps", "must step once",
           ("    optimizer.step()\n", "    optimizer.step()\n" * 2)),
    edited("grpo_step", "groups across prompts", "grouping", "are neighbours",
           ("view(-1, group_size)", "view(group_size, -1)")),
    edited("grpo_step", "one group for the whole batch", "grouping", "are neighbours",
           ("group_advantages(rewards)", "group_advantages(rewards.view(1, -1))")),
    edited("grpo_step", "groups are columns", "misaligned", "The step leads nowhere",
           ("view(-1, group_size)", "view(group_size, -1).T")),
    edited("grpo_step", "KL by k1 in the step", "k1", "whatever the reference is",
           ("kl_k3(logp, logp_ref)", "(logp - logp_ref)")),
    edited("grpo_step", "KL by k2 in the step", "k2", "half of the squared",
           ("kl_k3(logp, logp_ref)", "(logp - logp_ref)**2 / 2")),
    edited("grpo_step", "step with a shifted mask", "wrong_step", "belong to the same answers and tokens",
           ("answer_mask(prompt_lengths,", "answer_mask(prompt_lengths + 1,")),
    edited("grpo_step", "reward of the first answer", "reward_reported", "the mean over all of them",
           ("rewards.mean().item()", "1.0")),
    edited("grpo_step", "learns nothing that lasts", "does_not_learn", "expected at least",
           ("    loss.backward()\n", "    loss.backward()\n    if len(prompts) == 16:\n        optimizer.zero_grad()\n")),
    edited("grpo_step", "returns the loss only", "keys", "expected a dict with the keys reward",
           ('{"reward": rewards.mean().item()}', "loss.item()")),
]

# ── Boss ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
DAPO = [
    edited("dapo_step", "keeps degenerate groups", "keeps_degenerate", "none is to be kept",
           ("rewards.amax(1) > rewards.amin(1)", "rewards.amax(1) >= rewards.amin(1)")),
    edited("dapo_step", "drops only groups that are all right", "keeps_degenerate", "none is to be kept",
           ("rewards.amax(1) > rewards.amin(1)", "rewards.mean(1) < 1")),
    edited("dapo_step", "keeps groups that are all right", "keeps_degenerate", "every group was all right",
           ("rewards.amax(1) > rewards.amin(1)", "rewards.mean(1) > 0")),
    edited("dapo_step", "steps on an empty batch", "steps_on_nothing", "an optimizer with momentum",
           ("    if groups == 0:\n        return result\n", "")),
    edited("dapo_step", "no optimizer step of DAPO", "no_step", "does optimizer.step() follow",
           ("    optimizer.step()\n", "")),
    edited("dapo_step", "DAPO without std", "no_std", "not divided by the group's std",
           ("group_advantages(rewards)", "(rewards - rewards.mean(1, keepdim=True))")),
    edited("dapo_step", "DAPO by the sum", "sum", "the sum over tokens", ("-mean_per_token(", "-torch.sum("),
           ("eps_high), mask)", "eps_high) * mask)")),
    edited("dapo_step", "DAPO without zero_grad", "no_zero_grad", "call optimizer.zero_grad()",
           ("    optimizer.zero_grad()\n", "")),
    edited("dapo_step", "advantages of other answers", "misaligned", "The step leads nowhere",
           ("group_advantages(rewards)[mixed].flatten()", "group_advantages(rewards)[mixed].T.flatten()")),
    edited("dapo_step", "reward of the kept groups", "reward_reported", "the mean over all of them",
           ("paid.append(rewards)", "paid.append(rewards)\n        good = locals().get('good', []) + [rewards[mixed]]"),
           ('"reward": paid.mean().item()', '"reward": torch.cat(good).mean().nan_to_num().item()')),
    edited("dapo_step", "resampling without a bound", "no_bound", "it would never end", (" and rounds < max_rounds", "")),
    edited("dapo_step", "bound of its own", "no_bound", "it would never end", ("rounds < max_rounds", "rounds < 20")),
    edited("dapo_step", "no resampling", "stops_early", "must go on until max_rounds",
           ("while groups < batch_size and rounds < max_rounds:", "while rounds < 1:")),
    edited("dapo_step", "per-answer average", "answer_average", "DAPO averages over tokens",
           ("mean_per_token", "mean_per_answer")),
    edited("dapo_step", "loss sign of DAPO", "loss_sign", "This step goes backwards", ("loss = -mean", "loss = mean")),
    edited("dapo_step", "counts ignore dropped groups", "miscounted", "those of dropped groups count",
           ("paid.numel()}", "groups * group_size}")),
    edited("dapo_step", "steps with nan although nothing was kept", "nan_weights", "look for 0 / 0",
           ("    if groups == 0:\n        return result\n", ""),
           ("(sequences[rows], mask[rows], group_advantages(rewards)[mixed].flatten())",
            "(sequences, mask * rows[:, None], group_advantages(rewards).flatten())")),
    edited("dapo_step", "asks for more than batch_size", "round_size", "a round asks for 1 to batch_size",
           ("next_prompts(batch_size)", "next_prompts(3 * batch_size)")),
    edited("dapo_step", "asks for what is missing and one", "round_size", "a round asks for 1 to batch_size",
           ("next_prompts(batch_size)", "next_prompts(batch_size - groups + 1)")),
    edited("dapo_step", "keeps more than batch_size", "batch_not_full", "expected batch_size",
           ("        mixed &= mixed.cumsum(0) <= batch_size - groups\n", "")),
    edited("dapo_step", "forgets earlier rounds", "batch_not_full", "expected batch_size",
           ("groups += int(mixed.sum())", "groups = int(mixed.sum())")),
]

COMPARED = [
    edited("compare", "unequal budgets", "unequal_budgets", "the budgets differ",
           ("min(8, (BUDGET - used) // (B * G))", "8")),
    edited("compare", "equal steps instead of equal answers", "unequal_budgets", "the budgets differ",
           ("    used = 0\n", "    used = steps = 0\n"), ("while used < BUDGET:", "while steps < 1:\n        steps += 1"),
           ("min(8, (BUDGET - used) // (B * G))", "8")),
    edited("compare", "counts only kept answers", "miscounted", "count every answer, those of dropped groups too",
           ('used += said["generated"]', 'used += said["groups"] * G'), ("min(8, (BUDGET - used) // (B * G))", "8")),
    edited("compare", "std instead of interval", "wrong_interval", "t * std / sqrt(n)",
           ("t.ppf(0.975, n - 1) * values.std().item() / n**0.5", "values.std().item()")),
    edited("compare", "normal interval", "wrong_interval", "t with n - 1 degrees of freedom",
           ("t.ppf(0.975, n - 1)", "1.96")),
    edited("compare", "too little training to compare", "does_not_learn", "nothing to compare yet"),
    edited("compare", "the reference learns too", "reference_changed", "not the policy itself",
           ("copy.deepcopy(base)", "base")),
    edited("compare", "GRPO twice", "not_fresh", "calls grpo_step", ('if name == "grpo":', "if name:")),
    edited("compare", "seeds unused", "seed_unused", "the seed is not used",
           ("torch.manual_seed(seed)", "torch.manual_seed(0)")),
    edited("compare", "same policy for all seeds", "not_fresh", "each seed begins with a fresh copy",
           ("def run(", "POLICIES = {name: load_base(0.3) for name in ('grpo', 'dapo')}\n\ndef run("),
           ("policy = copy.deepcopy(base)", "policy = POLICIES[name]")),
    edited("compare", "difference reversed", "difference_sign", "DAPO minus GRPO", ("d - g for", "g - d for")),
    edited("compare", "invented pass1", "wrong_pass1", "the grader measured",
           ("return used, measure(policy)", "return used, 0.9 + 0.01 * (seed % 7)")),
    edited("compare", "one pass1 for all seeds", "keys", "one a seed",
           ("    return result\n", '    return result | {"dapo": {**result["dapo"], "pass1": result["dapo"]["mean"]}}\n')),
    edited("compare", "difference not paired by seed", "wrong_interval", "of 'difference'",
           ('result["difference"] = summary(difference)',
            'result["difference"] = {"mean": summary(difference)["mean"],\n'
            '        "half_width": math.hypot(*(result[name]["half_width"] for name in ("grpo", "dapo")))}')),
]


# ── 8. DPO ────────────────────────────────────────────────────────────────────────────────────────────────────────────
dpo = returning("8", """
    import torch.nn.functional as F

    def dpo_loss(logp_chosen, logp_rejected, ref_chosen, ref_rejected, beta=0.1):
        margin = (logp_chosen - ref_chosen) - (logp_rejected - ref_rejected)
        return {}
    """)
DPO = [
    dpo("DPO without reference", "no_reference", "The reference is missing",
        "-F.logsigmoid(beta * (logp_chosen - logp_rejected)).mean()"),
    dpo("chosen and rejected swapped", "pairs_swapped", "Chosen and rejected are swapped",
        "-F.logsigmoid(-beta * margin).mean()"),
    dpo("softplus sign", "pairs_swapped", "Chosen and rejected are swapped", "F.softplus(beta * margin).mean()"),
    dpo("beta outside of the sigmoid", "beta_outside", "beta belongs inside the sigmoid",
        "-beta * F.logsigmoid(margin).mean()"),
    dpo("no beta", "no_beta", "beta is missing", "-F.logsigmoid(margin).mean()"),
    dpo("beta ignored", "beta_ignored", "beta is not used", "-F.logsigmoid(0.1 * margin).mean()"),
    dpo("DPO sign", "sign", "The sign is reversed", "F.logsigmoid(beta * margin).mean()"),
    dpo("reference added", "reference_sign", "The reference's sign is wrong",
        "-F.logsigmoid(beta * (logp_chosen - logp_rejected + ref_chosen - ref_rejected)).mean()"),
    dpo("sigmoid without log", "no_log", "The logarithm of the sigmoid is missing", "-torch.sigmoid(beta * margin).mean()"),
    dpo("unstable log(sigmoid)", "unstable", "use logsigmoid or softplus",
        "-torch.log(torch.sigmoid(beta * margin)).mean()"),
    dpo("unstable log(1 + exp)", "unstable", "use logsigmoid or softplus",
        "torch.log(1 + torch.exp(-beta * margin)).mean()"),
    dpo("DPO sum", "sum", "take the mean", "-F.logsigmoid(beta * margin).sum()"),
    dpo("DPO a pair", "per_pair", "One number is asked for", "-F.logsigmoid(beta * margin)"),
    dpo("mean in the sigmoid", "mean_inside", "before the sigmoid", "-F.logsigmoid(beta * margin.mean())"),
    dpo("margin detached", "no_gradient", "no gradient flows", "-F.logsigmoid(beta * margin.detach()).mean()"),
]

MUTANTS = [*REWARD, *MASK, *ADVANTAGES, *KL, *CLIP, *AVERAGES, *GRPO, *DPO, *DAPO, *COMPARED]
