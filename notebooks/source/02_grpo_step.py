# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
r"""
# 02. Шаг GRPO: от одного батча до 150 шагов

**После урока вы сможете**

- посчитать групповые преимущества на бумаге и сказать, какие группы ничему не учат;
- объяснить каждую строку шага GRPO: маску, ratio и клиппинг, KL k3, усреднение по ответам и по токенам;
- доказать себе, что при ratio = 1 градиент GRPO — это REINFORCE, и понять, почему loss около нуля ничего не значит;
- запустить обучение, прочитать три его кривые и отличить «затачивание» от нового умения.

Время: около 40 минут. Нужен [урок 01](01_toy_model.ipynb): модель, награда, pass@k.
"""

# %% [markdown] tags=["en"]
r"""
# 02. The GRPO step: from one batch to 150 steps

**After this lesson you will be able to**

- compute group advantages on paper, and say which groups teach nothing;
- explain each line of the GRPO step: mask, ratio and clip, KL k3, averaging over answers and over tokens;
- prove to yourself that at ratio = 1 GRPO's gradient is REINFORCE's, and see why a loss near zero means nothing;
- run the training, read its three curves, and tell 'sharpening' from a new skill.

Time: about 40 minutes. You need [lesson 01](01_toy_model.ipynb): the model, the reward, pass@k.
"""

# %% tags=["ru"]
import os

os.environ["COURSE_LANG"] = "ru"

# %% tags=["en"]
import os

os.environ["COURSE_LANG"] = "en"

# %%
import copy

import torch
from IPython.display import display

from lib.i18n import tr
from lib.progress import bar
from lib.runlog.names import label
from lib.runlog.plot import curves
from lib.toy import grpo, policy, reward, task
from lib.toy.base import load_base
from lib.toy.evaluate import evaluate, pass_at_k
from lib.toy.experiment import Run, Settings
from lib.ui import figures, tables
from lib.ui.cells import show_figures, source, table
from lib.ui.quiz import show_quiz

show_figures()

# %% [markdown] tags=["ru"]
r"""
## 1. Один батч

Шаг начинается с роллаута: 32 промпта, на каждый по 8 ответов базовой модели. Дальше всюду $B = 32$ промпта, $G = 8$ ответов в группе, $N = B \cdot G = 256$ ответов, $T$ токенов в ответе самое большее.
"""

# %% [markdown] tags=["en"]
r"""
## 1. One batch

A step begins with a rollout: 32 prompts, 8 answers of the base model to each. From here on $B = 32$ prompts, $G = 8$ answers in a group, $N = B \cdot G = 256$ answers, and $T$ tokens an answer at most.
"""

# %%
base = load_base(p_cot=0.3)
rng = torch.Generator().manual_seed(7)
batch = grpo.rollout(base, prompts=32, group_size=8, rng=rng)
table(["`batch`", "`.shape`"], [[f"`{name}`", tuple(field.shape)] for name, field in batch._asdict().items()])

# %% [markdown] tags=["ru"]
r"""
## 2. Награды: таблица 32 × 8

Группа, в которой все награды равны, называется **вырожденной**: сравнивать в ней нечего.

**Предсказание.** Верен примерно каждый пятый ответ. Сколько из 32 групп окажутся вырожденными и какими — «все верны» или «все неверны»?
"""

# %% [markdown] tags=["en"]
r"""
## 2. Rewards: a table of 32 × 8

A group whose rewards are all equal is called **degenerate**: there is nothing in it to compare.

**Prediction.** About one answer in five is right. How many of the 32 groups will be degenerate, and of which kind, all right or all wrong?
"""

# %%
figures.reward_table(batch.rewards)

# %%
right = batch.rewards.mean().item()
dead = grpo.degenerate(batch.rewards)
print(f"p = {right:.2f}   degenerate: {int(dead.sum())} / 32   32 * (1 - p)^8 = {32 * (1 - right) ** 8:.1f}")
assert 2 <= dead.sum() <= 16
assert batch.rewards[dead].sum() == 0   # all of them are of the kind 'all wrong'

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Если бы все задачи были одинаково трудны, группа оказалась бы целиком неверной с вероятностью $(1-p)^8$ — её и печатает ячейка, умножив на 32. Задачи разные, на трудных промах за промахом обычен, поэтому настоящее число чаще бывает больше. Группы «все верны» у базы почти не встречаются: для этого надо восемь раз подряд попасть.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Were all tasks equally hard, a group would be all wrong with probability $(1-p)^8$, which the cell prints times 32. Tasks differ, and on hard ones miss follows miss, so the real number is mostly larger. Groups of the kind 'all right' hardly occur for the base model: it would have to hit eight times in a row.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 3. Групповые преимущества

Насколько ответ лучше своей группы:

$$A_i = \frac{r_i - \operatorname{mean}(r_1, \dots, r_G)}{\operatorname{std}(r_1, \dots, r_G) + 10^{-4}}$$

