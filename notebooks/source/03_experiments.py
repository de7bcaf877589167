# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
r"""
# 03. Эксперименты: что решает, научится ли модель рассуждать

**После урока вы сможете**

- предсказать, что сделают с обучением доля рассуждений в корпусе, KL-коэффициент, размер группы, усреднение и штраф за длину — и проверить себя за несколько секунд;
- отличить вывод от случайности: один сид — это история, среднее с интервалом — результат;
- объяснить на числах, почему RL не изобретает поведения, которого в базе нет.

Время: 35–40 минут. Нужны уроки 01 (модель и награда) и 02 (шаг GRPO).
"""

# %% [markdown] tags=["en"]
r"""
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
from lib.i18n import tr
from lib.runlog.plot import curves
from lib.toy import table
from lib.toy.base import load_base
from lib.toy.experiment import Settings, finish_all
from lib.ui.cells import show_figures
from lib.ui.experiments import anecdotes, frame, stepwise_odds, trend
from lib.ui.panel import Panel
from lib.ui.quiz import show_quiz

show_figures()

# %% [markdown] tags=["ru"]
r"""
## 1. Панель: весь GRPO под вашими руками

Любой слайдер запускает обучение заново: от готовой базовой модели, 150 шагов, по 32 промпта на шаг. Кривые рисуются по ходу дела, новое движение отменяет идущий запуск. «Закрепить» оставляет кривую для сравнения.

Пока играете с панелью, не запускайте ячейки ниже: они займут ядро, и слайдеры замолчат. После перезапуска ядра выполните ячейки с начала.

Сначала запишите предсказания, потом двигайте:

1. `p_cot = 0.05`: рассуждений в корпусе в шесть раз меньше. Модель начнёт рассуждать? А складывать так же хорошо?
2. `p_cot = 0`: ни одного решения по шагам. Что будет с долей CoT?
3. `beta = 1`: за уход от базы дорого платят. Какая кривая изменится сильнее всего?
4. `G = 2`: вчетверо меньше ответов на шаг. Что станет с шумом кривой награды?
5. `штраф за длину = 2`: короткий ответ ценится. Что выберет модель: складывать или угадывать?
"""

# %% [markdown] tags=["en"]
r"""
## 1. The panel: all of GRPO under your hands

Every slider starts the training anew: from the shipped base model, 150 steps, 32 prompts a step. The curves are drawn as they come, a new move cancels the run under way. 'Pin' keeps a curve to compare with.

While you play, do not run the cells below: they keep the kernel busy, and the sliders fall silent. After a kernel restart, run the cells from the top.

Write down your predictions first, then move:

1. `p_cot = 0.05`: six times less reasoning in the corpus. Will the model begin to reason? And add just as well?
2. `p_cot = 0`: not one step-by-step answer. What will the CoT share do?
3. `beta = 1`: leaving the base is made expensive. Which curve will change most?
4. `G = 2`: a quarter of the answers a step. What becomes of the noise in the reward?
5. `length penalty = 2`: a short answer is worth something. What will the model choose, to add or to guess?
"""

# %%
Panel()

# %% [markdown] tags=["ru"]
r"""
<details><summary>Что вы должны были увидеть</summary>

1. Доля CoT доходит почти до 0.9, а награда — примерно до 0.3: рассуждать модель начинает, но складывает плохо, ведь хороших примеров она видела мало.
2. Доля CoT остаётся нулём до конца. Почему — в разделе 6.
3. KL: он прижат к нулю, и вместе с ним почти стоят на месте остальные кривые.
4. Шум вырастает, обучение идёт медленнее: ответов на шаг вчетверо меньше, и в большинстве групп награды равны.
5. Ни то ни другое: длина падает до единицы. Почему и при каком весе — в разделе 5.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>What you should have seen</summary>

1. The CoT share climbs to nearly 0.9 but the reward only to about 0.3: the model begins to reason, yet adds badly, since it has seen few good examples.
2. The CoT share stays at zero to the end. Section 6 says why.
3. KL: it is pressed to zero, and the other curves hardly move with it.
4. More noise and slower learning: a quarter of the answers a step, and in most groups the rewards are equal.
5. Neither: the length falls to one. Section 5 says why, and at which weight it begins.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 2. Один сид — это история

Вы наверняка заметили: с другим сидом кривая другая. Насколько другая? Каждый эксперимент ниже повторён целиком на пяти сидах: своя базовая модель, свой запуск GRPO. Число после ± — половина 95 % интервала для среднего (распределение Стьюдента, n = 5). Оценка — 400 промптов по 8 ответов.

