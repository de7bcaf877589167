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
from lib.toy.task import BOS, DOT, MAX_NEW, V_OUT, answer_mask, encode, prompt_tokens, random_digits

POLICY = {"1": 0.5, ".": 0.3, ",": 0.2}            # right answers to a sum of 1 end in a lone '1': about one in five
REFERENCE = {"1": 0.2, ".": 0.3, ",": 0.5}
G = 16
COSINE, SHORTEST, LONGEST = 0.97, 0.8, 1.25        # a right step: over 50 seeds cosine > 0.99, length within 10 %
LEARN_STEPS, LEARN_B, LEARN_G, LEARN_LR = 30, 16, 8, 1e-3
GAIN = 0.10                                        # of pass@1, from 0.20; right steps gain 0.2 to 0.3
SECONDS = 180.0


def constant_policy(probabilities: dict[str, float]) -> TinyLM:
    """A model that writes each token with a fixed probability, whatever stands before it."""
    model = new_model()
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.fill_(-30.0)
        for token, p in probabilities.items():
            model.head.bias[encode(token)[0]] = math.log(p)
    return model


def weights_of(model: TinyLM) -> dict:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def easy_prompts(n: int) -> torch.Tensor:
    """Prompts whose digits add up to 1."""
    texts = ["0001=", "0010=", "0100=", "1000="]
    return torch.tensor([[BOS, *encode(texts[i % 4])] for i in range(n)])


def hopeless_prompts(n: int) -> torch.Tensor:
    """Prompts whose sum, 36, the constant policy cannot write: every group is all wrong."""
    return torch.tensor([[BOS, *encode("9999=")]] * n)


class Sampled(NamedTuple):
    tokens: torch.Tensor       # [N, T]
    mask: torch.Tensor         # [N, T]
    rewards: torch.Tensor      # [B, G]


def simulate(groups: int, solvable: bool, generator) -> Sampled:
    """Answers of the constant policy, drawn without it."""
    p = torch.zeros(V_OUT)
    for token, share in POLICY.items():
        p[encode(token)[0]] = share
    tokens = p.expand(groups * G * MAX_NEW, -1).multinomial(1, generator=generator).view(-1, MAX_NEW)
    ended = (tokens == DOT).int().cumsum(1)
    lengths = ((ended == 0).sum(1) + 1).clamp(max=MAX_NEW)
    digits = torch.tensor([[0, 0, 0, 1] if solvable else [9, 9, 9, 9]]).expand(len(tokens), -1)
    return Sampled(tokens, answer_mask(lengths, MAX_NEW).double(), rule_rewards(digits, tokens, lengths).view(groups, G).double())


def expected_step(sampled: Sampled, beta: float = 0.0, average: str = "answer", divide: bool = True, kl: str = "k3",
                  keep_all: bool = True) -> torch.Tensor:
    """What one step of SGD with rate 1 adds to the head's bias, on these answers: [V]."""
    rewards = sampled.rewards
    std = rewards.std(1, keepdim=True, correction=0)
    advantages = rewards - rewards.mean(1, keepdim=True)
    if divide:
        advantages = torch.where(std > 0, advantages / (std + 1e-4), 0.0)
    rows = (torch.ones_like(rewards) if keep_all else (std > 0).double().expand_as(rewards)).flatten()[:, None]
    mask = sampled.mask * rows
    policy, reference = torch.zeros(V_OUT, dtype=torch.double), torch.ones(V_OUT, dtype=torch.double)
    for token in POLICY:
        policy[encode(token)[0]], reference[encode(token)[0]] = POLICY[token], REFERENCE[token]
    d = (reference / policy.clamp(min=1e-9)).log()[sampled.tokens]
    slope = {"k3": 1 - d.exp(), "none": torch.zeros_like(d), "sign": d.exp() - 1, "k1": torch.ones_like(d),
             "reversed": (-d).exp() - 1, "k2": -d}[kl]
    push = advantages.flatten()[:, None] - beta * slope
    weights = mask / mask.sum() if average == "token" else mask / mask.sum(1, keepdim=True).clamp(min=1) / rows.sum()
    onehot = torch.nn.functional.one_hot(sampled.tokens, V_OUT).double()
    return ((weights * push)[:, :, None] * (onehot - policy)).sum((0, 1))


