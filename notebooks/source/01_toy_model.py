# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
r"""
# 01. Игрушечная модель: кого и на чём мы будем учить

**После урока вы сможете**

- нарисовать цикл GRPO и сказать, что делает каждая его часть;
- разобрать, как языковая модель сэмплирует ответ токен за токеном и откуда берётся его log-вероятность;
- написать правиловую награду, которую не обмануть лишним символом;
- посчитать pass@1 и pass@k и прочитать по ним, есть ли модели чему учиться через RL.

Время: около 20 минут. Нужны Python и основы PyTorch; видеокарта не нужна.

Выполняйте ячейки по порядку, Shift+Enter. Перед каждым опытом стоит **предсказание**: сначала ответьте сами (лучше письменно), потом запускайте. Ответ раскрывается под ячейкой.
"""

# %% [markdown] tags=["en"]
r"""
# 01. The toy model: whom we shall train, and on what

**After this lesson you will be able to**

- draw the GRPO loop and say what each of its parts does;
- take apart how a language model samples an answer token by token, and where its log-probability comes from;
- write a rule reward that one stray character cannot fool;
- compute pass@1 and pass@k, and read from them whether RL has anything to teach the model.

Time: about 20 minutes. You need Python and the basics of PyTorch, and no GPU.

Run the cells in order, Shift+Enter. Before each experiment stands a **prediction**: answer it yourself first (best in writing), then run the cell. The answer unfolds below the cell.
"""

# %% tags=["ru"]
import os

os.environ["COURSE_LANG"] = "ru"

# %% tags=["en"]
import os

os.environ["COURSE_LANG"] = "en"

# %%
import re

import torch

from lib.toy import policy, reward, task
from lib.toy.base import load_base
from lib.toy.evaluate import evaluate, pass_at_k
from lib.ui import figures, tables
from lib.ui.cells import show_figures, source, table
from lib.ui.quiz import show_quiz

show_figures()

# %% [markdown] tags=["ru"]
r"""
## 1. Цикл

Модель отвечает на вопрос, ответ проверяют, и то, что принесло награду, становится вероятнее. Так учили DeepSeek-R1-Zero, и так же в этом курсе модель из 77 тысяч параметров за несколько секунд на CPU научится складывать цифры по шагам. Решений ей при этом не покажут: только «верно» или «неверно».

```mermaid
flowchart LR
    A["промпты"] --> B["роллаут:<br/>G ответов на промпт"]
    B --> C["награда<br/>по правилу"]
    C --> D["преимущества<br/>внутри группы"]
    B --> E["log π политики<br/>и референса"]
    D --> F["loss GRPO"]
    E --> F
    F -->|шаг оптимизатора| B
```

В этом уроке — промпты, модель, роллаут и награда. Преимущества, loss и шаг — в уроке 02.
"""

# %% [markdown] tags=["en"]
r"""
## 1. The loop

The model answers a question, the answer is checked, and what earned a reward becomes likelier. That is how DeepSeek-R1-Zero was trained, and in this course a model of 77 thousand parameters will learn in the same way, in seconds on a CPU, to add digits step by step. It will be shown no solutions, only told 'right' or 'wrong'.

```mermaid
flowchart LR
    A["prompts"] --> B["rollout:<br/>G answers a prompt"]
    B --> C["reward<br/>by a rule"]
    C --> D["advantages<br/>within the group"]
    B --> E["log π of policy<br/>and reference"]
    D --> F["GRPO loss"]
    E --> F
    F -->|optimizer step| B
```

This lesson covers prompts, model, rollout and reward. Advantages, loss and step come in lesson 02.
"""

# %% [markdown] tags=["ru"]
r"""
## 2. Задача

Промпт — четыре цифры и знак `=`. Верный ответ — их сумма и точка. Ответить можно сразу, а можно «порассуждать» — выписать частичные суммы: 3+5=8, 8+2=10, 10+7=17.
"""

