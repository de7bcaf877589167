# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
"""
# 03. Эксперименты: что решает, научится ли модель рассуждать

**После урока вы сможете**

- предсказать, что сделают с обучением доля рассуждений в корпусе, KL-коэффициент, размер группы, усреднение и штраф за длину — и проверить себя за несколько секунд;
- отличить вывод от случайности: один сид — это история, среднее с интервалом — результат;
- объяснить на числах, почему RL не изобретает поведения, которого в базе нет.

Время: 35–40 минут. Нужны уроки 01 (модель и награда) и 02 (шаг GRPO).
"""

# %% [markdown] tags=["en"]
"""
# 03. Experiments: what decides whether the model learns to reason

**After this lesson you will be able to**

- predict what the share of reasoning in the corpus, the KL coefficient, the group size, the averaging and a length penalty do to training, and check yourself within seconds;
- tell a result from luck: one seed is an anecdote, a mean with its interval is a result;
- explain with numbers why RL does not invent a behaviour that the base lacks.

Time: 35–40 minutes. You need lessons 01 (the model and the reward) and 02 (the GRPO step).
"""

# %% tags=["ru"]
import os

os.environ["COURSE_LANG"] = "ru"

# %% tags=["en"]
import os

os.environ["COURSE_LANG"] = "en"

# %%
from lib.runlog.plot import curves
from lib.toy import table
from lib.toy.base import load_base
from lib.toy.evaluate import evaluate
from lib.toy.experiment import Settings, finish_all
from lib.ui.experiments import anecdotes, frame, stepwise_odds, trend
from lib.ui.panel import Panel
from lib.ui.quiz import show_quiz

# %% [markdown] tags=["ru"]
"""
## 1. Панель: весь GRPO под вашими руками

Любой слайдер запускает обучение заново: от готовой базовой модели, 150 шагов, по 32 промпта на шаг. Кривые рисуются по ходу дела, новое движение отменяет идущий запуск. «Закрепить» оставляет кривую для сравнения.

Сначала запишите предсказания, потом двигайте:

1. `p_cot = 0.05`: рассуждений в корпусе в шесть раз меньше. Модель начнёт рассуждать? А складывать так же хорошо?
2. `p_cot = 0`: ни одного решения по шагам. Что будет с долей CoT?
3. `beta = 1`: за уход от базы дорого платят. Какая кривая изменится сильнее всего?
4. `G = 2`: вчетверо меньше ответов на шаг. Что станет с шумом кривой награды?
5. `штраф за длину = 4`: короткий ответ ценится. Что выберет модель: складывать или угадывать?
"""

# %% [markdown] tags=["en"]
"""
## 1. The panel: all of GRPO under your hands

Every slider starts the training anew: from the shipped base model, 150 steps, 32 prompts a step. The curves are drawn as they come, a new move cancels the run under way. 'Pin' keeps a curve to compare with.

Write down your predictions first, then move:

1. `p_cot = 0.05`: six times less reasoning in the corpus. Will the model begin to reason? And add just as well?
2. `p_cot = 0`: not one step-by-step answer. What will the CoT share do?
3. `beta = 1`: leaving the base is made expensive. Which curve will change most?
4. `G = 2`: a quarter of the answers a step. What becomes of the noise in the reward?
5. `length penalty = 4`: a short answer is worth something. What will the model choose, to add or to guess?
"""

# %%
Panel()

# %% [markdown] tags=["ru"]
"""
<details><summary>Что вы должны были увидеть</summary>

1. Доля CoT доходит почти до 0.9, а награда — примерно до 0.3: рассуждать модель начинает, но складывает плохо, ведь хороших примеров она видела мало.
2. Доля CoT остаётся нулём до конца. Почему — в разделе 6.
3. KL: он прижат к нулю, и вместе с ним почти стоят на месте остальные кривые.
4. Шум вырастает, обучение идёт медленнее: половина групп и больше вырождена.
5. Длина падает, доля CoT уходит к нулю: модель снова угадывает. При каком весе это начинается — в разделе 5.
</details>
"""

