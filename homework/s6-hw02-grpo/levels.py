"""The levels of s6-hw02-grpo: what is asked, what is right, and the mistakes that are told by name.

What is right is computed here in float64 with loops and closed forms, never with the reference solution.
"""
import math
from pathlib import Path

import torch

from lib.grading.compare import NUMBERS, Mistake, check_call
from lib.grading.level import Level, Part, Wrong
from lib.i18n import tr

HERE = Path(__file__).parent
DRIVER = HERE / "driver.py"
TRAINING = HERE / "training.py"
PROVIDES = ["lib/i18n.py", "lib/progress.py", "lib/cli.py", "lib/toy/__init__.py", "lib/toy/task.py", "lib/toy/policy.py",
            "lib/toy/halves.py", "lib/toy/base.py", "lib/toy/bases/manifest.json", "lib/toy/bases/p_cot_0.3.safetensors"]


def generator(rng) -> torch.Generator:
    return torch.Generator().manual_seed(rng.getrandbits(62))


def rounded(tensor: torch.Tensor, digits: int = 2) -> torch.Tensor:
    """Numbers that can be read in a message."""
    return (tensor * 10**digits).round() / 10**digits


# ── 1. the reward ─────────────────────────────────────────────────────────────────────────────────────────────────────
def check_rule_reward(student, rng):
    for prompt, completion, right, mistake, says in reward_cases(rng):
        call = f"rule_reward({prompt!r}, {_cut(completion)})"
        try:
            value = student.call("rule_reward", {"prompt": prompt, "completion": completion}).value
        except Wrong as wrong:
            if wrong.mistake != "exception" or mistake not in ("empty", "long_number"):
                raise
            raise Wrong(f"{wrong.message}. {says}", mistake) from None
        if value is None:
            raise Wrong(tr(en=f"{call} returned None: is there a return on every path?",
                           ru=f"{call}: вернулось None. Есть ли return на каждом пути?"), "type")
        if isinstance(value, torch.Tensor) and value.nelement() == 1:
            value = value.item()
        if not isinstance(value, bool | int | float):
            kind = getattr(value, "what", type(value).__name__)
            raise Wrong(tr(en=f"{call} returned {kind}, expected a float",
                           ru=f"{call}: вернулось {kind}, а нужен float"), "type")
        if value != right:
            raise Wrong(tr(en=f"{call} returned {float(value):g}, expected {right:g}. {says}",
                           ru=f"{call}: вернулось {float(value):g}, ожидалось {right:g}. {says}"), mistake)


def _cut(text: str) -> str:
    return repr(text) if len(text) <= 60 else tr(en=f"a text of {len(text)} characters", ru=f"текст из {len(text)} символов")


def reward_cases(rng):
    """(prompt, completion, reward, name of the mistake that it reveals, what to tell), in the order of teaching."""
    digits = [rng.randint(1, 9) for _ in range(4)]
    prompt, total = "".join(map(str, digits)) + "=", sum(digits)
    a, b = digits[0] + digits[1], sum(digits[:3])
    wrong = rng.choice([x for x in range(1, 37) if x not in (total, a, b)])
    right = tr(en="A right last number in a right format is paid.", ru="За верное последнее число в верном формате платят.")
    yield prompt, f"{total}.", 1.0, "unpaid", right
    yield prompt, f"{a},{b},{total}.", 1.0, "unpaid", right
    yield (prompt, f"{wrong},{wrong},{total}.", 1.0, "judges_steps",
           tr(en="Only the last number is judged, the steps are not.", ru="Судят только последнее число, шаги — нет."))
    yield (prompt, f"0{total}.", 1.0, "leading_zero",
           tr(en="A leading zero leaves the number what it is.", ru="Ведущий ноль числа не меняет."))
    yield ("0000=", "0.", 1.0, "lone_zero",
           tr(en="0 + 0 + 0 + 0 is 0, and '0.' says so. Without its leading zeros a lone 0 is an empty text: lstrip('0') or '0'.",
              ru="0 + 0 + 0 + 0 — это 0, и '0.' так и говорит. Без ведущих нулей от одинокого 0 остаётся пустая строка: "
                 "lstrip('0') or '0'."))
    yield (prompt, f"{wrong}.", 0.0, "wrong_sum", tr(en="The last number is not the sum.", ru="Последнее число — не сумма."))
    yield (prompt, f"{a},{total},{wrong}.", 0.0, "any_number",
           tr(en="The right number stands there, but not last: whoever lists numbers would be paid.",
              ru="Верное число есть, но не последнее: так заплатили бы за перебор чисел."))
    yield (prompt, "36,35," + ",".join(str(x) for x in range(34, 0, -1) if x != total) + f",{total},{wrong}.", 0.0, "any_number",
           tr(en="A list of all numbers must not be paid.", ru="За перечисление всех чисел платить нельзя."))
    form = tr(en="The format is 'numbers with commas between them, then one dot', and nothing else.",
              ru="Формат: числа через запятую и точка в конце, больше ничего.")
    for completion in (f"{total}", f"{a},{b},{total}", f"{total}..", f"{a},,{total}.", f",{total}.", f"{total},.",
                       f"{a}.{total}.", f"{prompt}{total}.", f"x{total}.", f"{total}.x", f"{a}, {total}.", f" {total}.",
                       f"{total} .", f"+{total}.", f"{total}.0.", f"={total}."):
        yield prompt, completion, 0.0, "wrong_format", form
    yield (prompt, "", 0.0, "empty", tr(en="An empty answer is no answer.", ru="Пустой ответ — не ответ."))
    yield prompt, ".", 0.0, "empty", tr(en="A lone dot holds no number.", ru="В одной точке нет числа.")
    yield (prompt, f"{total}.\n", 0.0, "newline",
           tr(en="$ also matches before a newline at the end: use re.fullmatch.",
              ru="$ совпадает и перед переводом строки в конце: возьмите re.fullmatch."))
    arabic = "".join(chr(0x660 + int(c)) for c in str(total))
    yield (prompt, f"{arabic}.", 0.0, "other_digits",
           tr(en=r"\d and isdigit() also take the digits of other scripts: write [0-9].",
              ru=r"\d и isdigit() принимают и цифры других письменностей: пишите [0-9]."))
    long = tr(en="int() refuses more than 4300 digits: compare without converting, or guard the length. A reward must not raise.",
              ru="int() отказывается от чисел длиннее 4300 цифр: сравнивайте без преобразования или проверьте длину. Награда не "
                 "должна падать.")
    try_long = "9" * rng.randint(5000, 6000) + "."
    yield prompt, try_long, 0.0, "long_number", long
    yield prompt, f"{a}," * 20_000 + f"{total}", 0.0, "wrong_format", form
    for _ in range(20):
        digits = [rng.randint(0, 9) for _ in range(4)]
        guess = rng.choice([sum(digits), rng.randint(0, 36)])
        paid = float(guess == sum(digits))
        yield ("".join(map(str, digits)) + "=", rng.choice(["", f"{digits[0]},"]) + f"{guess}.", paid,
               "unpaid" if paid else "wrong_sum", right if paid else "")


