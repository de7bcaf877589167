"""The checks of the levels that train: one step against its expected gradient, then learning, measured by the grader.

The one-step checks use a policy whose next-token distribution never changes: its head has no weights, only a bias. For it
the gradient by the bias of log pi(token) is onehot(token) - p, so what a right step does on average is a closed form over
sampled tokens, without any network. The student's own sampling scatters around it by a few per cent.
"""
import math
from typing import NamedTuple

import torch

from lib.grading.level import Wrong
from lib.grading.wire import show
from lib.i18n import tr
from lib.toy.base import load_base, new_model
from lib.toy.evaluate import evaluate, mean_interval
from lib.toy.policy import TinyLM
from lib.toy.reward import rule_rewards
from lib.toy.task import DOT, EQUALS, MAX_NEW, PROMPT_LENGTH, V_IN, V_OUT, answer_mask, encode, prompt_tokens, random_digits

G = 16
SHARE = 3                                          # one prompt in so many can be solved
COSINE, SHORTEST, LONGEST = 0.97, 0.8, 1.25        # right steps, 50 seeds: cosine above 0.99, length 0.90 to 1.08
SMALL = 1e-3                                       # a learning rate at which two steps do not change a policy
LEARN_STEPS, LEARN_B, LEARN_G, LEARN_LR = 30, 16, 8, 1e-3
GAIN = 0.10                                        # of pass@1, from 0.20; right steps gain 0.2 to 0.3
COMPARED_GAIN = 0.08                               # of the mean over seeds; 2560 answers, 50 times 3 seeds: 0.12 to 0.26
SECONDS = 180.0


# ── policies whose steps can be computed by hand ──────────────────────────────────────────────────────────────────────
class Setting(NamedTuple):
    """What is drawn anew for each run: no step can be known by heart. The task of the easy prompts is to write `digit`."""

    digit: int
    policy: dict[str, float]        # probabilities of the tokens that the policy writes, whatever stands before
    reference: dict[str, float]


def draw_setting(rng) -> Setting:
    """A policy that solves about one easy prompt in five, and a reference some way off."""
    digit = rng.randint(1, 9)

    def shares(low, high):
        own, dot = rng.uniform(low, high), rng.uniform(0.27, 0.33)
        return {str(digit): own, ".": dot, ",": 1 - own - dot}

    return Setting(digit, shares(0.45, 0.55), shares(0.17, 0.23))


def constant_policy(probabilities: dict[str, float]) -> TinyLM:
    """A model that writes each token with a fixed probability, whatever stands before it."""
    model = new_model()
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.fill_(-30.0)
        for token, p in probabilities.items():
            model.head.bias[encode(token)[0]] = math.log(p)
    return model


def right_policy() -> TinyLM:
    """A model that is always right on 0000=, and yet has something to choose: '0.' or '00.' or '000.', and so on.

    Its state holds the last token and nothing else.
    """
    model = new_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        size = model.rnn.hidden_size
        model.emb.weight[:V_IN, :V_IN] = torch.eye(V_IN)
        model.rnn.bias_ih_l0[size : 2 * size] = -30.0                   # the update gate: nothing is carried over
        model.rnn.weight_ih_l0[2 * size : 2 * size + V_IN, :V_IN] = 5 * torch.eye(V_IN)
        model.head.weight[0, EQUALS] = 40.0
        model.head.weight[DOT, 0], model.head.weight[0, 0] = 40 + math.log(0.8), 40 + math.log(0.2)
    return model


def weights_of(model: TinyLM) -> dict:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def easy_prompts(n: int, digit: int, generator) -> torch.Tensor:
    """Prompts whose digits add up to `digit`, parted at random among the four."""
    cuts = torch.randint(digit + 1, (n, 3), generator=generator).sort(1).values
    edges = torch.cat([torch.zeros(n, 1, dtype=torch.long), cuts, torch.full((n, 1), digit)], 1)
    return prompt_tokens(edges.diff(dim=1))


def hopeless_prompts(n: int) -> torch.Tensor:
    """Prompts whose sum, 36, a constant policy cannot write: every group is all wrong."""
    return prompt_tokens(torch.full((n, 4), 9))


def zero_prompts(n: int) -> torch.Tensor:
    """Prompts that `right_policy` is always right on: every group is all right."""
    return prompt_tokens(torch.zeros(n, 4, dtype=torch.long))