def judge_step(moved: torch.Tensor, right: torch.Tensor, wrongs: list[tuple[str, str, torch.Tensor]], what: str) -> None:
    """Raises Wrong unless a step has the expected direction and length; names the wrong step that it fits best."""
    cosine, length = _fit(moved, right)
    if cosine >= COSINE and SHORTEST <= length <= LONGEST:
        return
    fits = [(name, says) for name, says, wrong in wrongs
            if (found := _fit(moved, wrong))[0] >= COSINE and 0.85 <= found[1] <= 1.18]
    name, says = fits[0] if fits else ("wrong_step", "")
    raise Wrong(tr(en=f"{what}: the step must follow the expected gradient (cosine above {COSINE}, length {SHORTEST} to "
                      f"{LONGEST} of it), but its cosine is {cosine:.2f} and its length {length:.2f}. {says}",
                   ru=f"{what}: шаг должен идти по ожидаемому градиенту (косинус выше {COSINE}, длина от {SHORTEST} до "
                      f"{LONGEST} от него), а косинус {cosine:.2f}, длина {length:.2f}. {says}"), name)


def _fit(moved, other) -> tuple[float, float]:
    """Cosine between two steps, and the length of the first along the second."""
    a, b = moved.double(), other.double()
    if not float(a.norm()) or not float(b.norm()):
        return (1.0, 1.0) if float(a.norm()) == float(b.norm()) else (0.0, 0.0)
    return float(a @ b / a.norm() / b.norm()), float(a @ b / (b @ b))


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
    policy, reference = constant_policy(POLICY), constant_policy(REFERENCE)

    def one_step(prompts, beta):
        value = student.drive("train", weights_of(policy), weights_of(reference), prompts[None], G, beta, "sgd", 1.0,
                              function="grpo_step", seconds=SECONDS / 3)
        read_rows(_field(value, "rows"), "grpo_step", ("reward",))
        if not same(read_weights(_field(value, "reference"), "grpo_step"), reference):
            raise Wrong(tr(en="grpo_step changed the reference: it must stay frozen, only the policy learns",
                           ru="grpo_step изменила референс: он заморожен, учится только политика"), "reference_changed")
        after = read_weights(_field(value, "policy"), "grpo_step")
        return after, (after.head.bias - policy.head.bias).detach()

    after, _ = one_step(hopeless_prompts(8), 0.0)
    if not same(after, policy):
        raise Wrong(tr(
            en="All answers were wrong and beta was 0, so every advantage is 0 and nothing is to be learned, but the policy moved",
            ru="Все ответы неверны, beta = 0: все преимущества равны 0 и учиться не на чем, но политика сдвинулась"), "moves_without_signal")

    sampled = simulate(1500, True, g)
    _, moved = one_step(easy_prompts(256), 0.0)
    what = tr(en="grpo_step without KL (beta = 0)", ru="grpo_step без KL (beta = 0)")
    right = expected_step(sampled)
    if not float(moved.norm()):
        raise Wrong(tr(en=f"{what}: the policy did not move. Is the ratio made of tensors with a gradient (logp, not "
                          f"logp.detach() twice), and does optimizer.step() follow backward()?",
                       ru=f"{what}: политика не сдвинулась. Есть ли у ratio градиент (logp, а не дважды logp.detach()), "
                          f"и вызван ли optimizer.step() после backward()?"), "no_step")
    judge_step(moved, right, [
        ("loss_sign", tr(en="This step goes backwards: optimizers minimise, so the loss is minus the objective.",
                         ru="Шаг сделан назад: оптимизатор минимизирует, поэтому loss — это минус цель."), -right),
        ("token_average", tr(en="This averages over tokens, as DAPO does; GRPO averages over answers.",
                             ru="Здесь усреднение по токенам, как в DAPO, а в GRPO оно по ответам."),
         expected_step(sampled, average="token")),
        ("no_std", tr(en="The advantages are not divided by the group's std.", ru="Преимущества не поделены на std группы."),
         expected_step(sampled, divide=False)),
    ], what)

    for_kl = simulate(400, False, g)
    _, moved = one_step(hopeless_prompts(256), 1.0)
    what = tr(en="grpo_step with all rewards 0 and beta = 1", ru="grpo_step при нулевых наградах и beta = 1")
    if not float(moved.norm()):
        raise Wrong(tr(en=f"{what}: the policy did not move: where is the KL term?",
                       ru=f"{what}: политика не сдвинулась, а где член с KL?"), "no_kl")
    judge_step(moved, expected_step(for_kl, 1.0), [
        ("kl_sign", tr(en="The KL term has the wrong sign: it drives the policy away from the reference.",
                       ru="У KL неверный знак: он уводит политику от референса."), expected_step(for_kl, 1.0, kl="sign")),
        ("kl_reversed", tr(en="The KL is reversed.", ru="KL перевёрнут."), expected_step(for_kl, 1.0, kl="reversed")),
        ("kl_token_average", tr(en="The KL term is averaged over tokens, not over answers.",
                                ru="Член с KL усреднён по токенам, а не по ответам."),
         expected_step(for_kl, 1.0, average="token")),
        ("no_kl", tr(en="The KL term is missing.", ru="Члена с KL нет."), torch.zeros(V_OUT)),
    ], what)
    _check_learning(student, rng, g)