# %% [markdown] tags=["en"]
"""
<details><summary>What you should have seen</summary>

1. The CoT share climbs to nearly 0.9 but the reward only to about 0.3: the model begins to reason, yet adds badly, since it has seen few good examples.
2. The CoT share stays at zero to the end. Section 6 says why.
3. KL: it is pressed to zero, and the other curves hardly move with it.
4. More noise and slower learning: half of the groups or more are degenerate.
5. The length falls and the CoT share goes to zero: the model guesses again. Section 5 finds the weight at which that begins.
</details>
"""

# %% [markdown] tags=["ru"]
"""
## 2. Один сид — это история

Вы наверняка заметили: с другим сидом кривая другая. Насколько другая? Каждый эксперимент ниже повторён целиком на пяти сидах: своя базовая модель, свой запуск GRPO. Число после ± — половина 95 % интервала для среднего (распределение Стьюдента, n = 5). Оценка — 400 промптов по 8 ответов.

Таблицу можно пересчитать командой `python -m lib.toy.table`; здесь она читается из файла, который эта команда записала.
"""

# %% [markdown] tags=["en"]
"""
## 2. One seed is an anecdote

You will have noticed that another seed gives another curve. How different? Each experiment below was repeated whole over five seeds: its own base model, its own GRPO run. The number after ± is half of the 95 % interval of the mean (Student's t, n = 5). Each evaluation is 400 prompts x 8 answers.

`python -m lib.toy.table` makes the table again; here it is read from the file which that command wrote.
"""

# %%
frame(["default", "p_cot=0.05", "p_cot=0", "G=2"])

# %% [markdown] tags=["ru"]
"""
**Предсказание.** Одиночный запуск с `G = 2` дал pass@1 = 0.53, и это число легко процитировать как «результат для группы из двух». Где оно окажется относительно пяти сидов?
"""

# %% [markdown] tags=["en"]
"""
**Prediction.** A single run with `G = 2` gave pass@1 = 0.53, a figure easily quoted as 'the result for a group of two'. Where will it lie among five seeds?
"""

# %%
anecdotes()

# %%
g2 = table.interval("G=2", lambda run: run["after"]["pass1"])
g8 = table.interval("default", lambda run: run["after"]["pass1"])
print(f"G=2: {g2}   G=8: {g8}")
assert g2.mean + g2.error < g8.mean - g8.error   # the conclusion holds for the intervals, not for one lucky pair of runs

# %% [markdown] tags=["ru"]
"""
Вывод «группа из двух учится хуже» интервалы подтверждают, а само число 0.53 — удача: среднее заметно ниже, и разброс между сидами у `G = 2` больше, чем у `G = 8`. Так же широк он у слабой базы с `p_cot = 0.05`. Поэтому правило курса: сравнивать средние с интервалами и всегда указывать n.

Сколько стоит этот урок в настоящем RL? Там один запуск — дни на GPU, и сидов почти никогда нет. Тем осторожнее стоит читать «наш метод лучше на два пункта».
"""

# %% [markdown] tags=["en"]
"""
That 'a group of two learns worse' the intervals confirm; the figure 0.53 itself was luck: the mean lies clearly lower, and the seeds of `G = 2` differ from each other more than those of `G = 8`. The weak base with `p_cot = 0.05` varies as widely. Hence the rule of this course: compare means with intervals, and always state n.

What does that lesson cost in real RL? There a run takes GPU-days and there are hardly ever several seeds. Read 'our method is two points better' all the more carefully.
"""

# %% [markdown] tags=["ru"]
"""
## 3. Beta: цена ухода от базы

**Предсказание.** Что изменится при `beta = 0` и при `beta = 0.2`: KL, скорость роста награды, разнообразие ответов? Запустим все три варианта с одним сидом и посмотрим на кривые, потом — на средние.
"""