def mixed_prompts(n: int, digit: int, share: int, generator) -> torch.Tensor:
    """One easy prompt in `share`, the others hopeless, in any order: a group that is formed wrongly has both in it."""
    easy = -(-n // share)
    both = torch.cat([easy_prompts(easy, digit, generator), hopeless_prompts(n - easy)])
    return both[torch.randperm(n, generator=generator)]


class Sampled(NamedTuple):
    tokens: torch.Tensor       # [N, T]
    mask: torch.Tensor         # [N, T]
    rewards: torch.Tensor      # [B, G]


def simulate(setting: Setting, easy: int, hopeless: int, generator) -> Sampled:
    """Answers of the constant policy to so many prompts of each kind, drawn without it."""
    p = torch.zeros(V_OUT)
    for token, share in setting.policy.items():
        p[encode(token)[0]] = share
    groups = easy + hopeless
    tokens = p.expand(groups * G * MAX_NEW, -1).multinomial(1, generator=generator).view(-1, MAX_NEW)
    ended = (tokens == DOT).int().cumsum(1)
    lengths = ((ended == 0).sum(1) + 1).clamp(max=MAX_NEW)
    mask = answer_mask(lengths, MAX_NEW).double()
    tokens = torch.where(mask > 0, tokens, DOT)
    digits = torch.tensor([[0, 0, 0, setting.digit]] * easy + [[9, 9, 9, 9]] * hopeless).repeat_interleave(G, 0)
    return Sampled(tokens, mask, rule_rewards(digits, tokens, lengths).view(groups, G).double())


def expected_step(setting: Setting, sampled: Sampled, beta: float = 0.0, *, average: str = "answer", advantage: str = "group",
                  kl: str = "k3", old: str = "policy", keep_all: bool = True) -> torch.Tensor:
    """What one step of SGD with rate 1 adds to the head's bias, on these answers: [V]. The options are wrong steps.

    average: 'answer', 'token', 'cells' (padding and prompt too) or 'sums'. advantage: 'group', 'no_std' or 'batch'.
    kl: 'k3', 'sign', 'reversed', 'k1' or 'k2'. old: 'policy', or 'reference' for a ratio to the reference. keep_all: False drops
    groups of equal rewards.
    """
    rewards = sampled.rewards
    std = rewards.std(1, keepdim=True, correction=0)
    advantages = {"group": torch.where(std > 0, (rewards - rewards.mean(1, keepdim=True)) / (std + 1e-4), 0.0),
                  "no_std": rewards - rewards.mean(1, keepdim=True),
                  "batch": (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-4)}[advantage]
    rows = (torch.ones_like(rewards) if keep_all else (std > 0).double().expand_as(rewards)).flatten()[:, None]
    mask = sampled.mask * rows
    policy, reference = torch.zeros(V_OUT, dtype=torch.double), torch.ones(V_OUT, dtype=torch.double)
    for token in setting.policy:
        policy[encode(token)[0]], reference[encode(token)[0]] = setting.policy[token], setting.reference[token]
    d = (reference / policy.clamp(min=1e-9)).log()[sampled.tokens]
    slope = {"k3": 1 - d.exp(), "sign": d.exp() - 1, "reversed": (-d).exp() - 1, "k1": torch.ones_like(d),
             "k2": -d}[kl]
    push = advantages.flatten()[:, None].expand_as(d)
    if old == "reference":      # the ratio is pi / pi_ref, and stands still where the clip holds it
        ratio = (-d).exp()
        push = torch.where((push > 0) & (ratio > 1.2) | (push < 0) & (ratio < 0.8), 0.0, push * ratio)
    push = push - beta * slope
    weights = {"answer": mask / mask.sum(1, keepdim=True).clamp(min=1) / rows.sum(), "token": mask / mask.sum(),
               "sums": mask / rows.sum(),
               "cells": torch.ones_like(mask) / len(mask) / (PROMPT_LENGTH - 1 + MAX_NEW)}[average]
    onehot = torch.nn.functional.one_hot(sampled.tokens, V_OUT).double()
    return ((weights * push)[:, :, None] * (onehot - policy)).sum((0, 1))


class Wrongly(NamedTuple):
    """A wrong step: its name, what to tell, and where it leads ([V]; zeros for a step that leads nowhere)."""

    name: str
    says: str
    step: torch.Tensor


def judge_step(moved: torch.Tensor, right: torch.Tensor, wrongs: list[Wrongly], what: str) -> None:
    """Raises Wrong unless a step has the expected direction and length; names the wrong step that it fits."""
    cosine, length = _fit(moved, right)
    if cosine >= COSINE and SHORTEST <= length <= LONGEST:
        return
    name, says = "wrong_step", tr(en="Check that advantages, log-probs and mask belong to the same answers and tokens.",
                                  ru="Проверьте, что преимущества, logp и маска относятся к одним и тем же ответам и токенам.")
    closest = math.log(1.18)      # two wrong steps may differ by little but their length
    for wrong in wrongs:
        along, long = _fit(moved, wrong.step)
        off = abs(math.log(long)) if along >= COSINE else math.inf
        if not float(wrong.step.norm()) and length < 0.25:      # nowhere: the step is what chance left of it
            off = 0.1
        if off < closest:
            name, says, closest = wrong.name, wrong.says, off
    raise Wrong(tr(en=f"{what}: on average over many answers the policy must follow the gradient of the objective. Cosine between "
                      f"the two: {cosine:.2f}, expected above {COSINE}; length of the step: {length:.2f} of the gradient's, "
                      f"expected {SHORTEST} to {LONGEST}. {says}",
                   ru=f"{what}: в среднем по многим ответам политика должна идти по градиенту цели. Косинус между ними: {cosine:.2f}, "
                      f"а нужно больше {COSINE}; длина шага: {length:.2f} от градиента, а нужно от {SHORTEST} до "
                      f"{LONGEST}. {says}"), name)


def _fit(moved, other) -> tuple[float, float]:
    """Cosine between two steps, and the length of the first in lengths of the second; 0 where one of them is no step."""
    a, b = moved.double(), other.double()
    if not float(a.norm()) or not float(b.norm()):
        return 0.0, 0.0
    return float(a @ b / a.norm() / b.norm()), float(a.norm() / b.norm())


def read_weights(value, name: str) -> TinyLM:
    """A model with the weights that the worker sent back. Raises Wrong where they are none."""
    model = new_model()
    expected = model.state_dict()
    good = isinstance(value, dict) and value.keys() == expected.keys() and all(
        isinstance(tensor, torch.Tensor) and tensor.shape == expected[key].shape for key, tensor in value.items())
    if not good:
        raise Wrong(tr(en=f"{name} left a policy whose weights have other names or shapes",
                       ru=f"после {name} у весов политики другие имена или формы"), "weights")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in value.values()):
        raise Wrong(tr(en=f"{name} left a policy with nan or infinite weights: look for 0 / 0 and log(0)",
                       ru=f"после {name} в весах политики nan или бесконечность: ищите 0 / 0 и log(0)"), "nan_weights")
    model.load_state_dict(value)
    return model