def _check_learning(student, rng, g):
    base = load_base(0.3, progress=False)
    prompts = prompt_tokens(random_digits(LEARN_STEPS * LEARN_B, g)).view(LEARN_STEPS, LEARN_B, -1)
    weights = weights_of(base)
    value = student.drive("train", weights, weights, prompts, LEARN_G, 0.02, "adam", LEARN_LR, function="grpo_step",
                          seconds=SECONDS)
    rows = read_rows(_field(value, "rows"), "grpo_step", ("reward",))
    model = read_weights(_field(value, "policy"), "grpo_step")
    before, after = evaluate(base, seed=rng.getrandbits(40)).pass1, evaluate(model, seed=rng.getrandbits(40)).pass1
    if after < before + GAIN:
        raise Wrong(tr(en=f"after {LEARN_STEPS} steps of {LEARN_B} x {LEARN_G} answers pass@1 went from {before:.2f} to "
                          f"{after:.2f} (400 fresh prompts x 8 answers), expected at least {before + GAIN:.2f}",
                       ru=f"за {LEARN_STEPS} шагов по {LEARN_B} × {LEARN_G} ответов pass@1 изменился с {before:.2f} до "
                          f"{after:.2f} (400 новых промптов × 8 ответов), а нужно не меньше {before + GAIN:.2f}"), "does_not_learn")
    said = sum(row["reward"] for row in rows[:5]) / 5
    if abs(said - before) > 0.15:
        raise Wrong(tr(en=f"'reward' is the mean reward of the step's answers: the first five steps say {said:.2f}, the base model "
                          f"is right in {before:.2f} of cases",
                       ru=f"'reward' — это средняя награда ответов шага: первые пять шагов говорят {said:.2f}, а базовая модель "
                          f"права в доле {before:.2f} случаев"), "reward_reported")


# ── Boss: dapo_step ───────────────────────────────────────────────────────────────────────────────────────────────────
def drive_dapo(student, model, give, *, steps, batch_size, max_rounds, group_size=G, optimizer="sgd", lr=1.0):
    """Runs dapo_step; give(n, round) -> prompts. Returns (policy, rows, rounds and prompts that were asked for, a step)."""
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
        return give(value, len(asked[-1]))

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
    return read_weights(_field(value, "policy"), "dapo_step"), rows, asked