# %% [markdown] tags=["en"]
"""
## 3. Beta: the price of leaving the base

**Prediction.** What changes with `beta = 0` and with `beta = 0.2`: KL, how fast the reward grows, the variety of answers? First the curves of all three with one seed, then the means.
"""

# %%
runs = finish_all({f"beta = {beta}": Settings(beta=beta) for beta in (0.0, 0.02, 0.2)})
curves({name: result.rows for name, result in runs.items()}, ["reward", "kl", "entropy"])

# %%
frame(["beta=0", "default", "beta=0.2"])

# %% [markdown] tags=["ru"]
"""
- **KL.** Чем больше `beta`, тем ближе политика к базе. При `beta = 0` KL ничем не удержан: у части сидов он вырастает в разы, отсюда широкий интервал.
- **Скорость.** При `beta = 0.2` награда растёт медленнее и останавливается ниже: политика платит за каждый токен, на котором уверена больше базы. А между 0 и 0.02 разницы в награде за 150 шагов не видно.
- **Разнообразие.** Сколько разных ответов среди восьми — последняя колонка перед KL. Большой `beta` сохраняет разнообразие базы, в том числе её ответы «с потолка».

Поэтому DAPO и многие за ним ставят `beta = 0`: при проверяемой награде цена ухода от базы мала, а вторая модель в памяти не нужна. Но «KL ничем не удержан» видно и здесь: на длинных запусках за ним надо следить.
"""

# %% [markdown] tags=["en"]
"""
- **KL.** The larger `beta`, the closer the policy stays to the base. With `beta = 0` nothing holds KL: with some seeds it grows several times over, hence the wide interval.
- **Speed.** With `beta = 0.2` the reward grows more slowly and stops lower: the policy pays for every token of which it is surer than the base. Between 0 and 0.02 no difference in reward shows after 150 steps.
- **Variety.** How many of eight answers differ is the last column before KL. A large `beta` keeps the base's variety, its blind guesses included.

That is why DAPO and many after it set `beta = 0`: with a verifiable reward, leaving the base costs little, and no second model has to be kept in memory. Yet 'nothing holds KL' shows here too: on long runs it has to be watched.
"""

# %% [markdown] tags=["ru"]
"""
## 4. Усреднение: по ответам или по токенам

`loss="grpo"` делит на длину каждого ответа: токен длинного ответа весит меньше. `loss="dapo"` делит на число токенов во всей порции, `loss="dr_grpo"` — на постоянную: там все токены весят одинаково, и длинный ответ в сумме весит больше короткого.

**Предсказание.** Как это скажется на длине ответов, если верные ответы здесь — длинные?
"""

# %% [markdown] tags=["en"]
"""
## 4. Averaging: over answers or over tokens

`loss="grpo"` divides by the length of each answer: a token of a long answer weighs less. `loss="dapo"` divides by the count of tokens in the whole batch and `loss="dr_grpo"` by a constant: there all tokens weigh the same, and a long answer weighs more in total than a short one.

**Prediction.** What will that do to the length of answers, given that the right answers here are the long ones?
"""

# %%
runs = finish_all({loss: Settings(loss=loss) for loss in ("grpo", "dapo", "dr_grpo")})
curves({name: result.rows for name, result in runs.items()})

# %%
frame(["default", "loss=dapo", "loss=dr_grpo"])

# %%
for name in ("default", "loss=dapo", "loss=dr_grpo"):
    print(f"{name:13} {table.interval(name, lambda run: run['after']['length'])}")