def read_rows(value, name: str, keys: tuple[str, ...]) -> list[dict]:
    """What the steps returned: dicts with numbers under these keys. Raises Wrong where they are not."""
    rows = value if isinstance(value, list) else []
    for row in rows or [None]:
        wanted = ", ".join(keys)
        if not isinstance(row, dict) or any(key not in row for key in keys):
            raise Wrong(tr(en=f"{name} returned {show(row, 200)}, expected a dict with the keys {wanted}",
                           ru=f"{name}: вернулось {show(row, 200)}, а нужен dict с ключами {wanted}"), "keys")
        for key in keys:
            number = row[key].item() if isinstance(row[key], torch.Tensor) and row[key].nelement() == 1 else row[key]
            if not isinstance(number, bool | int | float) or not math.isfinite(number):
                raise Wrong(tr(en=f"{name} returned {key} = {show(row[key], 100)}, expected a finite number",
                               ru=f"{name}: {key} = {show(row[key], 100)}, а нужно конечное число"), "keys")
            row[key] = float(number)
    return rows


def same(a: TinyLM, b: TinyLM) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def _field(value, key):
    return value.get(key) if isinstance(value, dict) else None


# ── level 7 ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def check_grpo_step(student, rng):
    g = torch.Generator().manual_seed(rng.getrandbits(62))
    setting = draw_setting(rng)
    policy, reference = constant_policy(setting.policy), constant_policy(setting.reference)

    def steps(prompts, beta, policy=policy, reference=reference):
        """Steps on prompts [steps, B, 6]: how far each moved the bias on average, how far the last one did, what they returned."""
        value = student.drive("train", weights_of(policy), weights_of(reference), prompts, G, beta, "sgd", SMALL,
                              function="grpo_step", seconds=SECONDS / 3)
        rows = read_rows(_field(value, "rows"), "grpo_step", ("reward",))
        if not same(read_weights(_field(value, "reference"), "grpo_step"), reference):
            raise Wrong(tr(en="grpo_step changed the reference: it must stay frozen, only the policy learns",
                           ru="grpo_step изменила референс: он заморожен, учится только политика"), "reference_changed")
        after, before = (read_weights(_field(value, key), "grpo_step").head.bias.detach().double()
                         for key in ("policy", "before_last"))
        return (after - policy.head.bias.detach().double()) / SMALL / len(prompts), after - before, rows

    nothing, _, _ = steps(hopeless_prompts(8)[None], 0.0)
    if float(nothing.norm()):
        raise Wrong(tr(
            en="All answers were wrong and beta was 0, so every advantage is 0 and nothing is to be learned, but the policy moved",
            ru="Все ответы неверны, beta = 0: все преимущества равны 0 и учиться не на чем, но политика сдвинулась"), "moves_without_signal")
    always = right_policy()
    nothing, _, _ = steps(zero_prompts(32)[None], 0.0, always, always)
    if float(nothing.norm()):
        raise Wrong(tr(
            en="All answers were right and beta was 0, so every advantage is 0 and nothing is to be learned, but the policy moved: "
               "is the group's mean subtracted from the rewards (group_advantages)?",
            ru="Все ответы верны, beta = 0: все преимущества равны 0 и учиться не на чем, но политика сдвинулась: вычтено ли из "
               "наград среднее группы (group_advantages)?"), "no_baseline")
    _, nothing, _ = steps(torch.stack([easy_prompts(8, setting.digit, g), hopeless_prompts(8)]), 0.0)
    if float(nothing.norm()):
        raise Wrong(tr(
            en="The second of two steps had nothing to learn from, but the policy moved: it still holds the first one's gradient. "
               "Call optimizer.zero_grad() in each step",
            ru="Второму из двух шагов учиться было не на чем, но политика сдвинулась: в ней остался градиент первого. "
               "optimizer.zero_grad() нужен в каждом шаге"), "no_zero_grad")

    sampled = simulate(setting, 1000, 1000 * (SHARE - 1), g)
    moved, _, rows = steps(torch.stack([mixed_prompts(384, setting.digit, SHARE, g) for _ in range(2)]), 0.0)
    what = tr(en="grpo_step without KL (beta = 0), one prompt in three solvable",
              ru="grpo_step без KL (beta = 0), решить можно один промпт из трёх")
    if not float(moved.norm()):
        raise Wrong(tr(en=f"{what}: the policy did not move. Does optimizer.step() follow backward()? Is the ratio made of logp "
                          f"(with its gradient) and of logp_old = logp.detach()? Of twice the same tensor it is the constant 1",
                       ru=f"{what}: политика не сдвинулась. Вызван ли optimizer.step() после backward()? Состоит ли ratio из logp "
                          f"(с градиентом) и logp_old = logp.detach()? Из двух одинаковых тензоров выходит константа 1"), "no_step")
    right = expected_step(setting, sampled)
    judge_step(moved, right, [
        Wrongly("loss_sign", tr(en="This step goes backwards: optimizers minimise, so the loss is minus the objective.",
                                ru="Шаг сделан назад: оптимизатор минимизирует, поэтому loss — это минус цель."), -right),
        Wrongly("token_average", tr(en="This averages over tokens, as DAPO does; GRPO averages over answers.",
                                    ru="Здесь усреднение по токенам, как в DAPO, а в GRPO оно по ответам."),
                expected_step(setting, sampled, average="token")),
        Wrongly("no_std", tr(
            en="The advantages are not divided by the group's std.", ru="Преимущества не поделены на std группы."),
            expected_step(setting, sampled, advantage="no_std")),
        Wrongly("grouping", tr(
            en="The groups are wrong: the group_size answers to a prompt are neighbours, so the rewards are to be viewed as "
               "(-1, group_size), and each row is compared with itself.",
            ru="Группы составлены неверно: group_size ответов на промпт стоят подряд, поэтому награды разворачивают в "
               "(-1, group_size), и каждая строка сравнивается сама с собой."), expected_step(setting, sampled, advantage="batch")),
        Wrongly("over_padding", tr(en="The average runs over all columns, prompt and padding too: use the mask.",
                                   ru="Усреднение идёт по всем столбцам, вместе с промптом и паддингом: нужна маска."),
                expected_step(setting, sampled, average="cells")),
        Wrongly("mean_of_sums", tr(en="The tokens of an answer are added, not averaged.",
                                   ru="Токены ответа сложены, а не усреднены."), expected_step(setting, sampled, average="sums")),
        Wrongly("logp_old", tr(
            en="The ratio compares the policy with the reference: logp_old is the log-prob under the policy that sampled.",
            ru="Отношение сравнивает политику с референсом, а logp_old — это logp под политикой, которая сэмплировала."),
            expected_step(setting, sampled, old="reference")),
        Wrongly("two_steps", tr(en="The step is twice as long: the optimizer must step once.",
                                ru="Шаг вдвое длиннее: optimizer.step() нужен один раз."), 2 * right),
        Wrongly("misaligned", tr(en="The step leads nowhere: the advantages do not reach the answers that they belong to.",
                                 ru="Шаг никуда не ведёт: преимущества попали не к своим ответам."), torch.zeros(V_OUT)),
    ], what)
    _check_reward(sum(row["reward"] for row in rows) / len(rows), float(sampled.rewards.mean()), 0.03, "grpo_step")

    for_kl = simulate(setting, 0, 400, g)
    moved, _, _ = steps(torch.stack([hopeless_prompts(128)] * 2), 1.0)
    what = tr(en="grpo_step with all rewards 0 and beta = 1", ru="grpo_step при нулевых наградах и beta = 1")
    if not float(moved.norm()):
        raise Wrong(tr(en=f"{what}: the policy did not move: where is the KL term?",
                       ru=f"{what}: политика не сдвинулась, а где член с KL?"), "no_kl")

    def with_kl(kl="k3", average="answer"):
        return expected_step(setting, for_kl, 1.0, kl=kl, average=average)

    judge_step(moved, with_kl(), [
        Wrongly("kl_sign", tr(en="The KL term has the wrong sign: it drives the policy away from the reference.",
                              ru="У KL неверный знак: он уводит политику от референса."), with_kl("sign")),
        Wrongly("kl_reversed", tr(en="The KL is reversed.", ru="KL перевёрнут."), with_kl("reversed")),
        Wrongly("k2", tr(en="This is k2, half of the squared log-ratio.", ru="Это k2, половина квадрата лог-отношения."), with_kl("k2")),
        Wrongly("kl_token_average", tr(en="The KL term is averaged over tokens, not over answers.",
                                       ru="Член с KL усреднён по токенам, а не по ответам."), with_kl(average="token")),
        Wrongly("over_padding", tr(en="The KL term runs over prompt and padding too: use the mask.",
                                   ru="Член с KL идёт и по промпту с паддингом: нужна маска."), with_kl(average="cells")),
        Wrongly("mean_of_sums", tr(en="The KL of an answer's tokens is added, not averaged.",
                                   ru="KL токенов ответа сложен, а не усреднён."), with_kl(average="sums")),
        Wrongly("k1", tr(en="This is k1 = logp - logp_ref: its gradient is that of logp alone, whatever the reference is. Use kl_k3.",
                         ru="Это k1 = logp − logp_ref: его градиент — это градиент одного logp, каков бы ни был референс. Возьмите "
                            "kl_k3."), with_kl("k1")),
    ], what)
    _check_learning(student, rng, g)