def check_dapo_step(student, rng):
    g = torch.Generator().manual_seed(rng.getrandbits(62))
    policy = constant_policy(POLICY)
    bound = rng.randint(2, 4)
    after, rows, asked = drive_dapo(student, policy, lambda n, _: hopeless_prompts(n), steps=1, batch_size=8, max_rounds=bound)
    if rows[0]["groups"] or not same(after, policy):
        raise Wrong(tr(en="every group was all wrong, so none is to be kept and no step to be made, but "
                          "dapo_step kept some or moved the policy",
                       ru="все группы целиком неверны: ни одну нельзя оставить и шага делать не надо, но "
                          "dapo_step что-то оставила или сдвинула политику"), "keeps_degenerate")
    if len(asked[0]) != bound:
        raise Wrong(tr(en=f"every group was all wrong: dapo_step must go on until max_rounds = {bound}, it stopped after {len(asked[0])}",
                       ru=f"все группы целиком неверны: dapo_step должна продолжать до max_rounds = {bound}, а остановилась "
                          f"на {len(asked[0])}"), "stops_early")

    size = 128

    def mixed(n, _round):      # half of the prompts cannot be solved: a full batch takes at least two rounds
        return torch.cat([easy_prompts((n + 1) // 2), hopeless_prompts(n // 2)])[torch.randperm(n, generator=g)]

    after, rows, asked = drive_dapo(student, policy, mixed, steps=1, batch_size=size, max_rounds=8)
    groups = int(rows[0]["groups"])
    if len(asked[0]) == 1:
        raise Wrong(tr(en=f"half of the prompts could not be solved, and dapo_step was content after one round with {groups} groups: "
                          f"groups that are all right or all wrong are dropped and replaced",
                       ru=f"половину промптов решить нельзя, а dapo_step хватило одного раунда и {groups} групп: группы, верные или "
                          f"неверные целиком, отбрасывают и заменяют"), "keeps_degenerate")
    if groups != size:
        raise Wrong(tr(en=f"dapo_step kept {groups} groups after {len(asked[0])} rounds, expected batch_size = {size}",
                       ru=f"dapo_step оставила {groups} групп за {len(asked[0])} раундов, а нужно batch_size = {size}"), "batch_not_full")
    sampled, whole = simulate(1500, True, g), simulate(700, False, g)
    both = Sampled(*(torch.cat(pair) for pair in zip(Sampled(sampled.tokens[: 700 * G], sampled.mask[: 700 * G],
                                                             sampled.rewards[:700]), whole, strict=True)))
    right = expected_step(sampled, average="token", keep_all=False)
    judge_step((after.head.bias - policy.head.bias).detach(), right, [
        ("loss_sign", tr(en="This step goes backwards.", ru="Шаг сделан назад."), -right),
        ("answer_average", tr(en="This averages over answers, as GRPO does; DAPO averages over tokens.",
                              ru="Здесь усреднение по ответам, как в GRPO, а в DAPO оно по токенам."),
         expected_step(sampled, keep_all=False)),
        ("keeps_degenerate", tr(en="The tokens of dropped groups are still in the average.",
                                ru="Токены отброшенных групп всё ещё в усреднении."),
         expected_step(both, average="token")),
    ], "dapo_step")

    base = load_base(0.3, progress=False)
    after, rows, _ = drive_dapo(student, base, lambda n, _: prompt_tokens(random_digits(n, g)), steps=LEARN_STEPS,
                                batch_size=LEARN_B, group_size=LEARN_G, max_rounds=8, optimizer="adam", lr=LEARN_LR)
    first, last = evaluate(base, seed=rng.getrandbits(40)).pass1, evaluate(after, seed=rng.getrandbits(40)).pass1
    if last < first + GAIN:
        raise Wrong(tr(en=f"after {LEARN_STEPS} calls of dapo_step pass@1 went from {first:.2f} to {last:.2f}, expected at "
                          f"least {first + GAIN:.2f}",
                       ru=f"за {LEARN_STEPS} вызовов dapo_step pass@1 изменился с {first:.2f} до {last:.2f}, а нужно не меньше "
                          f"{first + GAIN:.2f}"), "does_not_learn")


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
    for g_answers, d_answers in zip(arms["grpo"], arms["dapo"], strict=True):
        if g_answers != d_answers:
            raise Wrong(tr(en=f"the budgets differ: GRPO sampled {g_answers} answers, DAPO {d_answers}. Both must stop at the same "
                              f"number of generated answers, those of dropped groups included",
                           ru=f"бюджеты разные: GRPO сэмплировала {g_answers} ответов, DAPO — {d_answers}. Обе должны остановиться на "
                              f"одном числе сгенерированных ответов, считая и отброшенные группы"), "unequal_budgets")
    if min(arms["grpo"]) < 1000:
        raise Wrong(tr(en="fewer than 1000 answers a run teach nothing that could be compared",
                       ru="меньше 1000 ответов на запуск ничему не учат, сравнивать нечего"), "too_short")


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


def _check_runs(runs, name, count, said_answers, said_pass1, rng) -> list[int]:
    """The grader's own reading of one algorithm's runs: answers that were sampled, a seed."""
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
    for said, model in zip(said_pass1, models, strict=True):
        real = evaluate(model, seed=rng.getrandbits(40)).pass1
        if abs(said - real) > 0.12:
            raise Wrong(tr(en=f"result['{name}']['pass1'] says {said:.2f}, the grader measured {real:.2f} on 400 fresh prompts",
                           ru=f"result['{name}']['pass1'] говорит {said:.2f}, а проверка измерила {real:.2f} на 400 новых промптах"),
                        "wrong_pass1")
    return sampled