# %% [markdown] tags=["ru"]
"""
Сравните интервалы длины. Здесь длина упирается в саму задачу: верное рассуждение — это 6–9 токенов, дальше расти некуда, и три способа приводят почти в одну точку. Разница видна там, где ответы в порции очень разной длины и длинные бывают неверными: при усреднении по ответам длинный неверный ответ наказан на каждый токен слабее, и модель может удлинять свои ошибки. Об этом — статьи DAPO и Dr. GRPO. Честный вывод из нашего опыта: на этой задаче выбор усреднения за пределы шума не выходит.
"""

# %% [markdown] tags=["en"]
"""
Compare the intervals of the length. Here the task itself bounds it: a right chain of steps has 6 to 9 tokens, there is nowhere further to grow, and the three ways end nearly in one point. They differ where a batch holds answers of very different lengths and long ones may be wrong: with averaging over answers, a long wrong answer is punished less a token, and a model may make its mistakes longer. That is what DAPO and Dr. GRPO are about. The honest conclusion from our experiment: on this task the choice of averaging does not stand out from the noise.
"""

# %% [markdown] tags=["ru"]
"""
## 5. Штраф за длину: когда снова выгодно угадывать

Kimi k1.5 добавляет к награде $w \\cdot \\lambda$, где $\\lambda$ идёт от +0.5 у самого короткого ответа группы до −0.5 у самого длинного, а неверному ответу положительное $\\lambda$ не платят.

**Предсказание на бумаге.** Рассуждение верно с вероятностью около 0.65 и длиннее всех в группе: в среднем $0.65 - 0.5w$. Угаданный ответ верен с вероятностью 1/37 и короче всех: награда около нуля. При каком $w$ они сравняются?
"""

# %% [markdown] tags=["en"]
"""
## 5. A length penalty: when guessing pays again

Kimi k1.5 adds $w \\cdot \\lambda$ to the reward, where $\\lambda$ goes from +0.5 for the shortest answer of a group to −0.5 for the longest, and a wrong answer is never paid a positive $\\lambda$.

**Prediction on paper.** A chain of steps is right with a probability of about 0.65 and is the longest of its group: on average $0.65 - 0.5w$. A guess is right with probability 1/37 and is the shortest: a reward of about zero. At which $w$ do they break even?
"""

# %%
weights = [0, 0.25, 0.5, 1, 2, 4]
names = ["default", *(f"length_penalty={w:g}" for w in weights[1:])]
trend(weights, names, {"pass@1": lambda run: run["after"]["pass1"], "CoT": lambda run: run["after"]["cot"],
                       "tokens": lambda run: run["after"]["length"]}, "length_penalty")

# %%
frame(names)

# %% [markdown] tags=["ru"]
"""
PLACEHOLDER
"""

# %% [markdown] tags=["en"]
"""
PLACEHOLDER
"""

# %% [markdown] tags=["ru"]
"""
## 6. Почему RL не изобретает

Строка `p_cot = 0` — самая важная в таблице. Ответы модель улучшила (в базе pass@1 около 0.02, после — около 0.1), а рассуждать не начала ни с одним сидом. Посмотрим, сколько попыток ей понадобилось бы, чтобы хоть раз случайно написать верное решение по шагам. Вероятность такого ответа мы знаем точно: это произведение вероятностей его токенов.

**Предсказание.** За запуск модель сэмплирует 151 · 256 = 38 656 ответов. Хватит ли этого базе с `p_cot = 0`? А с `p_cot = 0.01`?
"""

# %% [markdown] tags=["en"]
"""
## 6. Why RL does not invent

The row `p_cot = 0` is the most important of the table. The model improved its answers (pass@1 is about 0.02 in the base and about 0.1 after), but with no seed did it begin to reason. How many attempts would it need to write a right chain of steps once by chance? We know the probability of such an answer exactly: it is the product of its tokens' probabilities.

**Prediction.** In a run the model samples 151 · 256 = 38 656 answers. Is that enough for the base with `p_cot = 0`? And with `p_cot = 0.01`?
"""