# %% [markdown] tags=["en"]
r"""
## 2. The task

The prompt is four digits and `=`. The right answer is their sum and a dot. One can answer at once, or 'reason', that is, write out the partial sums: 3+5=8, 8+2=10, 10+7=17.
"""

# %%
digits = [3, 5, 2, 7]
print(task.make_prompt(digits) + f"{sum(digits)}.")
print(task.make_prompt(digits) + task.cot_answer(digits))

# %% [markdown] tags=["ru"]
r"""
## 3. «Интернет», на котором учится базовая модель

R1-Zero начинали не с нуля, а с модели, обученной на текстах из сети: рядом с разобранными решениями там лежат голые ответы. Наш «интернет» устроен так же. С вероятностью `p_cot = 0.3` строка решена по шагам, иначе ответ взят «с потолка» — случайное число от 0 до 36.

Найдите в двенадцати строках решённые по шагам. Верен ли хоть один из остальных ответов?
"""

# %% [markdown] tags=["en"]
r"""
## 3. The 'internet' that the base model learns from

R1-Zero did not start from nothing but from a model trained on texts of the web, where worked solutions lie beside bare answers. Our 'internet' is made the same way. With probability `p_cot = 0.3` a line is solved step by step, else its answer is a blind guess, a random number from 0 to 36.

Find the lines with steps among these twelve. Is any of the other answers right?
"""

# %%
lines, lengths = task.corpus(12, p_cot=0.3, rng=torch.Generator().manual_seed(0))
print(*task.answer_texts(lines, lengths), sep="\n")

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** Модель обучат предсказывать следующий токен таких строк. Как она станет отвечать: всегда по шагам, всегда «с потолка» или вперемешку? Если вперемешку, то в какой доле? Запишите, проверим в разделе 7.
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** A model will be trained to predict the next token of such lines. How will it answer: always in steps, always blindly, or a mixture? If a mixture, in what proportion? Write it down, section 7 will tell.
"""

# %% [markdown] tags=["ru"]
r"""
## 4. Модель

Эмбеддинг, однослойный GRU и линейная голова. Это не трансформер, и для GRPO это неважно: алгоритму нужно лишь, чтобы модель порождала ответ токен за токеном и чтобы log-вероятность каждого токена можно было посчитать и продифференцировать. Что внутри, он не видит.
"""

# %% [markdown] tags=["en"]
r"""
## 4. The model

An embedding, a one-layer GRU and a linear head. It is no transformer, and to GRPO that does not matter: all the algorithm asks for is a model that produces an answer token by token, with a log-probability of each token that can be computed and differentiated. What is inside it never sees.
"""

# %%
source(policy.TinyLM)

# %%
model = policy.TinyLM()
assert sum(p.numel() for p in model.parameters()) == 77_069
tables.parameters(model)

# %% [markdown] tags=["ru"]
r"""
Токен — один символ. Символ `<bos>` стоит в начале каждой строки: модель его читает, но никогда не пишет, поэтому на входе токенов на один больше, чем на выходе.
"""

# %% [markdown] tags=["en"]
r"""
A token is one character. `<bos>` opens every line: the model reads it but never writes it, so there is one token more at the input than at the output.
"""

# %%
print(task.VOCAB)
print("3527= →", [task.BOS, *task.encode("3527=")])

# %% [markdown] tags=["ru"]
r"""
Базовая модель уже обучена: 2500 шагов обычного предсказания следующего токена на строках из раздела 3 (`lib/toy/base.py`; `make bases` повторит это обучение). Загрузим её.
"""

# %% [markdown] tags=["en"]
r"""
The base model is trained already: 2500 steps of plain next-token prediction on lines like those of section 3 (`lib/toy/base.py`; `make bases` repeats the training). We load it.
"""

# %%
base = load_base(p_cot=0.3)

# %% [markdown] tags=["ru"]
r"""
## 5. Сэмплирование токен за токеном