# ── 2. the mask ───────────────────────────────────────────────────────────────────────────────────────────────────────
def mask_oracle(prompt_lengths, answer_lengths, width, shift=0, longer=0):
    """Column j predicts token j + 1; the answer is tokens P .. P + A - 1."""
    rows = []
    for prompt, answer in zip(prompt_lengths.tolist(), answer_lengths.tolist(), strict=True):
        rows.append([1.0 if prompt <= j + 1 + shift < prompt + answer + longer else 0.0 for j in range(width)])
    return torch.tensor(rows, dtype=torch.float64)


def mask_mistakes():
    def prompt_part(p, a, width):
        return torch.stack([(torch.arange(width) < n - 1).double() for n in p.tolist()])

    return [
        Mistake("off_by_one_right", tr(
            en="The mask stands one column too far right: column j predicts token j + 1, so the answer's first token is "
               "predicted by the prompt's last.",
            ru="Маска сдвинута на столбец вправо: столбец j предсказывает токен j + 1, поэтому первый токен ответа предсказывает "
               "последний токен промпта."), lambda p, a, width: mask_oracle(p, a, width, shift=-1)),
        Mistake("off_by_one_left", tr(
            en="The mask stands one column too far left: count where the prompt's last token is.",
            ru="Маска сдвинута на столбец влево: посчитайте, где стоит последний токен промпта."),
            lambda p, a, width: mask_oracle(p, a, width, shift=1)),
        Mistake("mask_of_prompt", tr(en="This is the mask of the prompt.", ru="Это маска промпта."), prompt_part),
        Mistake("prompt_and_answer", tr(
            en="The prompt is inside the mask too: the policy did not write it.",
            ru="В маску попал и промпт: его писала не политика."),
            lambda p, a, width: ((prompt_part(p, a, width) + mask_oracle(p, a, width)) > 0).double()),
        Mistake("padding", tr(en="Padding is inside the mask too.", ru="В маску попал и паддинг."),
                lambda p, a, width: torch.stack([(torch.arange(width) >= n - 1).double() for n in p.tolist()])),
        Mistake("too_short", tr(en="The answer's last token, the dot, is left out.",
                                ru="Потерян последний токен ответа, точка."),
                lambda p, a, width: mask_oracle(p, a, width, longer=-1)),
        Mistake("too_long", tr(en="One column behind the answer is taken too.", ru="Захвачен лишний столбец за ответом."),
                lambda p, a, width: mask_oracle(p, a, width, longer=1)),
        Mistake("one_prompt_length", tr(en="Every row has a prompt length of its own.",
                                        ru="У каждой строки своя длина промпта."),
                lambda p, a, width: mask_oracle(p[:1].expand_as(p), a, width)),
        Mistake("inverted", tr(en="1 and 0 are swapped.", ru="Перепутаны 1 и 0."),
                lambda p, a, width: 1 - mask_oracle(p, a, width)),
    ]


def check_answer_mask(student, rng):
    prompt, answers = rng.randint(2, 3), [rng.randint(2, 3), 1]
    small = {"prompt_lengths": torch.tensor([prompt, prompt + 1]), "answer_lengths": torch.tensor(answers), "width": 6}
    cases = [small]
    for n in (1, 5, 16):
        prompts = torch.tensor([rng.randint(1, 7) for _ in range(n)])
        lengths = torch.tensor([rng.randint(0 if i else 1, 10) for i in range(n)])
        width = int((prompts + lengths).max()) - 1 + rng.randint(0, 3)
        cases.append({"prompt_lengths": prompts, "answer_lengths": lengths, "width": width})
    for inputs in cases:
        check_call(student, "answer_mask", mask_oracle, inputs, dtypes=NUMBERS, mistakes=mask_mistakes())