Таблицу можно пересчитать командой `python -m lib.toy.table`; здесь она читается из файла, который эта команда записала.
"""

# %% [markdown] tags=["en"]
r"""
## 2. One seed is an anecdote

You will have noticed that another seed gives another curve. How different? Each experiment below was repeated whole over five seeds: its own base model, its own GRPO run. The number after ± is half of the 95 % interval of the mean (Student's t, n = 5). Each evaluation is 400 prompts x 8 answers.

`python -m lib.toy.table` makes the table again; here it is read from the file which that command wrote.
"""

# %%
frame(["default", "p_cot=0.05", "p_cot=0", "G=2"])

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** Одиночный запуск с `G = 2` дал pass@1 = 0.53, и это число легко процитировать как «результат для группы из двух». Где оно окажется относительно пяти сидов?
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** A single run with `G = 2` gave pass@1 = 0.53, a figure easily quoted as 'the result for a group of two'. Where will it lie among five seeds?
"""

# %%
anecdotes()

# %%
g2 = table.interval("G=2", lambda run: run["after"]["pass1"])
g8 = table.interval("default", lambda run: run["after"]["pass1"])
print(f"G=2: {g2}   G=8: {g8}")
assert g2.apart(g8) and g2.mean + g2.error < 0.53

# %% [markdown] tags=["ru"]
r"""
Вывод «группа из двух учится хуже» интервалы подтверждают: они не пересекаются. А само число 0.53 — удача, оно лежит выше всего интервала. Поэтому правило курса: сравнивать средние с интервалами и всегда указывать n.

Сколько стоила бы такая проверка в настоящем RL? Там один запуск — дни на GPU, и несколько сидов почти никогда не показывают. Тем осторожнее стоит читать «наш метод лучше на два пункта».
"""

# %% [markdown] tags=["en"]
r"""
That 'a group of two learns worse' the intervals confirm: they do not overlap. The figure 0.53 itself was luck, it lies above the whole interval. Hence the rule of this course: compare means with intervals, and always state n.

What would such a check cost in real RL? There a run takes GPU-days and there are hardly ever several seeds. Read 'our method is two points better' all the more carefully.
"""

# %% [markdown] tags=["ru"]
r"""
## 3. Beta: цена ухода от базы

**Предсказание.** Что изменится при `beta = 0` и при `beta = 0.2`: KL, скорость роста награды, разнообразие ответов? Запустим все три варианта с одним сидом и посмотрим на кривые, потом — на средние.
"""

# %% [markdown] tags=["en"]
r"""
## 3. Beta: the price of leaving the base

**Prediction.** What changes with `beta = 0` and with `beta = 0.2`: KL, how fast the reward grows, the variety of answers? First the curves of all three with one seed, then the means.
"""

# %%
runs = finish_all({f"beta = {beta}": Settings(beta=beta) for beta in (0.0, 0.02, 0.2)})
curves({name: result.rows for name, result in runs.items()}, ["reward", "kl", "entropy"])

# %%
weak, none, strong = ([table.interval(name, figure) for figure in (lambda run: run["after"]["pass1"], lambda run: run["kl"])]
                      for name in ("default", "beta=0", "beta=0.2"))
assert strong[0].apart(none[0]) and strong[1].apart(none[1])           # 0.2 against 0: lower reward, smaller KL
assert not weak[0].apart(none[0]) and not weak[1].apart(none[1])       # 0.02 against 0: nothing to tell them apart by
frame(["beta=0", "default", "beta=0.2"])

# %% [markdown] tags=["ru"]
r"""
- **KL и разнообразие.** При `beta = 0.2` политика вдвое ближе к базе, и ответы разнообразнее — но вместе с ними остаются и догадки базы «с потолка»: доля CoT останавливается около 0.86.
- **Награда.** При `beta = 0.2` она растёт медленнее и останавливается ниже, чем при 0: политика платит за каждый токен, на котором уверена больше базы.
- **0 и 0.02** за 150 шагов не различить ни по награде, ни по KL: интервалы перекрываются. Всплески KL на кривых встречаются при обоих значениях. Один такой всплеск — это токен, от которого политика почти отказалась, а база нет, и который всё же выпал: k3 растёт от него экспоненциально.

Поэтому DAPO и многие после него берут `beta = 0`: при проверяемой награде уход от базы стоит мало, а вторую модель в памяти держать не нужно.
"""

# %% [markdown] tags=["en"]
r"""
- **KL and variety.** With `beta = 0.2` the policy stays twice as close to the base, and its answers vary more; but the base's blind guesses stay too: the CoT share stops near 0.86.
- **Reward.** With `beta = 0.2` it grows more slowly and stops lower than with 0: the policy pays for every token of which it is surer than the base.
- **0 and 0.02** cannot be told apart after 150 steps, neither by reward nor by KL: the intervals overlap. Spikes of KL turn up with either. One spike is a token which the policy has nearly given up, the base has not, and which was sampled all the same: k3 grows exponentially with it.

That is why DAPO and many after it take `beta = 0`: with a verifiable reward, leaving the base costs little, and no second model has to be kept in memory.
"""

# %% [markdown] tags=["ru"]
r"""
## 4. Усреднение: по ответам или по токенам

`loss="grpo"` делит на длину каждого ответа: токен длинного ответа весит меньше. `loss="dapo"` делит на число токенов во всём батче, `loss="dr_grpo"` — на постоянную: там все токены весят одинаково, и длинный ответ в сумме весит больше короткого.

**Предсказание.** Как это скажется на длине ответов, если верные ответы здесь — длинные?
"""

# %% [markdown] tags=["en"]
r"""
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
length, cot, pass1 = (lambda run: run["after"]["length"]), (lambda run: run["after"]["cot"]), (lambda run: run["after"]["pass1"])
for loss in ("loss=dapo", "loss=dr_grpo"):
    assert table.interval(loss, length).apart(table.interval("default", length))
    assert table.interval(loss, cot).apart(table.interval("default", cot))
    assert not table.interval(loss, pass1).apart(table.interval("default", pass1))

# %% [markdown] tags=["ru"]
r"""
Вышло наоборот: при усреднении по токенам ответы чуть **короче**, и доля CoT останавливается около 0.95, а не 0.98. Разница мала, но интервалы не пересекаются. (pass@1 по этим данным не различить.)

Причина в весах. Короткая неверная догадка — это 2–3 токена. При `grpo` она весит столько же, сколько ответ из восьми токенов, и каждый её токен наказан сильнее. При `dapo` её вес втрое меньше, поэтому догадки вытесняются слабее и часть их остаётся.

Где же эффект, ради которого DAPO и Dr. GRPO меняли усреднение? Там, где *неверные* ответы — длинные: при `grpo` каждый их токен наказан слабее, и модель может удлинять свои ошибки. На нашей задаче длинные ответы как раз верные, и тот же самый вес работает в другую сторону.
"""

# %% [markdown] tags=["en"]
r"""
It went the other way: with averaging over tokens the answers are slightly **shorter**, and the CoT share stops near 0.95 instead of 0.98. The difference is small, but the intervals do not overlap. (By pass@1 these data cannot tell them apart.)

The weights are the reason. A short wrong guess has 2 or 3 tokens. With `grpo` it weighs as much as an answer of eight tokens, so each of its tokens is punished harder. With `dapo` it weighs a third of that, so guesses are pushed out more weakly and some of them stay.

And where is the effect for which DAPO and Dr. GRPO changed the averaging? Where the *wrong* answers are the long ones: with `grpo` each of their tokens is punished less, and a model may make its mistakes longer. In our task the long answers are the right ones, and the same weight works in the other direction.
"""

# %% [markdown] tags=["ru"]
r"""
## 5. Штраф за длину: когда снова выгодно угадывать

Kimi k1.5 добавляет к награде $w \cdot \lambda$, где $\lambda$ идёт от +0.5 у самого короткого ответа группы до −0.5 у самого длинного, а неверному ответу положительное $\lambda$ не платят.

**Предсказание на бумаге.** У базы ответ по шагам верен примерно в двух случаях из трёх, и в своей группе он самый длинный: в среднем он получит около $0.65 - 0.5w$. Догадка почти всегда неверна, но коротка и потому не наказана: около нуля. При каком $w$ они сравняются? И нет ли ответа ещё выгоднее догадки?
"""

# %% [markdown] tags=["en"]
r"""
## 5. A length penalty: when guessing pays again

Kimi k1.5 adds $w \cdot \lambda$ to the reward, where $\lambda$ goes from +0.5 for the shortest answer of a group to −0.5 for the longest, and a wrong answer is never paid a positive $\lambda$.

**Prediction on paper.** The base's step-by-step answer is right about two times in three, and it is the longest of its group: on average it earns about $0.65 - 0.5w$. A guess is nearly always wrong, but it is short and so goes unpunished: about zero. At which $w$ do they break even? And is there an answer that pays even better than a guess?
"""

# %%
runs = finish_all({f"length_penalty={w:g}": Settings(length_penalty=w) for w in (0.5, 1.0, 2.0)})
curves({name: result.rows for name, result in runs.items()}, ["rewards/rule_reward/mean", "completions/mean_length", "cot"])

# %%
for name, result in runs.items():
    print(name, "   ", *result.samples)

# %%
weights = [0, 0.25, 0.5, 1, 2, 4]
names = ["default", *(f"length_penalty={w:g}" for w in weights[1:])]
trend(weights, names, {"pass@1": lambda run: run["after"]["pass1"], "CoT": lambda run: run["after"]["cot"],
                       tr(en="length, tokens", ru="длина, токенов"): lambda run: run["after"]["length"]}, "length_penalty")

# %%
frame(names)

# %%
assert all(run["after"]["length"] < 1.01 for name in ("length_penalty=2", "length_penalty=4")
           for run in table.load()["experiments"][name])
silent = sum(run["after"]["length"] < 1.01 for run in table.load()["experiments"]["length_penalty=1"])
print(f"length_penalty=1: {silent} / {len(table.load()['experiments']['length_penalty=1'])}")

# %% [markdown] tags=["ru"]
r"""
До $w = 0.5$ штраф делает то, что обещал: ответы короче, рассуждение остаётся, pass@1 почти не страдает. Около $w = 1$ исход зависит от сида (сколько сидов из пяти замолчали, напечатано выше). При $w = 2$ и больше доля CoT у всех сидов падает до нуля. Сначала модель возвращается к догадкам, причём к самым коротким, из одной цифры: это площадка длины 2 на кривой. Но и на ней она не остаётся и в конце пишет одну точку.

На бумаге мы сравнивали рассуждение с догадкой, а модель нашла третье: пустой ответ. Он неверен, но короче всех, и потому не наказан, — а любой другой неверный ответ рядом с ним уже «длинный» и получает минус. Это взлом награды в чистом виде: оптимизируется то, что записано в формуле, а не то, что мы имели в виду. Как бы вы исправили награду? (Подсказка: сколько должен стоить ответ в неверном формате?)
"""

# %% [markdown] tags=["en"]
r"""
Up to $w = 0.5$ the penalty does what it promised: shorter answers, the reasoning stays, pass@1 hardly suffers. Near $w = 1$ the outcome depends on the seed (how many of the five fell silent is printed above). From $w = 2$ on, the CoT share falls to zero with every seed. First the model returns to guesses, and to the shortest ones, of a single digit: that is the plateau of length 2 on the curve. Yet it does not stay there, and ends up writing a lone dot.

On paper we compared reasoning with guessing; the model found a third way, the empty answer. It is wrong, but shorter than all others and so goes unpunished, while any other wrong answer beside it is 'long' and is charged. That is reward hacking in its pure form: what is optimised is what the formula says, not what we meant by it. How would you mend the reward? (A hint: what should an answer in a wrong format cost?)
"""

# %% [markdown] tags=["ru"]
r"""
## 6. Почему RL не изобретает

Строка `p_cot = 0` — самая важная в таблице. Прямые ответы стали немного лучше (pass@1 до и после — в таблице раздела 2), а рассуждать не начала ни с одним сидом. Посчитаем, с какой вероятностью её база вообще может написать верное решение по шагам. Сэмплировать для этого не нужно: вероятность ответа — произведение вероятностей его токенов.

**Предсказание.** За запуск модель сэмплирует 151 · 256 = 38 656 ответов. Сколько среди них было бы верных решений по шагам у базы с `p_cot = 0`? А с 0.01 и 0.05?
"""

# %% [markdown] tags=["en"]
r"""
## 6. Why RL does not invent

The row `p_cot = 0` is the most important of the table. Its direct answers became a little better (the table of section 2 has pass@1 before and after), but with no seed did it begin to reason. Let us compute how likely its base is to write a right chain of steps at all. That takes no sampling: the probability of an answer is the product of its tokens' probabilities.

**Prediction.** In a run the model samples 151 · 256 = 38 656 answers. How many right chains of steps would be among them with the base of `p_cot = 0`? And of 0.01 and 0.05?
"""

# %%
sampled = (Settings().steps + 1) * Settings().B * Settings().G
print(f"{sampled = }")
for p_cot in (0, 0.01, 0.02, 0.05, 0.3):
    odds = stepwise_odds(load_base(p_cot))
    print(f"p_cot = {p_cot:<5}  p = {odds:.1e}   p * sampled = {odds * sampled:.2g}")

# %% [markdown] tags=["ru"]
r"""
При `p_cot = 0` это не «редко», а никогда: запятая после числа почти невероятна, а нужны две подряд, да ещё с верными суммами. Группа из восьми ответов такого не покажет, и преимущество нечему присвоить: градиент GRPO усиливает только то, что было сэмплировано.

При 0.05 таких ответов десятки, RL есть за что зацепиться; при 0.01 — на самой границе. Там помогает ещё и везение: награда смотрит только на последнее число, и ошибочные шаги, которые случайно кончились верной суммой, тоже оплачены. Запустим.
"""

# %% [markdown] tags=["en"]
r"""
With `p_cot = 0` this is not 'rare' but never: a comma after a number is next to impossible, and it takes two of them, with the right sums besides. A group of eight answers will not show it, and there is nothing to give an advantage to: the gradient of GRPO strengthens only what was sampled.

With 0.05 there are dozens of such answers, and RL has something to take hold of; 0.01 is right on the edge. Luck helps there too: the reward looks at the last number only, so wrong steps that happen to end in the right sum are paid as well. Let us run it.
"""

# %%
runs = finish_all({f"p_cot = {p:g}": Settings(p_cot=p) for p in (0.0, 0.01, 0.02, 0.05)})
curves({name: result.rows for name, result in runs.items()})

# %%
for name, result in runs.items():
    print(f"{name:13} {result.after}")
assert runs["p_cot = 0"].after.cot < 0.005 < runs["p_cot = 0.01"].after.cot < runs["p_cot = 0.05"].after.cot

# %% [markdown] tags=["ru"]
r"""
Это игрушечная версия того, что авторы TinyZero увидели на Qwen2.5-0.5B-Base, а LeapLab — на больших моделях: сила RL ограничена силой базы. Отсюда и практика: сначала дать модели зачаток поведения (холодный старт в DeepSeek-R1, Instruct-модель, более лёгкие задачи), потом включать RL.

Сколько рассуждений в корпусе достаточно? Передвиньте `p_cot` на панели от 0.01 до 1 и посмотрите на две вещи порознь: *начинает ли* модель рассуждать и *насколько верны* её шаги. Первому хватает крохи, второму нужны примеры.
"""

# %% [markdown] tags=["en"]
r"""
This is the toy version of what the authors of TinyZero saw with Qwen2.5-0.5B-Base, and LeapLab with large models: the strength of RL is bounded by the strength of the base. Hence the practice: first give the model a seed of the behaviour (the cold start of DeepSeek-R1, an Instruct model, easier tasks), then switch RL on.

How much reasoning in the corpus is enough? Move `p_cot` on the panel from 0.01 to 1 and watch two things apart: *whether* the model begins to reason, and *how right* its steps are. A crumb is enough for the first, the second needs examples.
"""

# %% [markdown] tags=["ru"]
r"""
## Проверьте себя

Ответьте, не возвращаясь к тексту; под каждым ответом — объяснение.
"""

# %% [markdown] tags=["en"]
r"""
## Test yourself

Answer without going back to the text; every answer has its explanation.
"""

# %%
show_quiz("03")

# %% [markdown] tags=["ru"]
r"""
## Что дальше

- Те же опыты из командной строки: `python -m lib.toy --p-cot 0.05 --seeds 5`, `python -m lib.toy --loss dapo --dynamic-sampling --eps-high 0.28 --plot`. Все параметры — `python -m lib.toy --help`.
- Свой опыт: `--updates 4` делает несколько шагов оптимизатора на одних и тех же ответах. Тогда ratio уходит от 1 и клиппинг наконец работает: посмотрите на `clip_ratio/region_mean` в файле `--log`.
"""

# %% [markdown] tags=["en"]
r"""
## What next

- The same experiments from the command line: `python -m lib.toy --p-cot 0.05 --seeds 5`, `python -m lib.toy --loss dapo --dynamic-sampling --eps-high 0.28 --plot`. All flags: `python -m lib.toy --help`.
- One of your own: `--updates 4` makes several optimizer steps on the same answers. Then the ratio leaves 1 and the clip acts at last: look at `clip_ratio/region_mean` in the `--log` file.
"""