Модель прочла `3527=` и выдала вероятности следующего токена. Чтобы выбрать один, вероятности укладывают встык на отрезок [0, 1] и бросают «кубик» — равномерное случайное число. На чей кусок оно попало, тот токен и выбран. Это сэмплирование с температурой 1.

**Предсказание.** Какие первые токены ответа на `3527=` окажутся самыми вероятными? Вспомните, из чего состоит корпус.
"""

# %% [markdown] tags=["en"]
r"""
## 5. Sampling, token by token

The model has read `3527=` and gives the probabilities of the next token. To pick one, the probabilities are laid end to end on [0, 1] and a 'die' is thrown, a uniform random number. The token on whose piece it lands is picked. This is sampling at temperature 1.

**Prediction.** Which first tokens of an answer to `3527=` will be the likeliest? Remember what the corpus is made of.
"""

# %%
prompt = torch.tensor([[task.BOS, *task.encode("3527=")]])
logits, hidden = base(prompt)
probs = logits[0, -1].softmax(-1).detach()
assert set(probs.topk(4).indices.tolist()) == {1, 2, 3, 8}
assert probs[[7, 9]].min() > probs[[0, 4, 5, 6]].max()

dice = torch.rand(1, 5, task.MAX_NEW, generator=torch.Generator().manual_seed(37))   # one for each token of five answers
figures.next_token(probs, dice[0, 0, 0].item())

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

- `8` — с неё начинается решение по шагам (3+5=8), а таких строк 30 %. Складывать первые две цифры модель почти научилась: доля соседних `7` и `9` — это её ошибки на единицу.
- `1`, `2` и `3` — с них начинается большинство чисел от 0 до 36, то есть догадок: по 11 чисел из 37 на `1` и `2`, 8 из 37 на `3`.
- Каждая из остальных цифр начинает лишь одно число из 37. Запятая, точка и `=` в начале ответа в корпусе не встречались.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

- `8`: a solution in steps begins with it (3+5=8), and 30 % of the lines are such. Adding the first two digits the model has nearly learned: the share of the neighbours `7` and `9` is its mistakes by one.
- `1`, `2` and `3`: most numbers from 0 to 36, that is, most guesses, begin with these: 11 numbers of 37 with `1`, as many with `2`, 8 of 37 with `3`.
- Each other digit begins one number of 37. A comma, a dot or `=` never opened an answer in the corpus.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Выбранный токен подают на вход, модель даёт новые вероятности, кубик бросают снова — и так до точки, но не больше `MAX_NEW = 10` токенов. Вот весь код: строка с `cumsum` и есть укладка встык.
"""

# %% [markdown] tags=["en"]
r"""
The picked token is fed back, the model gives new probabilities, the die is thrown again, and so on up to a dot, but no more than `MAX_NEW = 10` tokens. This is all the code; the line with `cumsum` is the laying end to end.
"""

# %%
source(policy._sample)

# %% [markdown] tags=["ru"]
r"""
Пять ответов на один промпт — группа. Под каждым токеном его log-вероятность, чем темнее клетка, тем вероятнее был токен. Вероятность ответа — произведение вероятностей его токенов, поэтому log-вероятности складываются. Эти числа — единственное, что GRPO берёт от модели.
"""

# %% [markdown] tags=["en"]
r"""
Five answers to one prompt make a group. Below each token is its log-probability; the darker the cell, the likelier the token was. The probability of an answer is the product of those of its tokens, so log-probabilities add up. These numbers are all that GRPO takes from the model.
"""

# %%
answers = policy.sample(base, prompt, group_size=5, rng=torch.Generator().manual_seed(37))
assert answers.tokens[0, 0] == (probs.cumsum(0) < dice[0, 0, 0]).sum()   # the same die as above, so the same first token
figures.token_logprobs(answers.tokens, answers.lengths, answers.logp)