Среднее по группе стоит здесь вместо критика PPO: отдельная сеть, которая предсказывала бы награду, не нужна. Стандартное отклонение — генеральное (делим на $G$, а не на $G-1$).
"""

# %% [markdown] tags=["en"]
r"""
## 3. Group advantages

How much better an answer is than its group:

$$A_i = \frac{r_i - \operatorname{mean}(r_1, \dots, r_G)}{\operatorname{std}(r_1, \dots, r_G) + 10^{-4}}$$

The group's mean stands where PPO has its critic: no separate network has to predict the reward. The standard deviation is that of the population (divided by $G$, not by $G-1$).
"""

# %%
source(grpo.group_advantages)

# %% [markdown] tags=["ru"]
r"""
Одна строка руками. Возьмём группу с двумя верными ответами.

**Предсказание.** Среднее равно 2/8. Чему равны std и преимущества верного и неверного ответов?
"""

# %% [markdown] tags=["en"]
r"""
One row by hand. We take a group with two right answers.

**Prediction.** The mean is 2/8. What is the std, and what are the advantages of a right and of a wrong answer?
"""

# %%
group = int((batch.rewards.sum(1) == 2).nonzero()[0])
rewards = batch.rewards[group]
mean = rewards.sum() / 8
std = (((rewards - mean) ** 2).sum() / 8).sqrt()
by_hand = (rewards - mean) / (std + 1e-4)
print(f"mean {mean:.3f}   std {std:.3f}")
print("r", [f"{r:.0f}" for r in rewards.tolist()])
print("A", [f"{a:.2f}" for a in by_hand.tolist()])
torch.testing.assert_close(by_hand, grpo.group_advantages(batch.rewards)[group])

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** В какой группе верный ответ получает больше: где он один из восьми или где верны семь из восьми?
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** In which group does a right answer get more: where it is the only one of eight, or where seven of eight are right?
"""

# %%
tables.advantages(group_size=8)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Там, где он один: редкая удача выделяется сильнее всего. А где верны семь, сильнее всего наказана единственная ошибка. Сумма преимуществ в каждой группе — ноль: сколько одним прибавили, столько у других отняли.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Where it is the only one: a rare success stands out most. And where seven are right, the single mistake is punished most. The advantages of each group sum to zero: what some are given is taken from the others.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Тот же батч, теперь с преимуществами.
"""

# %% [markdown] tags=["en"]
r"""
The same batch again, now with its advantages.
"""

# %%
figures.advantage_table(grpo.group_advantages(batch.rewards))

# %% [markdown] tags=["ru"]
r"""
## 4. Вырожденные группы ничему не учат

Сделаем шаг только на вырожденных группах, без KL, и посмотрим на норму градиента.
"""

# %% [markdown] tags=["en"]
r"""
## 4. Degenerate groups teach nothing

We take a step on the degenerate groups alone, without KL, and look at the norm of the gradient.
"""

# %%
learner = copy.deepcopy(base)
optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3)
row = grpo.grpo_step(learner, base, optimizer, batch.groups(dead), beta=0.0)
print(f"grad_norm {row['grad_norm']}")
assert row["grad_norm"] == 0

# %% [markdown] tags=["ru"]
r"""
Сэмплировать эти группы пришлось, а пользы от них нет. DAPO сэмплирует дальше, пока не наберёт нужное число невырожденных групп; это называется **динамическим сэмплированием**. Набирает она раундами по 32 группы, лишние отбрасывает. Во сколько раз больше групп понадобится здесь?
"""

# %% [markdown] tags=["en"]
r"""
These groups had to be sampled, and nothing came of it. DAPO goes on sampling until it has enough groups that are not degenerate, which is called **dynamic sampling**. It samples in rounds of 32 groups and drops what is too many. How many times as many groups will it take here?
"""

# %%
kept, drawn = grpo.dynamic_sampling(lambda: grpo.rollout(base, 32, 8, rng), size=32)
print(f"drawn: {len(drawn.prompts)}   kept: {len(kept.prompts)}")
assert len(kept.prompts) == 32
assert not grpo.degenerate(kept.rewards).any()

# %% [markdown] tags=["ru"]
r"""
## 5. Маска ответа

Ответы разной длины лежат в одной прямоугольной таблице: за концом короткого — паддинг. Промпт модель не выбирала, паддинг тоже. Учить можно только на токенах ответа, их и отмечает маска. Точка в конце ответа входит в ответ: решение остановиться — тоже выбор модели.
"""

# %% [markdown] tags=["en"]
r"""
## 5. The answer mask