# ── 3. the advantages ─────────────────────────────────────────────────────────────────────────────────────────────────
def advantages_oracle(rewards, eps=1e-4):
    rows = []
    for group in rewards.tolist():
        mean = math.fsum(group) / len(group)
        std = math.sqrt(math.fsum((r - mean) ** 2 for r in group) / len(group))
        rows.append([0.0 if max(group) == min(group) else (r - mean) / (std + eps) for r in group])
    return torch.tensor(rows, dtype=torch.float64)


def _moments(r, dim=1, correction=0):
    return r.mean(dim, keepdim=True), r.var(dim, keepdim=True, correction=correction)


def advantage_mistakes():
    def over(dim, correction=0, eps_in="outside"):
        def compute(r, eps=1e-4):
            mean, var = _moments(r, dim, correction) if dim is not None else (r.mean(), r.var(correction=0))
            if eps_in == "root":
                return (r - mean) / (var + eps).sqrt()
            if eps_in == "after":
                return (r - mean) / var.sqrt() + eps
            if eps_in == "none":
                return (r - mean) / var.sqrt()
            if eps_in == "default":
                return (r - mean) / (var.sqrt() + 1e-4)
            return (r - mean) / (var.sqrt() + eps)
        return compute

    return [
        Mistake("std_unbiased", tr(
            en="The std is divided by G - 1: torch.std does so by itself, ask for correction=0.",
            ru="Стандартное отклонение делится на G − 1: torch.std так делает сам, попросите correction=0."), over(1, 1)),
        Mistake("eps_outside", tr(en="eps belongs into the denominator: (r - mean) / (std + eps).",
                                  ru="eps стоит в знаменателе: (r − mean) / (std + eps)."), over(1, eps_in="after")),
        Mistake("eps_in_root", tr(en="eps is added to the std, not under the root.",
                                  ru="eps прибавляют к std, а не под корень."), over(1, eps_in="root")),
        Mistake("no_eps", tr(en="eps is missing, or too small to matter: a group of equal rewards is 0 / 0, or rounding noise over noise.",
                             ru="Нет eps, или она слишком мала: группа с равными наградами — это 0 / 0 или шум округления, "
                                "делённый на шум."), over(1, eps_in="none")),
        Mistake("eps_ignored", tr(en="The argument eps is not used.", ru="Аргумент eps не используется."),
                over(1, eps_in="default")),
        Mistake("over_batch", tr(en="Mean and std are those of the whole batch, not of each group.",
                                 ru="Среднее и std взяты по всему батчу, а не по каждой группе."), over(None)),
        Mistake("over_prompts", tr(en="Mean and std run over the prompts (dim 0): a group is a row.",
                                   ru="Среднее и std идут по промптам (dim 0): группа — это строка."), over(0)),
        Mistake("no_std", tr(en="Divide by the group's std (plus eps).", ru="Нужно делить на std группы (плюс eps)."),
                lambda r, eps=1e-4: r - r.mean(1, keepdim=True)),
        Mistake("no_mean", tr(en="The group's mean is not subtracted.", ru="Среднее группы не вычтено."),
                lambda r, eps=1e-4: r / (r.std(1, keepdim=True, correction=0) + eps)),
        Mistake("variance", tr(en="This divides by the variance, not by its root.",
                               ru="Здесь делят на дисперсию, а не на её корень."),
                lambda r, eps=1e-4: (r - r.mean(1, keepdim=True)) / (r.var(1, keepdim=True, correction=0) + eps)),
        Mistake("sign", tr(en="The sign is reversed: a better answer has a positive advantage.",
                           ru="Знак наоборот: у лучшего ответа преимущество положительное."),
                lambda r, eps=1e-4: -advantages_oracle(r, eps)),
    ]


def check_group_advantages(student, rng):
    g = generator(rng)
    # float32 leaves 3e-8 between 0.3 and the mean of 0.3s, which eps = 1e-4 makes 3e-4: hence atol for real rewards
    size = rng.randint(3, 4)
    few, many = rng.randrange(size), rng.randrange(size)
    small = torch.tensor([[float(i == few) for i in range(size)], [float(i != many) for i in range(size)]])
    rounds = [(small, {}), (torch.tensor([[0.0] * 4, [1.0] * 4, [1.0, 0.0, 0.0, 0.0]]), {}),
              ((torch.rand(rng.randint(5, 9), 8, generator=g) < 0.4).float(), {}),
              (rounded(torch.rand(4, rng.randint(5, 7), generator=g)) + torch.tensor([[0.0], [1.0], [-2.0], [0.2]]), {}),
              (rounded(torch.randn(3, 6, generator=g)), {"eps": rng.choice([0.3, 0.5])})]
    for rewards, options in rounds:
        check_call(student, "group_advantages", advantages_oracle, {"rewards": rewards}, options=options,
                   mistakes=advantage_mistakes(), atol=1e-5)


# ── 4. KL ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def k3_oracle(logp, logp_ref):
    """The ratio of probabilities, minus 1, minus its logarithm."""
    ratio = logp_ref.exp() / logp.exp()
    return ratio - 1 - torch.log(ratio)