def _check_reward(said, real, tolerance, name):
    if abs(said - real) > tolerance:
        raise Wrong(tr(en=f"{name} returned a mean 'reward' of {said:.3f}, but about {real:.3f} of the sampled answers are right: "
                          f"'reward' is the mean over all of them",
                       ru=f"{name} вернула 'reward' в среднем {said:.3f}, а верна доля ответов около {real:.3f}: "
                          f"'reward' — это среднее по всем сэмплированным ответам"), "reward_reported")


def _check_learning(student, rng, g):
    base = load_base(0.3, progress=False)
    prompts = prompt_tokens(random_digits(LEARN_STEPS * LEARN_B, g)).view(LEARN_STEPS, LEARN_B, -1)
    weights = weights_of(base)
    value = student.drive("train", weights, weights, prompts, LEARN_G, 0.02, "adam", LEARN_LR, function="grpo_step",
                          seconds=SECONDS)
    model = read_weights(_field(value, "policy"), "grpo_step")
    before, after = evaluate(base, seed=rng.getrandbits(40)).pass1, evaluate(model, seed=rng.getrandbits(40)).pass1
    if after < before + GAIN:
        raise Wrong(tr(en=f"after {LEARN_STEPS} steps of {LEARN_B} x {LEARN_G} answers pass@1 went from {before:.2f} to "
                          f"{after:.2f} (400 fresh prompts x 8 answers), expected at least {before + GAIN:.2f}",
                       ru=f"за {LEARN_STEPS} шагов по {LEARN_B} × {LEARN_G} ответов pass@1 изменился с {before:.2f} до "
                          f"{after:.2f} (400 новых промптов × 8 ответов), а нужно не меньше {before + GAIN:.2f}"), "does_not_learn")