# %% [markdown] tags=["ru"]
r"""
## 6. Правиловая награда

Награда — 1, если формат соблюдён и последнее число верное, иначе 0. За длину и за шаги не платят.

**Предсказание.** За какие из этих ответов на `3527=` заплатят?

`17.`  `8,10,17.`  `9,9,17.`  `8,10,18.`  `17`  `017.`  `8,,17.`  `17.\n`  пустая строка
"""

# %% [markdown] tags=["en"]
r"""
## 6. The rule reward

The reward is 1 when the format holds and the last number is right, else 0. Nothing is paid for length or for steps.

**Prediction.** Which of these answers to `3527=` will be paid for?

`17.`  `8,10,17.`  `9,9,17.`  `8,10,18.`  `17`  `017.`  `8,,17.`  `17.\n`  the empty string
"""

# %%
tables.judged("3527=", ["17.", "8,10,17.", "9,9,17.", "8,10,18.", "17", "017.", "8,,17.", "17.\n", ""])

# %% [markdown] tags=["ru"]
r"""
Неверные шаги в `9,9,17.` награда не замечает: она судит о результате. Это не недосмотр, а выбор R1-Zero: проверять шаги пришлось бы ещё одной моделью, а её можно обмануть. Ведущий ноль в `017.` — то же число, за него платят.

Формат держится на одном регулярном выражении.
"""

# %% [markdown] tags=["en"]
r"""
The wrong steps in `9,9,17.` go unnoticed: the reward judges the outcome. That is no oversight but R1-Zero's choice: checking steps would take one more model, and a model can be fooled. The leading zero of `017.` does not change the number, so it is paid for.

The format rests on one regular expression.
"""

# %%
print(reward.ANSWER.pattern)
source(reward.rule_reward)

# %% [markdown] tags=["ru"]
r"""
| кусок | что значит | зачем |
|---|---|---|
| `(?:` … `)` | группа без запоминания | шаги не нужны, нужен только счёт повторений |
| `[0-9]+,` | одна или больше цифр, затем запятая | один шаг: `8,` |
| `*` | сколько угодно раз, в том числе ноль | `17.` — тоже правильный формат |
| `([0-9]+)` | число, которое запоминаем | `match.group(1)` — последнее число |
| `\.` | точка как символ | без `\` подошёл бы любой символ |
| `fullmatch` | совпасть должна вся строка | ничего лишнего ни до, ни после |

Кажется, что `^(?:\d+,)*(\d+)\.$` и `match` — то же самое. Проверим на двух строках: перевод строки после точки и арабско-индийские цифры.
"""

# %% [markdown] tags=["en"]
r"""
| piece | what it means | what for |
|---|---|---|
| `(?:` … `)` | a group that is not kept | steps are not needed, only how often they repeat |
| `[0-9]+,` | one or more digits, then a comma | one step: `8,` |
| `*` | any number of times, zero included | `17.` is a good format too |
| `([0-9]+)` | a number that is kept | `match.group(1)` is the last number |
| `\.` | a dot as a character | without `\` any character would do |
| `fullmatch` | the whole text has to match | nothing before it, nothing after it |

`^(?:\d+,)*(\d+)\.$` with `match` seems to be the same. Let us try it on two texts: a line feed after the dot, and Arabic-Indic digits.
"""

# %%
careless = re.compile(r"^(?:\d+,)*(\d+)\.$")
tricks = ["17.\n", "١٧."]
assert int("١٧") == 17   # and int would take it for the right sum
table(["", r"`re.match(r'^(?:\d+,)*(\d+)\.$')`", "`ANSWER.fullmatch`"],
      [[f"`{text!r}`", bool(careless.match(text)), bool(reward.ANSWER.fullmatch(text))] for text in tricks])

# %% [markdown] tags=["ru"]
r"""
`$` совпадает и перед последним переводом строки, а `\d` — это цифра любой письменности. Наша модель таких символов не знает, но у настоящей LLM словарь большой, и RL найдёт каждую щель в награде. Поэтому `fullmatch` и `[0-9]`.
"""