Answers of different lengths lie in one rectangular table: behind the end of a short one is padding. The model chose neither the prompt nor the padding. Only the tokens of the answer may be learned from, and these the mask marks. The dot at the end belongs to the answer: to stop is the model's choice too.
"""

# %%
figures.answer_cells(batch.prompts[group].expand(8, -1), batch.answers[group], batch.lengths[group])

# %% [markdown] tags=["ru"]
r"""
Что будет без маски? Паддинг здесь заполнен точками. За верный короткий ответ модель хвалили бы и за восемь точек после него, а деление на длину делило бы на 10 вместо 2–3. Ошибка тихая: обучение идёт, только не тому.
"""

# %% [markdown] tags=["en"]
r"""
What would happen without the mask? The padding here is filled with dots. For a right short answer the model would be praised for eight dots behind it as well, and dividing by the length would divide by 10 instead of 2 or 3. The fault is a silent one: training goes on, only not towards what was meant.
"""

# %% [markdown] tags=["ru"]
r"""
## 6. log-вероятности и ratio

Политика заново считает log-вероятность каждого токена ответа, теперь с градиентом. Её отношение к вероятности в момент сэмплирования:

$$\rho_{i,t} = \frac{\pi_\theta(o_{i,t})}{\pi_\text{old}(o_{i,t})} = \exp(\log\pi_\theta - \log\pi_\text{old})$$

**Предсказание.** Весов мы ещё не меняли. Чему равны все $\rho$?
"""

# %% [markdown] tags=["en"]
r"""
## 6. Log-probabilities and the ratio

The policy computes the log-probability of each answer token once more, this time with a gradient. Its ratio to the probability at the time of sampling is

$$\rho_{i,t} = \frac{\pi_\theta(o_{i,t})}{\pi_\text{old}(o_{i,t})} = \exp(\log\pi_\theta - \log\pi_\text{old}).$$

**Prediction.** We have not changed the weights yet. What are all the $\rho$?
"""

# %%
answers, lengths, logp_old = (field.flatten(0, 1) for field in (batch.answers, batch.lengths, batch.logp_old))   # [N, ...]
mask = task.answer_mask(lengths, answers.shape[1])                                                            # [N, T]
with torch.no_grad():
    logp, entropy = policy.token_logprobs(base, batch.prompts, answers)
ratio = torch.exp(logp - logp_old)[mask > 0]
print(f"ratio: {ratio.min():.6f} .. {ratio.max():.6f}")
assert (ratio - 1).abs().max() < 1e-4
figures.token_logprobs(batch.answers[group], batch.lengths[group], logp.view_as(batch.logp_old)[group])

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Единице — с точностью до округления. Отличаться от единицы $\rho$ начнёт, если на одном батче сделать несколько шагов оптимизатора подряд.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

One, up to rounding. $\rho$ departs from one where several optimizer steps in a row are made on one batch.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Чем темнее клетка, тем увереннее модель. Первый токен — это развилка: рассуждать или угадывать. Запятые и точки после неё почти предрешены.
"""

# %% [markdown] tags=["en"]
r"""
The darker a cell, the surer the model. The first token is the fork, to reason or to guess. The commas and dots behind it are all but decided.
"""

# %% [markdown] tags=["ru"]
r"""
## 7. Клиппинг

Цель одного токена, которую мы увеличиваем, взята из PPO:

$$\min\big(\rho A,\ \operatorname{clip}(\rho,\ 1-\varepsilon_\text{low},\ 1+\varepsilon_\text{high})\,A\big)$$
"""

# %% [markdown] tags=["en"]
r"""
## 7. The clip

The objective of one token, to be increased, is PPO's:

$$\min\big(\rho A,\ \operatorname{clip}(\rho,\ 1-\varepsilon_\text{low},\ 1+\varepsilon_\text{high})\,A\big)$$
"""

# %%
source(grpo.clipped_objective)

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** $\varepsilon = 0.2$. Посчитайте цель для четырёх случаев и скажите, где градиент исчезнет:

1. $A = +1$, $\rho = 5$
2. $A = +1$, $\rho = 0.5$
3. $A = -1$, $\rho = 5$
4. $A = -1$, $\rho = 0.5$
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** $\varepsilon = 0.2$. Compute the objective in four cases and say where the gradient vanishes:

1. $A = +1$, $\rho = 5$
2. $A = +1$, $\rho = 0.5$
3. $A = -1$, $\rho = 5$
4. $A = -1$, $\rho = 0.5$
"""

# %%
A = torch.tensor([1.0, 1.0, -1.0, -1.0])
log_ratio = torch.tensor([[5.0], [0.5], [5.0], [0.5]]).log().requires_grad_()
value = grpo.clipped_objective(log_ratio, torch.zeros(4, 1), A)
gradient, = torch.autograd.grad(value.sum(), log_ratio)
columns = (x.flatten().tolist() for x in (A, log_ratio.exp(), value, gradient))
table(["", "A", "ρ", "min(ρA, clip(ρ)·A)", "d / d log π"],
      [[n, f"{a:+g}", f"{r:g}", f"{v:.1f}", f"{g:.1f}"] for n, (a, r, v, g) in enumerate(zip(*columns, strict=True), start=1)])

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Градиент исчезает в случаях 1 и 4 — там, где политика уже далеко ушла *туда, куда её звало преимущество*. В случаях 2 и 3 она ушла не туда, и вернуть её надо в полную силу: поэтому `min`, и поэтому $A = -1$ при $\rho = 5$ даёт −5, а не −1.2.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

The gradient vanishes in cases 1 and 4, where the policy has gone far *in the direction that the advantage asked for*. In cases 2 and 3 it has gone the wrong way and has to be brought back with full force: hence `min`, and hence $A = -1$ at $\rho = 5$ gives −5 and not −1.2.
</details>
"""

# %%
figures.clipping(eps_low=0.2, eps_highs=(0.2, 0.28))

# %% [markdown] tags=["ru"]
r"""
Штриховая линия — **Clip-Higher** из DAPO: верхняя граница поднята до 1.28, нижняя осталась. Зачем? Токен с вероятностью 0.01 перестают поднимать уже на 0.01 · 1.2 = 0.012. Симметричный клиппинг держит редкие токены редкими, и энтропия падает; чуть более высокая крышка даёт им расти.

Клиппинг работает, только если на одном батче делают несколько шагов (`updates`). Проверим: один шаг и четыре.
"""

# %% [markdown] tags=["en"]
r"""
The dashed line is DAPO's **Clip-Higher**: the upper bound is raised to 1.28, the lower one stays. What for? A token of probability 0.01 is no longer raised from 0.01 · 1.2 = 0.012 on. A symmetric clip keeps rare tokens rare, and entropy falls; a slightly higher lid lets them grow.

The clip acts only where several steps are made on one batch (`updates`). Let us see: one step, and four.
"""

# %%
for updates in (1, 4):
    learner = copy.deepcopy(base)
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3)
    row = grpo.grpo_step(learner, base, optimizer, batch, updates=updates)
    print(f"updates {updates}: clip_ratio/region_mean {row['clip_ratio/region_mean']:.3f}")

# %% [markdown] tags=["ru"]
r"""
## 8. KL: k1, k3 и точное значение

Чтобы политика не ушла от базовой модели (**референса**) слишком далеко, из цели вычитают $\beta \cdot \mathrm{KL}(\pi_\theta \,\|\, \pi_\text{ref})$. Точный KL — сумма по всему словарю; у LLM это сто тысяч слагаемых на каждый токен. Поэтому его оценивают по одному сэмплированному токену:

- $k_1 = \log\pi_\theta - \log\pi_\text{ref}$,
- $k_3 = e^{d} - d - 1$, где $d = \log\pi_\text{ref} - \log\pi_\theta$.

Возьмём словарь из трёх токенов: политика (0.7, 0.2, 0.1), референс (0.3, 0.3, 0.4).

**Предсказание.** Может ли $k_1$ на отдельном токене быть отрицательным? А $k_3$? У какой оценки меньше разброс?
"""

# %% [markdown] tags=["en"]
r"""
## 8. KL: k1, k3 and the exact value

To keep the policy from going too far from the base model (the **reference**), $\beta \cdot \mathrm{KL}(\pi_\theta \,\|\, \pi_\text{ref})$ is subtracted from the objective. The exact KL is a sum over the vocabulary, a hundred thousand terms a token for an LLM. So it is estimated from the one token that was sampled:

- $k_1 = \log\pi_\theta - \log\pi_\text{ref}$,
- $k_3 = e^{d} - d - 1$ with $d = \log\pi_\text{ref} - \log\pi_\theta$.

Take a vocabulary of three tokens: policy (0.7, 0.2, 0.1), reference (0.3, 0.3, 0.4).

**Prediction.** Can $k_1$ be negative at a single token? Can $k_3$? Which estimate has the smaller spread?
"""

# %%
p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
exact = (p * (p / q).log()).sum()
k3 = grpo.kl_k3(p.log(), q.log())                       # at each of the three tokens
torch.testing.assert_close((p * k3).sum(), exact)       # its expectation under the policy is the exact KL
assert round(exact.item(), 4) == 0.3734

tokens = torch.multinomial(p, 2000 * 32, replacement=True, generator=rng).view(2000, 32)
tables.kl_estimates(p, q, tokens)

# %%
figures.kl_estimates(p, q, tokens)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

$k_1$ отрицателен там, где референс увереннее политики. $k_3$ — никогда: кривая $e^d$ лежит над своей касательной $1 + d$, а $k_3$ — это зазор между ними (слева). В среднем обе оценки дают точный KL, потому что среднее $e^d$ по политике — это сумма вероятностей референса, то есть 1.