# ── Boss: dapo_step ───────────────────────────────────────────────────────────────────────────────────────────────────
def drive_dapo(student, model, give, *, steps, batch_size, max_rounds, group_size=G, optimizer="sgd", lr=1.0):
    """Runs dapo_step; give(n, step) -> prompts.

    Returns (policy, policy before the last step, what each step returned, what each asked for: a number of prompts a round).
    """
    asked: list[list[int]] = []

    def answer(name, value):
        if name == "step":
            asked.append([])
            return None
        if name != "next_prompts" or not asked or not isinstance(value, int):
            raise Wrong(tr(en="dapo_step asked for something that is not prompts",
                           ru="dapo_step запросила не промпты"), "protocol")
        if not 1 <= value <= batch_size:
            raise Wrong(tr(en=f"dapo_step called next_prompts({value}): a round asks for 1 to batch_size = {batch_size} prompts",
                           ru=f"dapo_step вызвала next_prompts({value}): за раунд просят от 1 до batch_size = {batch_size} промптов"),
                        "round_size")
        if len(asked[-1]) >= max_rounds:
            raise Wrong(tr(en=f"dapo_step asked for prompts more than max_rounds = {max_rounds} times: where every group is all "
                              f"right or all wrong it would never end",
                           ru=f"dapo_step попросила промпты больше max_rounds = {max_rounds} раз: где все группы целиком верны "
                              f"или неверны, она не закончится никогда"), "no_bound")
        asked[-1].append(value)
        return give(value, len(asked) - 1)

    value = student.drive("train_dapo", weights_of(model), steps, batch_size, group_size, max_rounds, optimizer, lr,
                          function="dapo_step", seconds=SECONDS, answer_question=answer)
    rows = read_rows(_field(value, "rows"), "dapo_step", ("reward", "groups", "rounds", "generated"))
    for row, rounds in zip(rows, asked, strict=False):
        prompts = sum(rounds)
        if (row["rounds"], row["generated"]) != (len(rounds), prompts * group_size):
            said = {key: int(row[key]) for key in ("rounds", "generated")}
            raise Wrong(tr(en=f"dapo_step returned {said}, but it asked for prompts {len(rounds)} times, {prompts} in all: that is "
                              f"{prompts * group_size} answers, and those of dropped groups count",
                           ru=f"dapo_step вернула {said}, но промпты она просила {len(rounds)} раз, всего {prompts}: это "
                              f"{prompts * group_size} ответов, и ответы отброшенных групп считаются"), "miscounted")
    policies = (read_weights(_field(value, key), "dapo_step") for key in ("policy", "before_last"))
    return (*policies, rows, asked)