# %%
sampled = (Settings().steps + 1) * Settings().B * Settings().G
print(f"{sampled = }")
for p_cot in (0, 0.01, 0.02, 0.05, 0.3):
    odds = stepwise_odds(load_base(p_cot))
    print(f"p_cot = {p_cot:<5}  p = {odds:.1e}   1 / p = {1 / odds:,.0f}")

# %% [markdown] tags=["ru"]
"""
При `p_cot = 0` запятая после числа — событие почти невероятное, а таких запятых нужно две подряд, да ещё с верными суммами. Группа из восьми ответов этого никогда не покажет, и преимущество нечему присвоить: градиент GRPO усиливает только то, что было сэмплировано. Уже при одном проценте рассуждений они попадаются, и RL может за них зацепиться. Запустим.
"""

# %% [markdown] tags=["en"]
"""
With `p_cot = 0` a comma after a number is next to impossible, and it takes two of them in a row, with the right sums besides. A group of eight answers will never show it, and there is nothing to give an advantage to: the gradient of GRPO strengthens only what was sampled. With one per cent of reasoning such answers do turn up, and RL can take hold of them. Let us run it.
"""

# %%
runs = finish_all({f"p_cot = {p:g}": Settings(p_cot=p) for p in (0.0, 0.01, 0.02, 0.05)})
curves({name: result.rows for name, result in runs.items()})

# %%
for name, result in runs.items():
    print(f"{name:13} {result.after}")
assert runs["p_cot = 0"].after.cot == 0

# %% [markdown] tags=["ru"]
"""
Это игрушечная версия того, что авторы TinyZero увидели на Qwen2.5-0.5B-Base, а LeapLab — на больших моделях: сила RL ограничена силой базы. Отсюда и практика: сначала дать модели зачаток поведения (холодный старт в DeepSeek-R1, Instruct-модель, более лёгкие задачи), потом включать RL.

Сколько рассуждений в корпусе достаточно? Передвиньте `p_cot` на панели от 0.01 до 1 и посмотрите на две вещи порознь: *начинает ли* модель рассуждать и *насколько верны* её шаги. Первому хватает крохи, второму нужны примеры.
"""

# %% [markdown] tags=["en"]
"""
This is the toy version of what the authors of TinyZero saw with Qwen2.5-0.5B-Base, and LeapLab with large models: the strength of RL is bounded by the strength of the base. Hence the practice: first give the model a seed of the behaviour (the cold start of DeepSeek-R1, an Instruct model, easier tasks), then switch RL on.

How much reasoning in the corpus is enough? Move `p_cot` on the panel from 0.01 to 1 and watch two things apart: *whether* the model begins to reason, and *how right* its steps are. A crumb is enough for the first, the second needs examples.
"""

# %% [markdown] tags=["ru"]
"""
## Проверь себя
"""

# %% [markdown] tags=["en"]
"""
## Check yourself
"""

# %%
show_quiz("03")

# %% [markdown] tags=["ru"]
"""
## Что дальше

- Те же опыты из командной строки: `python -m lib.toy --p-cot 0.05 --seeds 5`, `python -m lib.toy --loss dapo --dynamic-sampling --eps-high 0.28 --plot`. Все параметры — `python -m lib.toy --help`.
- Свой опыт: `--updates 4` делает несколько шагов оптимизатора на одних и тех же ответах. Тогда ratio уходит от 1 и клиппинг наконец работает: посмотрите на `clip_ratio/region_mean` в файле `--log`.
"""

# %% [markdown] tags=["en"]
"""
## What next

- The same experiments from the command line: `python -m lib.toy --p-cot 0.05 --seeds 5`, `python -m lib.toy --loss dapo --dynamic-sampling --eps-high 0.28 --plot`. All flags: `python -m lib.toy --help`.
- One of your own: `--updates 4` makes several optimizer steps on the same answers. Then the ratio leaves 1 and the clip acts at last: look at `clip_ratio/region_mean` in the `--log` file.
"""