Разброс здесь меньше у $k_3$ (справа): среднее по батчу из 32 токенов ближе к штриховой линии. Так бывает, пока модели близки. Если референс часто выбирает токен, который у политики почти невозможен, $e^d$ становится огромным, и $k_3$ даёт редкие, но большие выбросы.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

$k_1$ is negative where the reference is surer than the policy. $k_3$ never is: the curve $e^d$ lies above its tangent $1 + d$, and $k_3$ is the gap between them (left). On average both give the exact KL, since the mean of $e^d$ under the policy is the sum of the reference's probabilities, that is, 1.

The spread is smaller for $k_3$ here (right): the mean of a batch of 32 tokens lies closer to the dashed line. So it is while the models are near each other. Where the reference often picks a token that is all but impossible for the policy, $e^d$ becomes huge, and $k_3$ has rare but large outliers.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 9. Усреднение: по ответам или по токенам

У каждого токена есть своя цель, а loss — одно число. Как их сложить?

- `grpo` — сначала среднее внутри ответа, потом по ответам;
- `dapo` — среднее сразу по всем токенам батча;
- `dr_grpo` — сумма токенов, делённая на константу (здесь $N \cdot 10$).

**Предсказание.** В батче два ответа: из 3 токенов и из 8. Сколько весит токен каждого при каждом способе? При каком из них длинная ошибка наказывается мягче короткой?
"""

# %% [markdown] tags=["en"]
r"""
## 9. Averaging: over answers or over tokens

Every token has an objective of its own, and the loss is one number. How are they added up?

- `grpo`: the mean within an answer first, then over answers;
- `dapo`: the mean over all tokens of the batch at once;
- `dr_grpo`: the sum over tokens divided by a constant (here $N \cdot 10$).

**Prediction.** A batch has two answers, one of 3 tokens and one of 8. What does a token of each weigh under each way? Under which is a long mistake punished more mildly than a short one?
"""

# %%
figures.weights([3, 8])

# %%
source(grpo.token_weights)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

В `grpo` оба ответа весят по 1/2, и токен длинного весит 1/16 против 1/6. Поэтому длинная ошибка обходится модели дешевле: на каждый токен приходится меньше наказания, и ошибкам выгодно удлиняться. В `dapo` и `dr_grpo` все токены равны, а длинный ответ в целом весит больше. Разница между ними в том, что делитель `dapo` зависит от длин в батче, а у `dr_grpo` он постоянный.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Under `grpo` both answers weigh 1/2, and a token of the long one 1/16 against 1/6. So a long mistake is cheaper for the model: there is less punishment a token, and it pays mistakes to grow longer. Under `dapo` and `dr_grpo` all tokens are equal, and a long answer weighs more in total. They differ in the divisor: that of `dapo` depends on the lengths in the batch, that of `dr_grpo` is constant.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 10. При ratio = 1 это REINFORCE

Пока $\rho = 1$, производная $\rho A$ по параметрам равна $A \cdot \nabla \log\pi$ — это REINFORCE с преимуществом вместо награды.

**Предсказание.** Совпадут ли значения двух целей, клиппированной и $A \cdot \log\pi$? А градиенты?
"""

# %% [markdown] tags=["en"]
r"""
## 10. At ratio = 1 this is REINFORCE

While $\rho = 1$, the derivative of $\rho A$ by the parameters is $A \cdot \nabla \log\pi$, which is REINFORCE with the advantage in place of the reward.

**Prediction.** Will the values of the two objectives, the clipped one and $A \cdot \log\pi$, be equal? And their gradients?
"""

# %%
advantages = grpo.group_advantages(batch.rewards).flatten()   # [N]
weights = grpo.token_weights(mask, "grpo")                    # [N, T]


def value_and_gradient(objective):
    logp, _ = policy.token_logprobs(learner, batch.prompts, answers)
    total = (objective(logp) * weights).sum()
    return total.item(), torch.cat([g.flatten() for g in torch.autograd.grad(total, learner.parameters())])


learner = copy.deepcopy(base)
clipped = value_and_gradient(lambda logp: grpo.clipped_objective(logp, logp.detach(), advantages))
reinforce = value_and_gradient(lambda logp: advantages[:, None] * logp)
distance = (clipped[1] - reinforce[1]).norm() / reinforce[1].norm()
assert distance < 1e-5
assert abs(clipped[0]) < 1e-6
assert reinforce[1].norm() > 0.1
table(["", "`clipped_objective`", "`A * logp`"],
      [[tr(en="value", ru="значение"), f"{clipped[0]:.0e}", f"{reinforce[0]:.4f}"],
       [tr(en="norm of the gradient", ru="норма градиента"), f"{clipped[1].norm():.4f}", f"{reinforce[1].norm():.4f}"],
       [tr(en="relative distance of the gradients", ru="относительное расстояние градиентов"), "", f"{distance:.0e}"]])

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Значения разные, градиенты одинаковые. Клиппированная цель при $\rho = 1$ — это взвешенное среднее преимуществ, а их сумма в каждой группе равна нулю. Поэтому **loss около нуля** — норма для GRPO, и следить надо за наградой, а не за loss.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