def check_dapo_step(student, rng):
    g = torch.Generator().manual_seed(rng.getrandbits(62))
    setting = draw_setting(rng)
    policy, size = constant_policy(setting.policy), 256
    _check_nothing_kept(student, rng, g, setting)

    given = []      # prompts that can be solved, a round

    def mixed(n, _step):      # half of the prompts cannot be solved: a full batch takes at least two rounds
        given.append(-(-n // 2))
        return mixed_prompts(n, setting.digit, 2, g)

    after, before, rows, asked = drive_dapo(student, policy, mixed, steps=2, batch_size=size, max_rounds=25, lr=SMALL)
    groups = int(min(row["groups"] for row in rows))
    rounds = min(map(len, asked))
    if rounds == 1:
        raise Wrong(tr(en=f"half of the prompts could not be solved, and dapo_step was content after one round with {groups} groups: "
                          f"groups that are all right or all wrong are dropped and replaced",
                       ru=f"половину промптов решить нельзя, а dapo_step хватило одного раунда и {groups} групп: группы, верные или "
                          f"неверные целиком, отбрасывают и заменяют"), "keeps_degenerate")
    if any(row["groups"] != size for row in rows):
        kept = int(next(row["groups"] for row in rows if row["groups"] != size))
        raise Wrong(tr(en=f"dapo_step kept {kept} groups after {rounds} rounds, expected batch_size = {size}",
                       ru=f"dapo_step оставила {kept} групп за {rounds} раундов, а нужно batch_size = {size}"), "batch_not_full")
    sampled = simulate(setting, 1500, 0, g)
    right = expected_step(setting, sampled, average="token", keep_all=False)
    moved = (after.head.bias - policy.head.bias).detach().double() / SMALL / 2
    if _fit(moved, right)[1] > 50:      # so long a step changes the policy: what it was can be told of the first one only
        moved = (before.head.bias - policy.head.bias).detach().double() / SMALL
    if not float(moved.norm()):
        raise Wrong(tr(en="dapo_step kept groups, but the policy did not move: does optimizer.step() follow backward(), and does logp "
                          "have its gradient?",
                       ru="dapo_step оставила группы, но политика не сдвинулась: вызван ли optimizer.step() после backward() и есть "
                          "ли у logp градиент?"), "no_step")
    tokens = float((sampled.mask * (sampled.rewards.std(1) > 0).repeat_interleave(G)[:, None]).sum(1).mean())
    judge_step(moved, right, [
        Wrongly("loss_sign", tr(en="This step goes backwards.", ru="Шаг сделан назад."), -right),
        Wrongly("answer_average", tr(en="This averages over answers, as GRPO does; DAPO averages over tokens.",
                                     ru="Здесь усреднение по ответам, как в GRPO, а в DAPO оно по токенам."),
                expected_step(setting, sampled, keep_all=False)),
        Wrongly("keeps_degenerate", tr(en="The tokens of dropped groups are still in the average.",
                                       ru="Токены отброшенных групп всё ещё в усреднении."),
                expected_step(setting, simulate(setting, 700, 700, g), average="token")),
        Wrongly("no_std", tr(en="The advantages are not divided by the group's std.", ru="Преимущества не поделены на std группы."),
                expected_step(setting, sampled, average="token", advantage="no_std", keep_all=False)),
        Wrongly("sum", tr(en="This is the sum over tokens, not their mean.", ru="Это сумма по токенам, а не среднее."),
                right * tokens * size * G),
        Wrongly("no_zero_grad", tr(en="The second step still holds the first one's gradient: call optimizer.zero_grad() in each step.",
                                   ru="Во втором шаге остался градиент первого: optimizer.zero_grad() нужен в каждом шаге."), 1.5 * right),
        Wrongly("two_steps", tr(en="The step is twice as long: the optimizer must step once.",
                                ru="Шаг вдвое длиннее: optimizer.step() нужен один раз."), 2 * right),
        Wrongly("misaligned", tr(en="The step leads nowhere: the advantages do not reach the answers that they belong to.",
                                 ru="Шаг никуда не ведёт: преимущества попали не к своим ответам."), torch.zeros(V_OUT)),
    ], "dapo_step")
    share = sum(given) / sum(map(sum, asked))
    said = sum(row["reward"] * row["generated"] for row in rows) / sum(row["generated"] for row in rows)
    _check_reward(said, share * float(sampled.rewards.mean()), 0.04, "dapo_step")

    base = load_base(0.3, progress=False)
    after, *_ = drive_dapo(student, base, lambda n, _: prompt_tokens(random_digits(n, g)), steps=LEARN_STEPS,
                                batch_size=LEARN_B, group_size=LEARN_G, max_rounds=8, optimizer="adam", lr=LEARN_LR)
    first, last = evaluate(base, seed=rng.getrandbits(40)).pass1, evaluate(after, seed=rng.getrandbits(40)).pass1
    if last < first + GAIN:
        raise Wrong(tr(en=f"after {LEARN_STEPS} calls of dapo_step pass@1 went from {first:.2f} to {last:.2f}, expected at "
                          f"least {first + GAIN:.2f}",
                       ru=f"за {LEARN_STEPS} вызовов dapo_step pass@1 изменился с {first:.2f} до {last:.2f}, а нужно не меньше "
                          f"{first + GAIN:.2f}"), "does_not_learn")


def _check_nothing_kept(student, rng, g, setting):
    """Where every group is all right or all wrong, dapo_step goes on to the bound and then leaves the policy as it is."""
    policy, bound = constant_policy(setting.policy), rng.randint(2, 4)

    def dry(n, step):      # a step to learn from, so that the optimizer holds momentum; then one without any signal
        return hopeless_prompts(n) if step else easy_prompts(n, setting.digit, g)

    wrong = tr(en="every group was all wrong", ru="все группы целиком неверны")
    right = tr(en="every group was all right", ru="все группы целиком верны")
    for model, give, steps, what in ((policy, lambda n, _: hopeless_prompts(n), 1, wrong),
                                     (right_policy(), lambda n, _: zero_prompts(n), 1, right),
                                     (policy, dry, 2, wrong)):
        after, before, rows, asked = drive_dapo(student, model, give, steps=steps, batch_size=8, max_rounds=bound,
                                                optimizer="adam", lr=SMALL)
        if rows[-1]["groups"]:
            kept = int(rows[-1]["groups"])
            raise Wrong(tr(en=f"{what}, so none is to be kept, but dapo_step says that it kept {kept}",
                           ru=f"{what}: ни одну нельзя оставить, а dapo_step говорит, что оставила {kept}"), "keeps_degenerate")
        if len(asked[-1]) != bound:
            rounds = len(asked[-1])
            raise Wrong(tr(en=f"{what}: dapo_step must go on until max_rounds = {bound}, it stopped after {rounds}",
                           ru=f"{what}: dapo_step должна продолжать до max_rounds = {bound}, а остановилась на {rounds}"), "stops_early")
        if not same(after, before):
            raise Wrong(tr(en=f"{what}, nothing was kept, and dapo_step moved the policy all the same: without a group there is no "
                              f"step, for even a gradient of zeros sets an optimizer with momentum in motion",
                           ru=f"{what}, ничего не осталось, а dapo_step всё равно сдвинула политику: без групп шага нет, ведь даже "
                              f"нулевой градиент приводит в движение оптимизатор с моментом"), "steps_on_nothing")


# ── Boss: compare ─────────────────────────────────────────────────────────────────────────────────────────────────────
def check_compare(student, rng):
    seeds = rng.sample(range(1000), 3)
    value = student.drive("compare", seeds, function="compare", seconds=2 * SECONDS)
    result, runs = _field(value, "result"), _field(value, "runs")
    found = {name: _read_arm(result, name, len(seeds)) for name in ("grpo", "dapo")}
    difference = _read_numbers(_field(result, "difference"), "difference")
    for name, (_, passed, summary) in found.items():
        _check_interval(summary, passed, name)
    pairs = [d - g for d, g in zip(found["dapo"][1], found["grpo"][1], strict=True)]
    if abs(difference["mean"] + sum(pairs) / len(pairs)) < 1e-6 < abs(difference["mean"]):
        raise Wrong(tr(en="'difference' is DAPO minus GRPO, here it is the other way round",
                       ru="'difference' — это DAPO минус GRPO, а здесь наоборот"), "difference_sign")
    _check_interval(difference, pairs, "difference")
    arms = {name: _check_runs(runs, name, len(seeds), *found[name][:2], rng) for name in found}
    for (g_answers, _), (d_answers, _) in zip(arms["grpo"], arms["dapo"], strict=True):
        if g_answers != d_answers:
            raise Wrong(tr(en=f"the budgets differ: GRPO sampled {g_answers} answers, DAPO {d_answers}. Both must stop at the same "
                              f"number of generated answers, those of dropped groups included",
                           ru=f"бюджеты разные: GRPO сэмплировала {g_answers} ответов, DAPO — {d_answers}. Обе должны остановиться на "
                              f"одном числе сгенерированных ответов, считая и отброшенные группы"), "unequal_budgets")
    base = evaluate(load_base(0.3, progress=False), seed=rng.getrandbits(40)).pass1
    for name, arm in arms.items():
        mean = sum(passed for _, passed in arm) / len(arm)
        if mean < base + COMPARED_GAIN:
            answers = max(answers for answers, _ in arm)
            raise Wrong(tr(en=f"there is nothing to compare yet: after {answers} answers {name} has a mean pass@1 of {mean:.2f}, the "
                              f"base model {base:.2f} (measured by the grader), expected at least {base + COMPARED_GAIN:.2f}. "
                              f"2560 answers at rate 1e-3, as in the notebook, are enough",
                           ru=f"сравнивать пока нечего: после {answers} ответов у {name} средний pass@1 {mean:.2f}, у базовой модели "
                              f"{base:.2f} (измерила проверка), а нужно не меньше {base + COMPARED_GAIN:.2f}. Хватает 2560 ответов "
                              f"при скорости 1e-3, как в блокноте"), "does_not_learn")


def _read_numbers(value, name) -> dict[str, float]:
    numbers = {key: _field(value, key) for key in ("mean", "half_width")}
    for key, number in numbers.items():
        number = number.item() if isinstance(number, torch.Tensor) and number.nelement() == 1 else number
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise Wrong(tr(en=f"compare must return a finite number in result['{name}']['{key}'], it holds {show(number, 60)}",
                           ru=f"compare должна вернуть конечное число в result['{name}']['{key}'], а там {show(number, 60)}"), "keys")
        numbers[key] = float(number)
    return numbers


def _read_arm(result, name, count):
    arm = _field(result, name)
    lists = []
    for key in ("answers", "pass1"):
        values = _field(arm, key)
        values = values.tolist() if hasattr(values, "tolist") else values
        values = [v.item() if isinstance(v, torch.Tensor) and v.nelement() == 1 else v for v in values] if isinstance(
            values, list | tuple) else None
        if values is None or len(values) != count or not all(isinstance(v, int | float) and math.isfinite(v) for v in values):
            raise Wrong(tr(en=f"compare must return a list of {count} numbers, one a seed, in result['{name}']['{key}']",
                           ru=f"compare должна вернуть список из {count} чисел, по одному на seed, в result['{name}']['{key}']"), "keys")
        lists.append([float(v) for v in values])
    return (*lists, _read_numbers(arm, name))


def _check_interval(summary, values, name):
    right = mean_interval(values)
    if abs(summary["mean"] - right.mean) > 1e-3:
        raise Wrong(tr(en=f"the mean of '{name}' is {right.mean:.4f}, compare says {summary['mean']:.4f}",
                       ru=f"среднее '{name}' равно {right.mean:.4f}, а compare говорит {summary['mean']:.4f}"), "wrong_mean")
    if abs(summary["half_width"] - right.error) > 1e-3 + 0.01 * right.error:
        raise Wrong(tr(en=f"half of the 95 % t-interval of '{name}' is {right.error:.4f} (t * std / sqrt(n), t with n - 1 degrees of "
                          f"freedom, std with n - 1), compare says {summary['half_width']:.4f}",
                       ru=f"половина 95 % t-интервала '{name}' равна {right.error:.4f} (t · std / √n, у t и у std n − 1), "
                          f"а compare говорит {summary['half_width']:.4f}"), "wrong_interval")


def _check_runs(runs, name, count, said_answers, said_pass1, rng) -> list[tuple[int, float]]:
    """The grader's own reading of one algorithm's runs: answers that were sampled and pass@1, a seed."""
    own = _field(runs, name)
    own = own if isinstance(own, list) else []
    if len(own) != count:
        raise Wrong(tr(en=f"compare trained {len(own)} policies by {name}, expected {count}: each seed begins with a fresh copy of "
                          f"the base model and calls {name}_step",
                       ru=f"compare обучила {len(own)} политик алгоритмом {name}, а нужно {count}: каждый seed начинает с новой копии "
                          f"базовой модели и вызывает {name}_step"), "not_fresh")
    models = [read_weights(_field(run, "end"), "compare") for run in own]
    starts = [read_weights(_field(run, "start"), "compare") for run in own]
    if any(not same(start, load_base(0.3, progress=False)) for start in starts):
        raise Wrong(tr(en="each run must begin with the base model load_base(0.3)",
                       ru="каждый запуск должен начинаться с базовой модели load_base(0.3)"), "not_fresh")
    if any(_field(run, "reference_moved") is not False for run in own):
        raise Wrong(tr(en=f"the reference of {name}_step changed on the way: it is a frozen copy, not the policy itself",
                       ru=f"референс у {name}_step по дороге изменился: это замороженная копия, а не сама политика"),
                    "reference_changed")
    if any(same(a, b) for i, a in enumerate(models) for b in models[:i]):
        raise Wrong(tr(en=f"two seeds of {name} gave the same weights to the last bit: the seed is not used",
                       ru=f"два seed у {name} дали одинаковые до последнего бита веса: seed не используется"), "seed_unused")
    sampled = [int(n) if isinstance(n := _field(run, "answers"), int) else -1 for run in own]
    for said, real in zip(said_answers, sampled, strict=True):
        if said != real:
            raise Wrong(tr(en=f"result['{name}']['answers'] says {said:g}, but {name}_step sampled {real}: count every answer, those "
                              f"of dropped groups too",
                           ru=f"result['{name}']['answers'] говорит {said:g}, но {name}_step сэмплировала {real}: считайте все ответы, "
                              f"и отброшенных групп тоже"), "miscounted")
    measured = [evaluate(model, seed=rng.getrandbits(40)).pass1 for model in models]
    for said, real in zip(said_pass1, measured, strict=True):
        if abs(said - real) > 0.12:
            raise Wrong(tr(en=f"result['{name}']['pass1'] says {said:.2f}, the grader measured {real:.2f} on 400 fresh prompts",
                           ru=f"result['{name}']['pass1'] говорит {said:.2f}, а проверка измерила {real:.2f} на 400 новых промптах"),
                        "wrong_pass1")
    return list(zip(sampled, measured, strict=True))