def kl_mistakes():
    return [
        Mistake("k1", tr(en="This is k1, logp - logp_ref: unbiased, but it can be negative and it scatters widely.",
                         ru="Это k1, logp − logp_ref: несмещённая, но бывает отрицательной и сильно шумит."), lambda a, b: a - b),
        Mistake("k1_reversed", tr(en="This is k1 with the sign reversed.",
                                  ru="Это k1 с обратным знаком."), lambda a, b: b - a),
        Mistake("k2", tr(en="This is k2, half of the squared log-ratio.", ru="Это k2, половина квадрата лог-отношения."),
                lambda a, b: (a - b) ** 2 / 2),
        Mistake("k3_reversed", tr(
            en="The log-ratio is reversed: answers are sampled from the policy, so d = logp_ref - logp.",
            ru="Лог-отношение перевёрнуто: ответы сэмплирует политика, поэтому d = logp_ref − logp."),
            lambda a, b: k3_oracle(b, a)),
        Mistake("kl_sign", tr(en="The sign is reversed: k3 is never negative.",
                              ru="Знак наоборот: k3 не бывает отрицательной."),
                lambda a, b: -k3_oracle(a, b)),
        Mistake("no_minus_one", tr(en="The - 1 is missing: equal log-probs must give 0.",
                                   ru="Не хватает − 1: при равных logp должен получаться 0."), lambda a, b: (b - a).exp() - (b - a)),
        Mistake("no_log_term", tr(en="The - d is missing.", ru="Не хватает − d."), lambda a, b: (b - a).exp() - 1),
        Mistake("averaged", tr(en="One number a token is asked for; averaging comes later, with the mask.",
                               ru="Нужно число на каждый токен; усреднение с маской будет позже."), lambda a, b: k3_oracle(a, b).mean()),
        Mistake("exact_term", tr(en="This weighs by exp(logp); the sampling has done that already.",
                                 ru="Здесь взвешено на exp(logp), а это уже сделало сэмплирование."),
                lambda a, b: a.exp() * (a - b)),
    ]


def check_kl_k3(student, rng):
    g = generator(rng)

    def logs(*shape, spread=1.0):
        return rounded(-0.1 - spread * torch.rand(*shape, generator=g))

    for shape, spread in (((1, 2), 2.0), ((4, 6), 1.0), ((8, 10), 3.0)):
        inputs = {"logp": logs(*shape, spread=spread), "logp_ref": logs(*shape, spread=spread)}
        inputs["logp_ref"] += 0.005      # never equal: there even a wrong estimate may be 0
        check_call(student, "kl_k3", k3_oracle, inputs, grad=("logp",), mistakes=kl_mistakes())
    same = logs(2, 3)
    check_call(student, "kl_k3", k3_oracle, {"logp": same, "logp_ref": same.clone()}, grad=("logp",), mistakes=kl_mistakes())


# ── 5. the clipped objective ──────────────────────────────────────────────────────────────────────────────────────────
def clip_oracle(logp, logp_old, advantages, eps_low=0.2, eps_high=0.2):
    """Case by case: beyond the range in the direction that pays, the ratio stands still at the border."""
    ratio = (logp - logp_old).exp()
    A = advantages[:, None].expand_as(ratio)
    bounded = torch.where(A >= 0, torch.where(ratio > 1 + eps_high, 1 + eps_high, ratio),
                          torch.where(ratio < 1 - eps_low, 1 - eps_low, ratio))
    return bounded * A