The values differ, the gradients do not. The clipped objective at $\rho = 1$ is a weighted mean of advantages, and these sum to zero in each group. So a **loss near zero** is normal for GRPO, and what to watch is the reward, not the loss.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 11. Шаг целиком

Все части у нас есть. Цель батча:

$$\mathcal{J} = \sum_{i=1}^{N} \sum_{t} w_{i,t} \Big( \min\big(\rho_{i,t} A_i,\ \operatorname{clip}(\rho_{i,t}, 1-\varepsilon_\text{low}, 1+\varepsilon_\text{high}) A_i\big) - \beta\, k_{3,i,t} \Big)$$
"""

# %% [markdown] tags=["en"]
r"""
## 11. The whole step

We have all the parts. The objective of a batch:

$$\mathcal{J} = \sum_{i=1}^{N} \sum_{t} w_{i,t} \Big( \min\big(\rho_{i,t} A_i,\ \operatorname{clip}(\rho_{i,t}, 1-\varepsilon_\text{low}, 1+\varepsilon_\text{high}) A_i\big) - \beta\, k_{3,i,t} \Big)$$
"""

# %%
source(grpo.grpo_step)

# %% [markdown] tags=["ru"]
r"""
| строка | формула | раздел |
|---|---|---|
| `group_advantages(batch.rewards)` | $A_i = (r_i - \operatorname{mean}) / (\operatorname{std} + 10^{-4})$ | 3 |
| `answer_mask(…)` | 1 на токенах ответа, 0 на паддинге | 5 |
| `token_weights(mask, loss)` | $w_{i,t}$; в `grpo` это $1 / (N \lvert o_i \rvert)$ | 9 |
| `reference_logprobs(…)` | $\log\pi_\text{ref}(o_{i,t})$, без градиента | 8 |
| `token_logprobs(policy, …)` | $\log\pi_\theta(o_{i,t})$, с градиентом | 6 |
| `kl_k3(logp, logp_ref[rows])` | $k_{3,i,t} = e^d - d - 1$ | 8 |
| `clipped_objective(…)` | $\min(\rho A,\ \operatorname{clip}(\rho) A)$ | 7 |
| `-((surrogate - beta * kl) * weights[rows]).sum()` | $-\mathcal{J}$ | 11 |
| `add_gradients(…)`, `optimizer.step()` | $\nabla_\theta$ и шаг Adam | |

Зачем здесь половины: $\mathcal{J}$ — сумма по токенам, поэтому `add_gradients` считает две половины батча одновременно на двух ядрах и складывает их градиенты, так же, как это делают с целыми GPU.
"""

# %% [markdown] tags=["en"]
r"""
| line | formula | section |
|---|---|---|
| `group_advantages(batch.rewards)` | $A_i = (r_i - \operatorname{mean}) / (\operatorname{std} + 10^{-4})$ | 3 |
| `answer_mask(…)` | 1 on answer tokens, 0 on padding | 5 |
| `token_weights(mask, loss)` | $w_{i,t}$; under `grpo` it is $1 / (N \lvert o_i \rvert)$ | 9 |
| `reference_logprobs(…)` | $\log\pi_\text{ref}(o_{i,t})$, no gradient | 8 |
| `token_logprobs(policy, …)` | $\log\pi_\theta(o_{i,t})$, with a gradient | 6 |
| `kl_k3(logp, logp_ref[rows])` | $k_{3,i,t} = e^d - d - 1$ | 8 |
| `clipped_objective(…)` | $\min(\rho A,\ \operatorname{clip}(\rho) A)$ | 7 |
| `-((surrogate - beta * kl) * weights[rows]).sum()` | $-\mathcal{J}$ | 11 |
| `add_gradients(…)`, `optimizer.step()` | $\nabla_\theta$ and a step of Adam | |

Why the halves: $\mathcal{J}$ is a sum over tokens, so `add_gradients` works on two halves of the batch at the same time, on two cores, and adds their gradients, just as is done with whole GPUs.
"""

# %% [markdown] tags=["ru"]
r"""
## 12. Один шаг руками

**Предсказание.** После одного шага на нашем батче посчитаем log-вероятности тех же ответов ещё раз. Как они изменятся при $A > 0$ и при $A < 0$? А в вырожденных группах, где $A = 0$?
"""

# %% [markdown] tags=["en"]
r"""
## 12. One step by hand