# %% [markdown] tags=["en"]
r"""
`$` also matches before a final line feed, and `\d` is a digit of any script. Our model knows no such characters, but a real LLM has a large vocabulary, and RL will find every gap in a reward. Hence `fullmatch` and `[0-9]`.
"""

# %% [markdown] tags=["ru"]
r"""
## 7. Что отвечает базовая модель

Десять промптов по шесть ответов; верные — жирным.
"""

# %% [markdown] tags=["en"]
r"""
## 7. What the base model answers

Ten prompts, six answers each; the right ones are bold.
"""

# %%
rng = torch.Generator().manual_seed(0)
prompts = task.prompt_tokens(task.random_digits(10, rng))
answers = policy.sample(base, prompts, 6, rng)
tables.samples(prompts, answers.tokens.view(10, 6, -1), answers.lengths.view(10, 6))

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** Разделим ответы на две кучи: с шагами (есть запятая) и без. Какая доля верна в каждой? Для второй кучи число можно получить на бумаге.
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** Let us part the answers in two heaps: with steps (there is a comma) and without. What share is right in each? For the second one the figure can be had on paper.
"""

# %%
digits = task.random_digits(400, rng)
answers = policy.sample(base, task.prompt_tokens(digits), 64, rng)
rewards = reward.rule_rewards(digits.repeat_interleave(64, 0), answers.tokens, answers.lengths)
steps = task.has_steps(answers.tokens, answers.lengths)
assert 0.2 < steps.float().mean() < 0.4   # near p_cot
assert abs(rewards[~steps].mean() - 1 / 37) < 0.01
assert rewards[steps].mean() > 0.5
tables.by_steps(rewards, steps, answers.lengths)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Без шагов верна примерно одна догадка из 37 (это 0.027): модель научилась угадывать ровно так, как угадывают в корпусе. С шагами верно больше половины. А доля ответов с шагами близка к `p_cot = 0.3`: модель повторяет смесь, на которой училась, — вот и ответ на предсказание из раздела 3.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Without steps about one guess in 37 is right (0.027): the model has learned to guess just as the corpus does. With steps more than half are right. And the share of answers with steps is near `p_cot = 0.3`: the model repeats the mixture that it was trained on, which answers the prediction of section 3.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
Запомните эту таблицу: в ней весь механизм. За шаги не платят, но ответы с шагами верны в десятки раз чаще. Если верное делать вероятнее, шагов станет больше, а вместе с ними вырастет и длина.
"""

# %% [markdown] tags=["en"]
r"""
Remember this table: the whole mechanism is in it. Steps are not paid for, but answers with steps are right tens of times as often. Make what is right likelier, and there will be more steps, and with them longer answers.
"""

# %% [markdown] tags=["ru"]
r"""
## 8. pass@1 и pass@k

**pass@1** — доля верных ответов. **pass@k** — вероятность, что среди k ответов на задачу верен хотя бы один.

Если на задачу дано $n$ ответов и верных из них $c$, то вероятность, что в случайной выборке из $k$ ответов (без возвращения) верных нет, равна $\binom{n-c}{k} / \binom{n}{k}$. Отсюда несмещённая оценка

$$\text{pass@}k = 1 - \binom{n-c}{k} \bigg/ \binom{n}{k},$$

которую усредняют по задачам. Она использует все $n$ ответов, а не первые $k$, поэтому при $n > k$ меньше шумит. Число $n$ называют рядом с результатом.
"""

# %% [markdown] tags=["en"]
r"""
## 8. pass@1 and pass@k

**pass@1** is the share of right answers. **pass@k** is the probability that at least one of k answers to a task is right.

With $n$ answers to a task, $c$ of them right, the probability that a random draw of $k$ answers (without replacement) holds no right one is $\binom{n-c}{k} / \binom{n}{k}$. Hence the unbiased estimate

$$\text{pass@}k = 1 - \binom{n-c}{k} \bigg/ \binom{n}{k},$$

averaged over tasks. It uses all $n$ answers and not the first $k$, so it is less noisy where $n > k$. The $n$ is stated beside the result.
"""