def clip_mistakes():
    def parts(logp, old, A, eps_low, eps_high):
        ratio = (logp - old).exp()
        return ratio, ratio.clamp(1 - eps_low, 1 + eps_high), A[:, None]

    def with_parts(f):
        def compute(logp, old, A, eps_low=0.2, eps_high=0.2):
            return f(*parts(logp, old, A, eps_low, eps_high))
        return compute

    def log_clip(logp, old, A, eps_low=0.2, eps_high=0.2):
        ratio = (logp - old).exp()
        clipped = (logp - old).clamp(-eps_low, eps_high).exp()
        return torch.min(ratio * A[:, None], clipped * A[:, None])

    def broadcast(logp, old, A, eps_low=0.2, eps_high=0.2):
        ratio, clipped, _ = parts(logp, old, A, eps_low, eps_high)
        return torch.min(ratio * A[None, :], clipped * A[None, :])

    def swapped(logp, old, A, eps_low=0.2, eps_high=0.2):
        return clip_oracle(logp, old, A, eps_high, eps_low)

    return [
        Mistake("max_for_negative", tr(
            en="For A < 0 the larger of the two is taken: it must be the minimum for both signs (A = -1, ratio 5 gives -5).",
            ru="При A < 0 берётся большее из двух, а нужен минимум при любом знаке (A = −1, ratio 5 даёт −5)."),
            with_parts(lambda r, c, A: torch.where(A < 0, torch.max(r * A, c * A), torch.min(r * A, c * A)))),
        Mistake("max", tr(en="The minimum of the two is needed, not the maximum.",
                          ru="Нужен минимум из двух, а не максимум."),
                with_parts(lambda r, c, A: torch.max(r * A, c * A))),
        Mistake("only_clipped", tr(
            en="Clipping alone is not enough: without the minimum, a token that went the wrong way gets no gradient back.",
            ru="Одного клиппинга мало: без минимума токен, ушедший не туда, не получит градиента обратно."),
            with_parts(lambda r, c, A: c * A)),
        Mistake("not_clipped", tr(en="Nothing is clipped.", ru="Клиппинга нет."), with_parts(lambda r, c, A: r * A)),
        Mistake("clip_before_exp", tr(
            en="The log-ratio is clipped before exp: the range 1 - eps .. 1 + eps is one of the ratio.",
            ru="Лог-отношение обрезано до exp, а диапазон 1 − eps … 1 + eps относится к самому ratio."), log_clip),
        Mistake("only_upper", tr(en="Only the upper border is there: for A < 0 the lower one acts.",
                                 ru="Есть только верхняя граница, а при A < 0 работает нижняя."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: torch.min(
                    (l - o).exp() * A[:, None], (l - o).exp().clamp(max=1 + eps_high) * A[:, None])),
        Mistake("only_lower", tr(en="Only the lower border is there: for A > 0 the upper one acts.",
                                 ru="Есть только нижняя граница, а при A > 0 работает верхняя."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: torch.min(
                    (l - o).exp() * A[:, None], (l - o).exp().clamp(min=1 - eps_low) * A[:, None])),
        Mistake("one_eps", tr(en="The upper border is 1 + eps_high, not 1 + eps_low.",
                              ru="Верхняя граница — 1 + eps_high, а не 1 + eps_low."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: clip_oracle(l, o, A, eps_low, eps_low)),
        Mistake("eps_ignored", tr(en="The arguments eps_low and eps_high are not used.",
                                  ru="Аргументы eps_low и eps_high не используются."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: clip_oracle(l, o, A)),
        Mistake("eps_swapped", tr(en="eps_low and eps_high are swapped.", ru="eps_low и eps_high перепутаны."), swapped),
        Mistake("broadcast", tr(
            en="The advantage runs along the tokens: advantages [N] belongs to the rows, write advantages[:, None].",
            ru="Преимущество идёт вдоль токенов, а advantages [N] относится к строкам: пишите advantages[:, None]."), broadcast),
        Mistake("ratio_inverted", tr(en="The ratio is upside down: it is exp(logp - logp_old).",
                                     ru="Отношение перевёрнуто: нужно exp(logp − logp_old)."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: clip_oracle(o, l, A, eps_low, eps_high)),
        Mistake("no_exp", tr(en="The ratio is exp(logp - logp_old), not the difference.",
                             ru="Отношение — это exp(logp − logp_old), а не разность."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: torch.min(
                    (l - o) * A[:, None], (l - o).clamp(1 - eps_low, 1 + eps_high) * A[:, None])),
        Mistake("sign", tr(en="This is the loss: the objective is to be maximised, without a minus.",
                           ru="Это loss, а просили цель, которую максимизируют: без минуса."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: -clip_oracle(l, o, A, eps_low, eps_high)),
        Mistake("averaged", tr(en="One number a token is asked for; averaging comes with the mask.",
                               ru="Нужно число на каждый токен; усреднение будет с маской."),
                lambda l, o, A, eps_low=0.2, eps_high=0.2: clip_oracle(l, o, A, eps_low, eps_high).mean()),
    ]


def check_clipped_objective(student, rng):
    g = generator(rng)

    def inputs(n, width):
        ratio = 0.3 + 1.5 * torch.rand(n, width, generator=g)
        for border in (0.8, 1.2, 0.9, 1.3, 1.5):      # off the kinks, where the gradient has two right values
            ratio = torch.where((ratio - border).abs() < 0.02, border + 0.03, ratio)
        advantages = rounded(0.5 + torch.rand(n, generator=g)) * torch.tensor([1.0, -1.0]).repeat(n)[:n]
        old = rounded(-0.2 - 2 * torch.rand(n, width, generator=g))
        return {"logp": old + ratio.log(), "logp_old": old, "advantages": advantages}

    # as many answers as tokens: an advantage that is spread along the wrong axis still has a value to be recognised by
    small = {"logp": torch.log(torch.tensor([[0.5, 1.1, 5.0]] * 3)).mul(1000).round() / 1000 - 2,
             "logp_old": torch.full((3, 3), -2.0), "advantages": torch.tensor([1.0, -1.0, 0.5]) * rng.choice([1.0, 2.0])}
    for case, options in ((small, {}), (inputs(6, 6), {}), (inputs(7, 4), {"eps_low": 0.1, "eps_high": 0.3}),
                          (inputs(12, 10), {"eps_low": 0.2, "eps_high": 0.5})):
        check_call(student, "clipped_objective", clip_oracle, case, options=options, grad=("logp",), mistakes=clip_mistakes())


# ── 6. averaging ──────────────────────────────────────────────────────────────────────────────────────────────────────
def per_answer_oracle(x, mask):
    answers = [sum(v for v, m in zip(row, kept, strict=True) if m) / kept.sum() for row, kept in zip(x, mask, strict=True)]
    return sum(answers) / len(answers)


def per_token_oracle(x, mask):
    kept = [v for row, marks in zip(x, mask, strict=True) for v, m in zip(row, marks, strict=True) if m]
    return sum(kept) / len(kept)


def averaging_mistakes():
    return [
        Mistake("over_padding", tr(en="Padding is averaged too: multiply by the mask, and divide by what it keeps.",
                                   ru="Усреднён и паддинг: умножьте на маску и делите на число оставленных."), lambda x, m: x.mean()),
        Mistake("divides_by_all", tr(en="The sum is masked, but it is divided by all cells, padding included.",
                                     ru="Сумма взята по маске, но делится на все ячейки вместе с паддингом."), lambda x, m: (x * m).mean()),
        Mistake("divides_by_width", tr(en="Divide by the answer's own length, not by the width T.",
                                       ru="Делить нужно на длину самого ответа, а не на ширину T."),
                lambda x, m: ((x * m).sum(1) / x.shape[1]).mean()),
        Mistake("mean_of_sums", tr(en="This is a mean of sums: divide each answer's sum by its length.",
                                   ru="Это среднее сумм: сумму каждого ответа делят на его длину."), lambda x, m: (x * m).sum(1).mean()),
        Mistake("sum", tr(en="This is the sum.", ru="Это сумма."), lambda x, m: (x * m).sum()),
        Mistake("per_row", tr(en="One number for the batch is asked for.", ru="Нужно одно число на батч."),
                lambda x, m: (x * m).sum(1) / m.sum(1)),
        Mistake("sum_of_means", tr(en="The answers' means are added, not averaged.",
                                   ru="Средние по ответам сложены, а не усреднены."),
                lambda x, m: ((x * m).sum(1) / m.sum(1)).sum()),
    ]


def check_average(name, oracle, other_name, other):
    def check(student, rng):
        g = generator(rng)
        swapped = Mistake("averages_swapped", tr(
            en=f"This is {other_name}: the two averages are swapped.", ru=f"Это {other_name}: два усреднения перепутаны."), other)
        for n, width in ((2, 3), (5, 6), (16, 10)):
            lengths = torch.tensor([rng.randint(1, width - 1) for _ in range(n)])
            lengths[:2] = torch.tensor([1, width])
            mask = (torch.arange(width) < lengths[:, None]).float()
            if n > 2:      # an answer need not begin in the first column
                mask = mask.flip(1)
            x = rounded(torch.randn(n, width, generator=g)) + 0.5
            x = torch.where(mask > 0, x, rng.choice([7.0, -9.0]))      # what stands on the padding means nothing
            check_call(student, name, oracle, {"x": x, "mask": mask}, grad=("x",), mistakes=[swapped, *averaging_mistakes()])
    return check


# ── 8. DPO ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def dpo_oracle(chosen, rejected, ref_chosen, ref_rejected, beta=0.1):
    margin = beta * ((chosen - ref_chosen) - (rejected - ref_rejected))
    return torch.logaddexp(torch.zeros_like(margin), -margin).mean()      # -log(1 / (1 + exp(-margin)))


def dpo_mistakes():
    def margin(c, r, rc, rr):
        return (c - rc) - (r - rr)

    def variant(f):
        return lambda c, r, rc, rr, beta=0.1: f(margin(c, r, rc, rr), beta)

    log_sigmoid = torch.nn.functional.logsigmoid
    return [
        Mistake("no_reference", tr(en="The reference is missing: without it nothing holds the policy near it.",
                                   ru="Нет референса: без него политику ничто не держит рядом."),
                lambda c, r, rc, rr, beta=0.1: -log_sigmoid(beta * (c - r)).mean()),
        Mistake("pairs_swapped", tr(en="Chosen and rejected are swapped.", ru="Выбранный и отвергнутый ответы перепутаны."),
                variant(lambda m, beta: -log_sigmoid(-beta * m).mean())),
        Mistake("beta_outside", tr(en="beta belongs inside the sigmoid.", ru="beta стоит внутри сигмоиды."),
                variant(lambda m, beta: -beta * log_sigmoid(m).mean())),
        Mistake("no_beta", tr(en="beta is missing.", ru="Нет beta."), variant(lambda m, beta: -log_sigmoid(m).mean())),
        Mistake("beta_ignored", tr(en="The argument beta is not used.", ru="Аргумент beta не используется."),
                variant(lambda m, beta: -log_sigmoid(0.1 * m).mean())),
        Mistake("sign", tr(en="The sign is reversed: this loss is below 0 and grows as the policy improves.",
                           ru="Знак наоборот: такой loss меньше 0 и растёт, когда политика улучшается."),
                variant(lambda m, beta: log_sigmoid(beta * m).mean())),
        Mistake("reference_sign", tr(en="The reference's sign is wrong: subtract its margin.",
                                     ru="Знак референса неверный: его отрыв вычитают."),
                lambda c, r, rc, rr, beta=0.1: -log_sigmoid(beta * ((c - r) + (rc - rr))).mean()),
        Mistake("no_log", tr(en="The logarithm of the sigmoid is missing.", ru="Нет логарифма сигмоиды."),
                variant(lambda m, beta: -torch.sigmoid(beta * m).mean())),
        Mistake("sum", tr(en="This is the sum over pairs: take the mean.", ru="Это сумма по парам: нужно среднее."),
                variant(lambda m, beta: -log_sigmoid(beta * m).sum())),
        Mistake("per_pair", tr(en="One number is asked for: the mean over pairs.", ru="Нужно одно число: среднее по парам."),
                variant(lambda m, beta: -log_sigmoid(beta * m))),
        Mistake("mean_inside", tr(en="The mean is taken before the sigmoid.", ru="Среднее взято до сигмоиды."),
                variant(lambda m, beta: -log_sigmoid(beta * m.mean()))),
    ]


def check_dpo_loss(student, rng):
    g = generator(rng)
    names = ("logp_chosen", "logp_rejected", "ref_chosen", "ref_rejected")
    grad = ("logp_chosen", "logp_rejected")
    for n, spread, options in ((2, 10, {}), (8, 20, {}), (6, 5, {"beta": rng.choice([0.3, 0.5])}), (5, 10, {})):
        inputs = {name: rounded(-2 - spread * torch.rand(n, generator=g)) for name in names}
        check_call(student, "dpo_loss", dpo_oracle, inputs, options=options, grad=grad, mistakes=dpo_mistakes())
    far = {name: torch.tensor([value, -30.0]) for name, value in zip(names, (-9000.0, -10.0, -10.0, -20.0), strict=True)}
    unstable = Mistake("unstable", tr(
        en="log(sigmoid(x)) is log(0) far from 0: use logsigmoid or softplus.",
        ru="Вдали от нуля log(sigmoid(x)) — это log(0): возьмите logsigmoid или softplus."), lambda c, *_, **__: None)
    try:
        check_call(student, "dpo_loss", dpo_oracle, far, mistakes=dpo_mistakes())
    except Wrong as wrong:
        if wrong.mistake == "wrong_value":
            raise Wrong(f"{wrong.message} {unstable.says}", unstable.name) from None
        raise


# ── the list ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def lesson(section: int) -> str:
    return tr(en=f"notebooks/en/02_grpo_step.ipynb, section {section}",
              ru=f"notebooks/ru/02_grpo_step.ipynb, раздел {section}")


def levels() -> list[Level]:
    """All levels, in the language in force."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("s6_hw02_grpo_training", TRAINING)
    training = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(training)
    return [
        Level("1", tr(en="rule reward", ru="правиловая награда"), (Part("rule_reward", 5, check_rule_reward),), (
            tr(en="One regular expression describes the whole format; the last number is its group.",
               ru="Весь формат описывает одно регулярное выражение; последнее число — его группа."),
            tr(en="re.fullmatch asks that nothing is left over on either side, [0-9] takes no digits of other scripts.",
               ru="re.fullmatch требует, чтобы по краям ничего не осталось, а [0-9] не берёт цифры других письменностей."),
            tr(en="Compare the number as text without leading zeros (a lone 0 stays) with str(sum of the digits): int() raises above "
                  "4300 digits.",
               ru="Сравните число как текст без ведущих нулей (одинокий 0 остаётся) с str(сумма цифр): int() падает, если цифр больше "
                  "4300."),
        ), tr(en="notebooks/en/01_toy_model.ipynb, section 6", ru="notebooks/ru/01_toy_model.ipynb, раздел 6")),
        Level("2", tr(en="answer mask", ru="маска ответа"), (Part("answer_mask", 10, check_answer_mask),), (
            tr(en="Write down one row: tokens 0 to L - 1, and under each column j the token j + 1 that it predicts.",
               ru="Выпишите одну строку: токены от 0 до L − 1 и под каждым столбцом j токен j + 1, который он предсказывает."),
            tr(en="The answer's tokens are P to P + A - 1, so its columns are P - 1 to P + A - 2.",
               ru="Токены ответа — от P до P + A − 1, значит, столбцы — от P − 1 до P + A − 2."),
            tr(en="Compare torch.arange(width) with lengths[:, None]: two comparisons, joined by &.",
               ru="Сравните torch.arange(width) с lengths[:, None]: два сравнения, соединённые &."),
        ), lesson(5)),
        Level("3", tr(en="group advantages",
                      ru="групповые преимущества"), (Part("group_advantages", 10, check_group_advantages),), (
            tr(en="A group is a row: mean and std run along dim 1, with keepdim=True.",
               ru="Группа — это строка: среднее и std идут по dim 1, с keepdim=True."),
            tr(en="torch.std divides by G - 1; the population std is correction=0.",
               ru="torch.std делит на G − 1; генеральное std — это correction=0."),
            tr(en="(rewards - mean) / (std + eps): eps outside of the root, inside of the denominator.",
               ru="(rewards − mean) / (std + eps): eps вне корня, но в знаменателе."),
        ), lesson(3)),
        Level("4", tr(en="KL by k3", ru="KL по формуле k3"), (Part("kl_k3", 10, check_kl_k3),), (
            tr(en="k3 = exp(d) - 1 - d. What remains is which way round d is.",
               ru="k3 = exp(d) − 1 − d. Остаётся решить, с каким знаком берётся d."),
            tr(en="The answers come from the policy, the expectation is of pi_ref / pi - 1 - log(pi_ref / pi).",
               ru="Ответы сэмплирует политика, и берётся среднее от pi_ref / pi − 1 − log(pi_ref / pi)."),
            tr(en="d = logp_ref - logp; no averaging, no detach.", ru="d = logp_ref − logp; без усреднения и без detach."),
        ), lesson(8)),
        Level("5", tr(en="clipped objective", ru="клиппированная цель"), (
            Part("clipped_objective", 15, check_clipped_objective),), (
            tr(en="Two products: ratio * A and clamped ratio * A. Which of them is taken?",
               ru="Два произведения: ratio * A и обрезанное ratio * A. Какое из них берут?"),
            tr(en="Always the smaller one, for either sign of A; check A = -1 with ratio 5 (gives -5) and ratio 0.5 (gives -0.8).",
               ru="Всегда меньшее, при любом знаке A; проверьте A = −1 с ratio 5 (выйдет −5) и ratio 0.5 (выйдет −0.8)."),
            tr(en="ratio = exp(logp - logp_old); clamp(1 - eps_low, 1 + eps_high); advantages[:, None].",
               ru="Соберите: ratio = exp(logp − logp_old); clamp(1 − eps_low, 1 + eps_high); advantages[:, None]."),
        ), lesson(7)),
        Level("6", tr(en="averaging over answers and over tokens", ru="усреднение по ответам и по токенам"), (
            Part("mean_per_answer", 5, check_average("mean_per_answer", per_answer_oracle, "mean_per_token", per_token_oracle)),
            Part("mean_per_token", 5, check_average("mean_per_token", per_token_oracle, "mean_per_answer", per_answer_oracle))), (
            tr(en="Both begin with x * mask. The difference is what is divided by what, and when.",
               ru="Оба начинаются с x * mask. Разница в том, что на что делят и когда."),
            tr(en="GRPO: a mean in each answer, then the mean of these. DAPO: one mean over all answer tokens of the batch.",
               ru="GRPO: среднее в каждом ответе, потом среднее этих средних. DAPO: одно среднее по всем токенам ответов батча."),
            tr(en="((x * mask).sum(1) / mask.sum(1)).mean() and (x * mask).sum() / mask.sum().",
               ru="Первое — ((x * mask).sum(1) / mask.sum(1)).mean(), второе — (x * mask).sum() / mask.sum()."),
        ), lesson(9)),
        Level("7", tr(en="the GRPO step: the model learns to add", ru="шаг GRPO: модель учится складывать"), (
            Part("grpo_step", 15, training.check_grpo_step),), (
            tr(en="Sample, reward, advantages, log-probs of policy and reference, objective, average, step: nine lines.",
               ru="Сэмплирование, награды, преимущества, logp политики и референса, цель, усреднение, шаг: девять строк."),
            tr(en="Right after sampling the policy is the old policy: logp_old = logp.detach(). The reference runs under no_grad.",
               ru="Сразу после сэмплирования политика и есть старая: logp_old = logp.detach(). Референс считают под no_grad."),
            tr(en="loss = -mean_per_answer(clipped_objective(...) - beta * kl_k3(...), mask); then zero_grad, backward, step.",
               ru="loss = -mean_per_answer(clipped_objective(...) - beta * kl_k3(...), mask); затем zero_grad, backward, step."),
        ), lesson(11), ("1", "2", "3", "4", "5", "6"), slow=True),
        Level("8", tr(en="DPO loss", ru="функция потерь DPO"), (Part("dpo_loss", 10, check_dpo_loss),), (
            tr(en="The margin compares two log-ratios: how much likelier than under the reference each answer has become.",
               ru="Отрыв сравнивает два лог-отношения: насколько вероятнее, чем у референса, стал каждый ответ."),
            tr(en="loss = -log sigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected))), averaged over pairs.",
               ru="loss = −log sigmoid(beta * ((chosen − ref_chosen) − (rejected − ref_rejected))), среднее по парам."),
            tr(en="torch.nn.functional.logsigmoid stays finite where log(sigmoid(x)) does not.",
               ru="torch.nn.functional.logsigmoid остаётся конечным там, где log(sigmoid(x)) уже нет."),
        ), tr(en="Rafailov et al., Direct Preference Optimization, arXiv:2305.18290, equation 7",
              ru="Rafailov et al., Direct Preference Optimization, arXiv:2305.18290, уравнение 7")),
        Level("boss", tr(en="Boss: DAPO with dynamic sampling, against GRPO",
                         ru="Boss: DAPO с динамическим сэмплингом против GRPO"), (
            Part("dapo_step", 8, training.check_dapo_step), Part("compare", 7, training.check_compare)), (
            tr(en="A loop: prompts, answers, rewards; keep the groups whose rewards differ; stop when the batch is full or "
                  "max_rounds is reached. Both conditions stand in the while.",
               ru="Цикл: промпты, ответы, награды; оставьте группы, где награды различаются; стоп, когда батч полон или "
                  "исчерпан max_rounds. Оба условия стоят в while."),
            tr(en="If no group was kept there is nothing to learn from: return without a step. No KL; mean_per_token; eps_high 0.28.",
               ru="Если не осталось ни одной группы, учиться не на чем: вернитесь без шага. KL нет; mean_per_token; eps_high 0.28."),
            tr(en="compare: for each seed a fresh copy of the base for each algorithm, and both stop at the same number of sampled "
                  "answers (dropped ones count). Pass max_rounds=min(8, rounds that are left). The interval is a t-interval over seeds.",
               ru="compare: для каждого seed своя копия базы для каждого алгоритма, и оба останавливаются на одном числе "
                  "сэмплированных ответов (отброшенные считаются). Передайте max_rounds=min(8, сколько раундов осталось). Интервал — "
                  "t-интервал по seed."),
        ), tr(en="notebooks/en/03_experiments.ipynb, sections 2 and 4", ru="notebooks/ru/03_experiments.ipynb, разделы 2 и 4"),
            ("1", "2", "3", "4", "5", "6", "7"), slow=True),
    ]