**Prediction.** After one step on our batch we compute the log-probabilities of the same answers again. How will they change where $A > 0$ and where $A < 0$? And in degenerate groups, where $A = 0$?
"""

# %%
learner = copy.deepcopy(base)
optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3)
row = grpo.grpo_step(learner, base, optimizer, batch, beta=0.02)
print({name: round(value, 4) for name, value in row.items()})

with torch.no_grad():
    logp_after, _ = policy.token_logprobs(learner, batch.prompts, answers)
change = ((logp_after - logp) * mask).sum(1)   # [N]
assert change[advantages > 0].mean() > change[advantages == 0].mean() > change[advantages < 0].mean()
assert change[advantages > 0].mean() > 0 > change[advantages < 0].mean()
assert change[advantages == 0].mean() < 0
assert task.has_steps(answers, lengths)[advantages == 0].float().mean() < 0.5   # mostly guesses
figures.step_effect(advantages, change)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Верные ответы стали в среднем вероятнее, неверные — менее вероятны. Ответы вырожденных групп сами ничего не просили, но тоже сдвинулись: веса у всех общие, и то, чему научили другие группы, переносится и на них. В большинстве эти ответы — догадки, а догадки шаг сделал менее вероятными.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Right answers have become likelier on average, wrong ones less likely. The answers of degenerate groups asked for nothing themselves, but they moved too: all share the same weights, and what the other groups taught carries over to them. Most of these answers are guesses, and the step made guesses less likely.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 13. 150 шагов

**Предсказание.** Нарисуйте на бумаге три кривые: награду, длину ответа и долю ответов с шагами. Откуда они начнут, где остановятся, какая поднимется первой? За длину и за шаги по-прежнему не платят.
"""

# %% [markdown] tags=["en"]
r"""
## 13. 150 steps

**Prediction.** Draw three curves on paper: the reward, the answer length and the share of answers with steps. Where do they begin, where do they stop, which rises first? Length and steps are still not paid for.
"""

# %%
run = Run(Settings(p_cot=0.3, beta=0.02, seed=0), base=base)
rows = list(bar(run, "GRPO", total=run.settings.steps + 1))
curves({"": rows})

# %%
names = ("reward", "completions/mean_length", "cot", "kl")
early = sum(row["reward"] for row in rows[26:51]) / 25
assert early > (rows[0]["reward"] + rows[-1]["reward"]) / 2   # most of the growth comes early
table([label("step"), 0, 150], [[label(name), f"{rows[0][name]:.2f}", f"{rows[-1][name]:.2f}"] for name in names])

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Все три поднимаются вместе, быстро за первые 25–50 шагов, потом идёт плато с шумом. Награду тянет вверх доля шагов: ответы с шагами верны чаще, получают положительное преимущество и становятся вероятнее, а длина растёт, потому что такие ответы длиннее. Это кривые R1-Zero в миниатюре.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

All three rise together, fast in the first 25 to 50 steps, then comes a noisy plateau. The reward is pulled up by the share of steps: answers with steps are right more often, get a positive advantage and become likelier, and the length grows because such answers are longer. These are the curves of R1-Zero in miniature.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Ещё три кривые, на которые смотрят в любом RL: как далеко политика от базы, насколько разнообразны её ответы и сколько групп пропало зря.
"""

# %% [markdown] tags=["en"]
r"""
Three more curves that one watches in any RL: how far the policy is from the base, how varied its answers are, and how many groups were wasted.
"""

# %%
curves({"": rows}, ["kl", "entropy", "frac_reward_zero_std"])

# %% [markdown] tags=["ru"]
r"""
Одиночные пики KL — это выбросы $k_3$ из раздела 8: один токен, почти невозможный у политики и обычный у базы, весит больше всех остальных вместе. Сама политика в этот момент никуда не прыгает. Энтропия падает вместе с догадками: выбирать между 37 числами больше не нужно.
"""

# %% [markdown] tags=["en"]
r"""
Single peaks of KL are the outliers of $k_3$ from section 8: one token, all but impossible for the policy and common for the base, outweighs all the others together. The policy itself does not jump at that moment. Entropy falls along with guessing: there is no longer a choice between 37 numbers.
"""

# %% [markdown] tags=["ru"]
r"""
## 14. Что такое «затачивание»

**Предсказание.** pass@1 вырос в несколько раз. Во сколько раз вырос pass@8? Сколько разных ответов теперь среди восьми?
"""

# %% [markdown] tags=["en"]
r"""
## 14. What 'sharpening' means

**Prediction.** pass@1 has grown several times over. By what factor has pass@8 grown? How many different answers are there now among eight?
"""

# %%
before, after = evaluate(run.base, samples=64), evaluate(run.policy, samples=64)
BEFORE, AFTER = tr(en="before", ru="до"), tr(en="after", ru="после")
assert after.pass1 > 3 * before.pass1
assert after.passk < 1.6 * before.passk
assert after.distinct < 0.7 * before.distinct
tables.evaluations({BEFORE: before, AFTER: after})

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** А если дать базовой модели 64 попытки — догонит она обученную?
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** And if the base model is given 64 tries, will it catch up with the trained one?
"""