# %%
source(pass_at_k)

# %%
print(evaluate(base, n=400, samples=64, k=8))

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** Зная pass@1, легко прикинуть pass@8: если шанс каждого ответа $p$, то хотя бы один из восьми верен с вероятностью $1-(1-p)^8$. Настоящий pass@8 окажется выше этой прикидки, ниже или равен ей?
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** From pass@1 one easily estimates pass@8: if each answer has a chance $p$, at least one of eight is right with probability $1-(1-p)^8$. Will the real pass@8 be above that estimate, below it, or equal?
"""

# %%
right = rewards.view(400, 64).sum(1).int().tolist()   # right answers to each of the 400 tasks of section 7
curve = {k: sum(pass_at_k(64, c, k) for c in right) / 400 for k in (1, 2, 4, 8, 16, 32, 64)}
assert curve[8] < 1 - (1 - curve[1]) ** 8
figures.pass_at_k({"p_cot = 0.3": curve}, equal_tasks=True)

# %% [markdown] tags=["ru"]
r"""
<details><summary>Ответ</summary>

Ниже. Прикидка верна, если все задачи одинаково трудны. На деле одни модель решает часто, другие почти никогда: на лёгких вторая попытка лишняя, на трудных не спасают и восемь. По форме кривой видно, насколько задачи разные.
</details>
"""

# %% [markdown] tags=["en"]
r"""
<details><summary>Answer</summary>

Below. The estimate holds if all tasks are equally hard. In fact the model solves some often and others hardly ever: on easy ones a second try is wasted, on hard ones even eight do not help. The shape of the curve shows how much tasks differ.
</details>
"""

# %% [markdown] tags=["ru"]
r"""
## 9. Есть что затачивать

Сколько набрала бы за восемь попыток модель, которая только угадывает?
"""

# %% [markdown] tags=["en"]
r"""
## 9. There is something to sharpen

What would a model that only guesses reach in eight tries?
"""

# %%
guessing = 1 - (1 - 1 / 37) ** 8
print(f"pass@1 {curve[1]:.2f}   pass@8 {curve[8]:.2f}   1 - (36/37)^8 = {guessing:.2f}")
assert 0.15 < curve[1] < 0.25
assert curve[8] > 0.65 > 3 * guessing

# %% [markdown] tags=["ru"]
r"""
С одной попытки базовая модель ошибается в четырёх случаях из пяти, а за восемь чаще всего находит верный ответ — намного чаще, чем угадывая. Значит, верный путь она знает, но выбирает его редко. В группе из восьми ответов верный чаще всего есть, и рядом с ним есть неверные: их можно сравнить. Это и нужно GRPO — сделать вероятнее то, что модель уже умеет. Такое обучение называют затачиванием (sharpening).

Если бы pass@8 был около нуля, сравнивать было бы нечего. Что тогда — в уроке 03, опыт `p_cot = 0`.
"""

# %% [markdown] tags=["en"]
r"""
In one try the base model is wrong four times in five, in eight it mostly finds the right answer, far more often than by guessing. So it knows the right way but seldom takes it. A group of eight answers mostly holds a right one, with wrong ones beside it: they can be compared. That is what GRPO needs, to make likelier what the model can do already. Such training is called sharpening.

Were pass@8 near zero, there would be nothing to compare. What happens then is in lesson 03, the experiment with `p_cot = 0`.
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
show_quiz("01")

# %% [markdown] tags=["ru"]
r"""
## Что дальше

[02. Шаг GRPO](02_grpo_step.ipynb): разберём один батч до последнего числа, соберём из частей шаг обучения и запустим 150 таких шагов.
"""

# %% [markdown] tags=["en"]
r"""
## What next

[02. The GRPO step](02_grpo_step.ipynb): we take one batch apart to the last number, put the training step together from its parts, and run 150 of them.
"""
