"""The tables of lessons 01 and 02."""
from collections.abc import Mapping, Sequence

import torch
from IPython.display import Markdown

from lib.i18n import tr
from lib.toy.evaluate import Evaluation
from lib.toy.grpo import group_advantages, kl_k3
from lib.toy.policy import TinyLM
from lib.toy.reward import ANSWER, rule_reward
from lib.toy.task import N_DIGITS, answer_texts, decode
from lib.ui.cells import table


def parameters(model: TinyLM) -> Markdown:
    """How many parameters each part of the model has, and what the part does."""
    duties = {
        "emb": tr(en="a vector for each token", ru="вектор каждого токена"),
        "rnn": tr(en="GRU: folds what was read so far into a hidden state",
                  ru="GRU: сворачивает прочитанное в скрытое состояние"),
        "head": tr(en="hidden state → logits of the next token", ru="скрытое состояние → логиты следующего токена"),
    }
    rows = []
    for name, part in model.named_children():
        shapes = ", ".join("×".join(map(str, p.shape)) for p in part.parameters())
        rows.append([f"`{name}`", duties[name], shapes, _count(part)])
    rows.append([tr(en="**total**", ru="**всего**"), "", "", f"**{_count(model)}**"])
    return table([tr(en="part", ru="часть"), tr(en="what it does", ru="что делает"), tr(en="shapes", ru="формы"),
                  tr(en="parameters", ru="параметров")], rows)


def _count(module: torch.nn.Module) -> str:
    return f"{sum(p.numel() for p in module.parameters()):,}".replace(",", "\u202f")   # a narrow space between thousands


def judged(prompt: str, completions: Sequence[str]) -> Markdown:
    """What the rule reward says of each completion, and why."""
    rows = []
    for text in completions:
        match = ANSWER.fullmatch(text)
        reward = rule_reward(prompt, text)
        why = (tr(en="format wrong", ru="формат неверный") if match is None else
               tr(en=f"last number {match.group(1)}", ru=f"последнее число {match.group(1)}"))
        rows.append([f"`{text!r}`", why, _paid(reward)])
    return table([tr(en=f"answer to `{prompt}`", ru=f"ответ на `{prompt}`"), tr(en="what the rule sees",
                     ru="что видит правило"),
                  tr(en="reward", ru="награда")], rows)


def samples(prompts: torch.Tensor, answers: torch.Tensor, lengths: torch.Tensor) -> Markdown:
    """Sampled answers and their rewards, a line a prompt: prompts [B, P], answers [B, G, T], lengths [B, G]."""
    rows = []
    for prompt, group, sizes in zip(prompts, answers, lengths, strict=True):
        text = decode(prompt[1:])   # without <bos>
        rewards = [rule_reward(text, answer) for answer in answer_texts(group, sizes)]
        cells = [f"**`{a}`**" if r else f"`{a}`" for a, r in zip(answer_texts(group, sizes), rewards, strict=True)]
        rows.append([f"`{text}`", right_sum(prompt), *cells, f"{int(sum(rewards))}/{len(rewards)}"])
    head = [tr(en="prompt", ru="промпт"), tr(en="sum", ru="сумма"), *(f"#{g + 1}" for g in range(answers.shape[1])),
            tr(en="right", ru="верно")]
    return table(head, rows)


def right_sum(prompt: torch.Tensor) -> int:
    """The sum of a prompt's digits: [P] -> number."""
    return int(prompt[1 : 1 + N_DIGITS].sum())


def _paid(reward: float) -> str:
    return "**1**" if reward else "0"


def evaluations(found: Mapping[str, Evaluation]) -> Markdown:
    """Evaluations of models side by side, with their n: name -> Evaluation."""
    one = next(iter(found.values()))
    rows = [[name, f"{e.pass1:.2f} ± {e.pass1_error:.2f}", f"{e.passk:.2f}", f"{e.length:.1f}", f"{e.cot:.2f}",
             f"{e.distinct:.1f}"] for name, e in found.items()]
    head = [tr(en=f"{one.n} prompts × {one.samples} answers", ru=f"{one.n} задач × {one.samples} ответов"),
            "pass@1", f"pass@{one.k}", tr(en="length, tokens", ru="длина, токенов"), tr(en="CoT share", ru="доля CoT"),
            tr(en=f"different answers among {one.k}", ru=f"разных ответов среди {one.k}")]
    return table(head, rows)


def by_steps(rewards: torch.Tensor, steps: torch.Tensor, lengths: torch.Tensor) -> Markdown:
    """Answers with steps against blind ones: rewards [N], steps [N] bool, lengths [N]."""
    kinds = {tr(en="with steps", ru="с шагами"): steps, tr(en="without steps", ru="без шагов"): ~steps}
    rows = [[name, f"{rows.float().mean():.2f}", f"**{rewards[rows].mean():.3f}**", f"{lengths[rows].float().mean():.1f}"]
            for name, rows in kinds.items()]
    return table([tr(en="answers", ru="ответы"), tr(en="their share", ru="их доля"),
                  tr(en="mean reward", ru="средняя награда"), tr(en="length, tokens", ru="длина, токенов")], rows)


def advantages(group_size: int) -> Markdown:
    """The advantage of a right and of a wrong answer for every count of right ones in a group."""
    rows = []
    for right in range(group_size + 1):
        rewards = torch.tensor([[1.0] * right + [0.0] * (group_size - right)])
        A = group_advantages(rewards)[0]
        rows.append([right, f"{A[0]:+.2f}" if right else "", f"{A[-1]:+.2f}" if right < group_size else ""])
    return table([tr(en=f"right answers of {group_size}", ru=f"верных ответов из {group_size}"),
                  tr(en="A of a right one", ru="A верного"), tr(en="A of a wrong one", ru="A неверного")], rows)


def kl_estimates(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor) -> Markdown:
    """k1 and k3 on tokens sampled from p [V]: their means, spreads and least values beside the exact KL to q [V]."""
    k1, k3 = p.log() - q.log(), kl_k3(p.log(), q.log())
    exact = f"{(p * k1).sum():.4f}"
    rows = [[name, exact, f"{k[tokens].mean():.4f}", f"{k[tokens].std():.2f}", f"{k[tokens].min():.2f}"]
            for name, k in (("k1 = log π − log π_ref", k1), ("k3", k3))]
    return table([tr(en="estimate", ru="оценка"), tr(en="exact KL", ru="точный KL"), tr(en="mean", ru="среднее"),
                  tr(en="spread of a token's value", ru="разброс на одном токене"),
                  tr(en="least value", ru="наименьшее значение")], rows)