# %%
def answered(model, n=400, samples=64):
    rng = torch.Generator().manual_seed(123)
    digits = task.random_digits(n, rng)
    answers = policy.sample(model, task.prompt_tokens(digits), samples, rng)
    rewards = reward.rule_rewards(digits.repeat_interleave(samples, 0), answers.tokens, answers.lengths)
    return rewards, task.has_steps(answers.tokens, answers.lengths), answers.lengths


def pass_curve(rewards, samples=64, ks=(1, 2, 4, 8, 16, 32, 64)):
    right = rewards.view(-1, samples).sum(1).int().tolist()
    return {k: sum(pass_at_k(samples, c, k) for c in right) / len(right) for k in ks}


base_answers, policy_answers = answered(run.base), answered(run.policy)
passes = {BEFORE: pass_curve(base_answers[0]), AFTER: pass_curve(policy_answers[0])}
assert passes[BEFORE][64] > 0.95
figures.pass_at_k(passes)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Почти. Чем больше попыток, тем меньше разница: то, что обученная модель делает с первого раза, база тоже умела, но изредка. RL переложил вероятность на верный путь — за счёт разнообразия: среди восьми ответов разных стало примерно вдвое меньше. Это и есть **затачивание**.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Nearly. The more tries, the smaller the difference: what the trained model does at the first try, the base could do too, now and then. RL moved probability onto the right way, at the price of variety: among eight answers about half as many differ. This is **sharpening**.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Научилась ли модель при этом лучше складывать? Разделим ответы на две кучи, как в уроке 01.
"""

# %% [markdown] tags=["en"]
r"""
Has the model learned to add better, too? Let us part the answers in two heaps, as in lesson 01.
"""

# %%
display(tables.by_steps(*base_answers), tables.by_steps(*policy_answers))

# %%
rewards, steps, _ = base_answers
only_share = after.cot * rewards[steps].mean() + (1 - after.cot) * rewards[~steps].mean()
assert before.pass1 + 0.7 * (after.pass1 - before.pass1) < only_share <= after.pass1 + 0.02
print(f"pass@1: {before.pass1:.2f} → {after.pass1:.2f}")
print(tr(en="steps and guesses as good as before, in the new proportion:", ru="шаги и догадки прежнего качества в новой пропорции:"),
      f"{only_share:.2f}")

# %% [markdown] tags=["ru"]
r"""
Первая таблица — до, вторая — после. Если взять шаги и догадки базовой модели с их прежней точностью и только смешать в новой пропорции, pass@1 был бы почти таким же, как у обученной. Значит, рост дала прежде всего доля ответов с шагами, а складывать в каждом из них модель стала лишь немного точнее.

Те же промпты и те же кубики, до и после:
"""

# %% [markdown] tags=["en"]
r"""
The first table is before, the second after. Take the base model's steps and guesses with the accuracy that they had, mix them in the new proportion, and pass@1 would be almost that of the trained model. So the growth came first of all from the share of answers with steps, while within each of them the model adds only a little better.

The same prompts and the same dice, before and after:
"""

# %%
prompts = task.prompt_tokens(task.random_digits(6, torch.Generator().manual_seed(4)))
for model in (run.base, run.policy):
    found = policy.sample(model, prompts, 6, torch.Generator().manual_seed(4))
    display(tables.samples(prompts, found.tokens.view(6, 6, -1), found.lengths.view(6, 6)))

# %% [markdown] tags=["ru"]
r"""
Всё это — один запуск с одним сидом, то есть история, а не результат. Насколько разойдутся другие сиды и какие настройки на самом деле лучше, покажет урок 03: там средние с интервалами.
"""

# %% [markdown] tags=["en"]
r"""
All this is one run with one seed, an anecdote and not a result. How far other seeds part, and which settings are really better, is the matter of lesson 03, with means and intervals.
"""

# %% [markdown] tags=["ru"]
r"""
## Проверьте себя

Пять вопросов. Ответ проверяется сразу, пробовать можно сколько угодно раз.
"""

# %% [markdown] tags=["en"]
r"""
## Test yourself

Five questions. Each answer is checked at once, and you may try as often as you like.
"""

# %%
show_quiz("02")

# %% [markdown] tags=["ru"]
r"""
## Что дальше

[03. Эксперименты](03_experiments.ipynb): те же 150 шагов под слайдерами — p_cot, beta, размер группы, штраф за длину — и таблица с интервалами по сидам. То же обучение из командной строки: `python -m lib.toy --plot`.
"""

# %% [markdown] tags=["en"]
r"""
## What next

[03. Experiments](03_experiments.ipynb): the same 150 steps under sliders (p_cot, beta, group size, length penalty), and a table with intervals over seeds. The same training from the command line: `python -m lib.toy --plot`.
"""
