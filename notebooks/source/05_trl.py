# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
r"""
# 05. TRL: та же петля, настоящий фреймворк

**После урока вы сможете**

- найти каждую строку своего шага GRPO среди аргументов `GRPOConfig` и `GRPOTrainer`;
- обучить настоящим `GRPOTrainer` маленькую Qwen3 на CPU: точность на новых задачах вырастет втрое у вас на глазах;
- сказать, *чему* она научилась, и какой контрольный опыт это доказывает;
- перенести тот же скрипт на видеокарты: одна, четыре, vLLM, ZeRO, LoRA — и заранее посчитать, что поместится.

Время: 50–60 минут, из них около трёх считает машина. Нужны уроки 02 и 04 и один раз `make llm` (TRL, около 0.3 ГБ). Видеокарта не нужна.
"""

# %% [markdown] tags=["en"]
r"""
# 05. TRL: the same loop in a real framework

**After this lesson you will be able to**

- find each line of your own GRPO step among the arguments of `GRPOConfig` and `GRPOTrainer`;
- train a tiny Qwen3 on a CPU with the real `GRPOTrainer`: its accuracy on new tasks triples before your eyes;
- say *what* it learned, and which control experiment proves it;
- take the same script to GPUs (one, four, vLLM, ZeRO, LoRA) and work out beforehand what fits.

Time: 50–60 minutes, about three of which the machine computes. You need lessons 02 and 04, and `make llm` once (TRL, about 0.3 GB). No GPU.
"""

# %% tags=["ru"]
import os

os.environ["COURSE_LANG"] = "ru"

# %% tags=["en"]
import os

os.environ["COURSE_LANG"] = "en"

# %%
import tempfile
from dataclasses import fields
from pathlib import Path

import pandas as pd
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from trl import GRPOConfig

from lib.countdown import make_countdown
from lib.countdown.tasks import prompt
from lib.i18n import language, tr
from lib.llm import evaluate, plan, table, tiny
from lib.llm.models import load, rendered
from lib.llm.presets import HUB_PRESET, OVERLONG, TINY_PRESET, config_for, read_settings, settings_for
from lib.llm.sizing import CARDS, MODELS, state_bytes, step_seconds, transfer_seconds, verdict
from lib.llm.trainer import Bar, Rows, Stop, make_trainer, reward_functions
from lib.runlog import health
from lib.runlog.names import EQUAL_GROUPS
from lib.ui.cells import show_figures, source
from lib.ui.cells import table as show_table
from lib.ui.quiz import show_quiz
from lib.ui.sizing_panel import SizingPanel
from lib.ui.trl_lesson import LiveCurves, controls, replies, settings_that_differ, timelines, trade_off

show_figures()
torch.set_num_threads(1)   # on so small a model a second thread saves little, and on a busy machine it costs many times more
FOLDER = Path(tempfile.mkdtemp(prefix="lesson05-"))

# %% [markdown] tags=["ru"]
r"""
## 1. Наша петля и петля TRL

В уроке 02 шаг GRPO собран из функций. `GRPOTrainer` делает то же и в том же порядке, а ваши строки стали его аргументами. Найдите пару для каждой, прежде чем смотреть направо.
"""

# %% [markdown] tags=["en"]
r"""
## 1. Our loop and TRL's

In lesson 02 the GRPO step was put together from functions. `GRPOTrainer` does the same in the same order; your lines have become its arguments. Find the partner of each before you look to the right.
"""

# %%
same = [
    ("rollout(policy, prompts, group_size)", "num_generations, max_completion_length, temperature",
     tr(en="G completions a prompt", ru="G ответов на промпт")),
    ("prompts (B)", "per_device_train_batch_size, gradient_accumulation_steps",
     tr(en="TRL counts completions, not prompts", ru="TRL считает ответы, а не промпты")),
    ("rule_rewards(…)", "reward_weights", tr(en="and the functions in reward_funcs", ru="и сами функции в reward_funcs")),
    ("group_advantages(rewards)", "scale_rewards", tr(en="divide by the std of the group, of the batch, or not at all",
                                                      ru="делить на std группы, батча или не делить")),
    ("kl_k3(logp, logp_ref)", "beta", tr(en="0 by default: no reference model in memory",
                                         ru="по умолчанию 0: референсной модели в памяти нет")),
    ("clipped_objective(…, eps_low, eps_high)", "epsilon, epsilon_high", "Clip-Higher: 0.28"),
    ("token_weights(mask, loss)", "loss_type", "grpo, dapo, dr_grpo"),
    ("updates", "num_iterations, steps_per_generation", tr(en="optimizer steps on one rollout", ru="шагов на один роллаут")),
    ("length_bonus(…)", "mask_truncated_completions", tr(en="length is a reward of its own in TRL: see section 8",
                                                         ru="длина в TRL — отдельная награда, см. раздел 8")),
]
known = {field.name for field in fields(GRPOConfig)}
assert all(name in known for _, names, _ in same for name in names.split(", "))
show_table([tr(en="lesson 02", ru="урок 02"), "GRPOConfig", ""],
           [[f"`{ours}`", ", ".join(f"`{name}`" for name in names.split(", ")), note] for ours, names, note in same])

# %% [markdown] tags=["ru"]
r"""
Динамического сэмплирования из урока 02 в TRL 1.16 нет: вырожденные группы просто ничего не добавляют к градиенту. Зато слова «grpo», «dapo», «dr_grpo» значат то же самое, и числа в таблице ниже — те, с которыми урок обучает Qwen2.5-0.5B.
"""

# %% [markdown] tags=["en"]
r"""
TRL 1.16 has no dynamic sampling, as in lesson 02: degenerate groups simply add nothing to the gradient. The words 'grpo', 'dapo' and 'dr_grpo' do mean the same. The numbers below are those with which the course trains Qwen2.5-0.5B.
"""

# %%
GRPOConfig(output_dir=str(FOLDER / "hub"), use_cpu=True, bf16=False, **HUB_PRESET)   # TRL takes each of them
show_table(["GRPOConfig", ""], [[f"`{name}`", f"`{value!r}`"] for name, value in HUB_PRESET.items()])

# %% [markdown] tags=["ru"]
r"""
**Предсказание.** Сколько разных промптов приходится на один шаг оптимизатора на одной карте? А на четырёх?
"""

# %% [markdown] tags=["en"]
r"""
**Prediction.** How many different prompts are there in an optimizer step on one card? On four?
"""

# %%
for processes in (1, 4, 3):
    print(processes, "→", plan.batch(HUB_PRESET, processes).prompts, "  ", plan.batch(HUB_PRESET, processes).formula)
assert [plan.batch(HUB_PRESET, n).prompts for n in (1, 4, 3)] == [4, 16, 12]

# %% [markdown] tags=["ru"]
r"""
`per_device_train_batch_size` — это *ответы на карту*. Поэтому на четырёх картах шаг не вчетверо быстрее, а другой: в нём вчетверо больше промптов. (Три карты — это случай, когда четвёртая отдана vLLM.)

## 2. Модель, которой хватит CPU

Настоящая LLM на процессоре потратила бы минуты на шаг. Наша — тоже настоящая Qwen3 из `transformers`, с чат-шаблоном и токенизатором, но в ней 0.44 миллиона параметров. Секрет в токенизаторе: число — один токен, и каждый неизменный кусок промпта — тоже один.
"""

# %% [markdown] tags=["en"]
r"""
`per_device_train_batch_size` means *completions a card*. So on four cards the step is not four times faster, it is another step: with four times the prompts. (Three cards are what is left when vLLM takes the fourth.)

## 2. A model for which a CPU is enough

A real LLM would take minutes a step on a CPU. Ours is a real Qwen3 of `transformers` too, with a chat template and a tokenizer, but it has 0.44 million parameters. The secret is the tokenizer: a number is one token, and so is every fixed piece of the prompt.
"""

# %%
model, tokenizer = load("tiny")
task = {"nums": [3, 7, 10], "target": 31}
asked = rendered(tokenizer, prompt(task, language()))
print(type(model).__name__, f"{model.num_parameters():,}")
print(asked)
print(tokenizer.convert_ids_to_tokens(tokenizer(asked, add_special_tokens=False).input_ids))

# %% [markdown] tags=["ru"]
r"""
Базу научил SFT на ответах, которые написала программа: поиск с пометками ✗ и ✓, чаще всего брошенный слишком рано. Она лежит в курсе готовой, и урок начинается сразу с GRPO. Хотите увидеть SFT — поставьте `SFT_STEPS = 2000` (четыре-пять минут на одном ядре; базу курса это не тронет).
"""

# %% [markdown] tags=["en"]
r"""
The base was taught by SFT on replies that a program wrote: a search with verdicts ✗ and ✓, given up too early most of the time. It comes with the course, so the lesson starts at GRPO. If you want to see the SFT, set `SFT_STEPS = 2000` (four to five minutes on one core; the course's base stays as it is).
"""

# %%
SFT_STEPS = 0
if SFT_STEPS:
    pupil = tiny.new_model(tokenizer)
    for step, loss in tiny.teach(pupil, tokenizer, make_countdown(tiny.TASKS), SFT_STEPS):
        if step % 100 == 0:
            print(step, f"{loss:.3f}")
tiny.check_base()
tiny.manifest()

# %%
test = make_countdown(200, split="test")
before = evaluate.sample(model, tokenizer, test, 8, max_tokens=TINY_PRESET["max_completion_length"])
print(evaluate.line(tr(en="base", ru="база"), evaluate.score(before)))
for text in before.texts[1][:3]:
    print(text, end="\n\n")

# %% [markdown] tags=["ru"]
r"""
Форма почти безупречна, верна примерно каждая пятая попытка, а хотя бы один из восьми ответов верен в трёх задачах из четырёх. Группам есть на чём учиться: это та самая «ненулевая начальная точность», ради которой урок берёт Instruct-модель, а не базовую.

## 3. Награды

`GRPOTrainer` зовёт функцию награды со списком ответов и колонками набора данных. Награды те же, что в уроке 04, без единой правки; к ним добавлены две обёртки.
"""

# %% [markdown] tags=["en"]
r"""
The form is nearly perfect, about one attempt in five is right, and in three tasks out of four at least one of eight replies is. Groups have something to learn from: this is the 'accuracy above zero at the start' for which one takes an Instruct model and not a base model.

## 3. The rewards

`GRPOTrainer` calls a reward function with a list of completions and the columns of the data set. The rewards are those of lesson 04, unchanged, with two wrappers around them.
"""

# %%
source(reward_functions)

# %%
form, right, punishment = reward_functions("", limit=200, overlong=OVERLONG)
chat = [[{"role": "assistant", "content": "<think>3*7=21</think><answer>3*7+10</answer>"}],
        [{"role": "assistant", "reasoning_content": "3*7=21", "content": "<answer>3*7+10</answer>"}]]
columns = {"nums": [task["nums"]] * 2, "target": [task["target"]] * 2}
print(form(completions=chat), right(completions=chat, **columns))
assert form(completions=chat) == [0.2, 0.2] and right(completions=chat, **columns) == [1.0, 1.0]

opened, = reward_functions("<think>", limit=200, overlong=0)[:1]
print(opened(completions=["3*7=21</think><answer>3*7+10</answer>"]))
assert opened(completions=["3*7=21</think><answer>3*7+10</answer>"]) == [0.2]

# %% [markdown] tags=["ru"]
r"""
Вот зачем обёртки. Один и тот же ответ приходит к награде по-разному: у одних токенизаторов TRL переносит рассуждение в поле `reasoning_content`, у других шаблон чата сам пишет `<think>`, и в ответе модели этого тега уже нет. Награда за форму, которая не знает об этом, молча платит всем ноль. Ещё одна ловушка: лишний `<|im_end|>`, если EOS остался в тексте, — `TRL` его убирает, а ваш собственный код оценки может и забыть.

**Мягкий штраф** — третья награда: от 0 до −1 на последних 50 токенах перед лимитом (DAPO). Зачем он, увидим в разделе 8.

## 4. План

Перед запуском полезно знать, на что вы подписались. То же самое печатает `python -m lib.llm.train_trl --plan`.
"""

# %% [markdown] tags=["en"]
r"""
This is what the wrappers are for. One and the same reply reaches a reward in different ways: for some tokenizers TRL moves the reasoning into the field `reasoning_content`; in others the chat template writes `<think>` itself, and the model's reply lacks the tag. A format reward that does not know this pays everyone zero, without a word. One more trap is a stray `<|im_end|>` where EOS was left in the text: TRL removes it, your own evaluation code may forget to.

**The soft punishment** is the third reward: from 0 to −1 over the last 50 tokens before the limit (DAPO). What it is for, section 8 shows.

## 4. The plan

Before a run it is good to know what you are in for. `python -m lib.llm.train_trl --plan` prints the same.
"""

# %%
settings = settings_for("tiny", {}, cpu=True)
print(plan.describe_steps(settings, plan.Machine(cards=0, gb=16, processes=1)))

# %%
config = config_for("tiny", {"seed": 0}, FOLDER / "run")
settings_that_differ(config)

# %% [markdown] tags=["ru"]
r"""
Что здесь не как на хабе и почему:

- `bf16` и `gradient_checkpointing` TRL включает по умолчанию. Без видеокарты первое — ошибка ещё до загрузки, второе — лишнее время.
- `learning_rate` в 300 раз больше: с $10^{-6}$ такая маленькая модель за 60 шагов не сдвинется.
- `log_completions=True` без `num_completions_to_print` печатает *каждый* ответ каждого лога.

Опечатки: `GRPOConfig` не знает слова `loss_type="dapoo"` и молчит о нём до первого loss, то есть пока не сэмплированы все ответы. Поэтому настройки проверяются до запуска.
"""

# %% [markdown] tags=["en"]
r"""
What is not as on the hub here, and why:

- `bf16` and `gradient_checkpointing` are on by default in TRL. Without a GPU the first is an error before anything is loaded, the second a waste of time.
- `learning_rate` is 300 times as large: $10^{-6}$ would not move so small a model in 60 steps.
- `log_completions=True` without `num_completions_to_print` prints *every* completion at every log.

Typing errors: `GRPOConfig` does not know `loss_type="dapoo"` and says nothing until the first loss, which is after all completions have been sampled. So settings are checked before a run.
"""

# %%
GRPOConfig(output_dir=str(FOLDER / "typo"), loss_type="dapoo", use_cpu=True, bf16=False)   # not a word
for wrong in ("loss_type=dapoo", "learning_rat=1e-5", "num_generations=many"):
    try:
        read_settings([wrong])
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(wrong)

# %% [markdown] tags=["ru"]
r"""
## 5. Запуск

**Предсказание.** 60 шагов по 64 ответа. Нарисуйте на бумаге четыре кривые: доля верных, длина, доля обрезанных, энтропия. Где будет доля верных в конце: 0.3, 0.6 или 0.9?

Пока идёт, читайте дальше. «Прервать ядро» (■) остановит обучение после текущего шага, и кривые останутся.
"""

# %% [markdown] tags=["en"]
r"""
## 5. The run

**Prediction.** 60 steps of 64 completions. Draw four curves on paper: the share of right answers, the length, the share cut off, the entropy. Where will the share of right answers end: at 0.3, 0.6 or 0.9?

While it runs, read on. 'Interrupt the kernel' (■) ends the training after the step under way; the curves stay.
"""

# %%
rows, stop = Rows(LiveCurves()), Stop()
trainer = make_trainer("tiny", config, make_countdown(tiny.TASKS), overlong=OVERLONG, callbacks=[rows, Bar(), stop])
result = trainer.train()
print(f"{trainer.state.global_step} × {plan.batch(settings).completions}")

# %%
after = evaluate.sample(trainer.model, tokenizer, test, 8, max_tokens=config.max_completion_length)
scores = {tr(en="base", ru="база"): evaluate.score(before), tr(en="after GRPO", ru="после GRPO"): evaluate.score(after)}
for name, found in scores.items():
    print(evaluate.line(name, found))
if not stop.stopped:
    old, new = scores.values()
    assert new.low > old.high and new.accuracy > 2.2 * old.accuracy and new.tokens > 1.7 * old.tokens
    assert old.pass_k > 0.65 and 0.12 < old.accuracy < 0.3

# %% [markdown] tags=["ru"]
r"""
Точность на задачах, которых модель не видела, выросла примерно втрое, а ответы стали длиннее больше чем вдвое. Интервалы (Вильсона, на 200 задачах) не пересекаются. Вот те же задачи до и после:
"""

# %% [markdown] tags=["en"]
r"""
On tasks that the model has not seen, accuracy is about three times what it was, and replies are more than twice as long. The intervals (Wilson's, on 200 tasks) do not overlap. The same tasks before and after:
"""

# %%
replies(test, before, after, count=3)

# %% [markdown] tags=["ru"]
r"""
Считать она не разучилась и не научилась: она дольше ищет. Ответы, на которых TRL учил, лежат рядом с запуском вместе с наградами и преимуществами — это лучший инструмент отладки из всех:
"""

# %% [markdown] tags=["en"]
r"""
It does not calculate better than before: it searches longer. The completions on which TRL trained lie beside the run, with their rewards and advantages. No tool for debugging is better:
"""

# %%
saved = sorted((FOLDER / "run" / "completions").glob("*.parquet"))[-1]
completions = pd.read_parquet(saved)
one = completions[completions["prompt"].astype(str) == str(completions["prompt"].iloc[0])]
one[["correctness_reward", "format_reward", "advantage"]].round(2)

# %% [markdown] tags=["ru"]
r"""
Одна группа: одинаковые награды — одинаковые преимущества, сумма близка к нулю. Ровно `group_advantages` из урока 02, только std здесь несмещённый (делится на $G - 1$, а не на $G$): преимущества меньше в $\sqrt{(G-1)/G}$ раз, при $G = 8$ — на 6 %.

## 6. Что смотреть в логах

Таблица метрик — из этого самого запуска: средние по первой и последней трети.
"""

# %% [markdown] tags=["en"]
r"""
One group: equal rewards, equal advantages, their sum near zero. It is `group_advantages` of lesson 02, except that the std is the unbiased one (divided by $G - 1$ and not by $G$): advantages are smaller by $\sqrt{(G-1)/G}$, which is 6 % at $G = 8$.

## 6. What to watch in the logs

The metrics, from this very run: means over the first and the last third.
"""

# %%
show_table(*(lambda lines: (lines[0], lines[1:]))(health.lines(rows.rows, config.max_completion_length)))

# %% [markdown] tags=["ru"]
r"""
Три строки стоит прочитать внимательно.

- **`loss` около нуля** с начала и до конца. Это норма: преимущества группы в сумме дают ноль. Совсем нулём он был бы при равном весе ответов; с `dapo` длинный ответ весит больше, поэтому к концу, когда дольше ищут над тем, что не решается, loss даже *растёт*. Модель при этом всё лучше: по loss об обучении не узнать ничего.
- **`kl` не пишется**, потому что `beta=0`: референсной модели нет, и сравнивать не с чем.
- **`frac_reward_zero_std` показывает 0**, хотя групп, где верно всё или ничего, немало: наша метрика под ней их считает. Кто-то ошибается. Награда здесь бывает 0.2, и std восьми одинаковых наград во float32 — не ноль:
"""

# %% [markdown] tags=["en"]
r"""
Three lines deserve a second look.

- **`loss` is near zero** from beginning to end. That is as it should be: the advantages of a group add up to zero. It would be zero to the digit if replies weighed the same; with `dapo` a long reply weighs more, so in the end, when the longest searches are those that find nothing, the loss even *grows*. The model gets better all the while: the loss tells nothing about learning.
- **`kl` is not logged**, because `beta=0`: there is no reference model, and so nothing to compare with.
- **`frac_reward_zero_std` says 0**, although quite a few groups are all right or all wrong: our own metric in the line below counts them. One of the two is mistaken. Rewards here may be 0.2, and the std of eight equal ones is not zero in float32:
"""

# %%
print(f"{torch.full((8,), 0.2).std():.1e}")
assert torch.full((8,), 0.2).std() > 1e-8
for metric in ("frac_reward_zero_std", EQUAL_GROUPS):
    print(f"{metric:32}", " ".join(f"{row[metric]:.2f}" for row in rows.rows))
assert not any(row["frac_reward_zero_std"] for row in rows.rows) and max(row[EQUAL_GROUPS] for row in rows.rows) > 0.05

# %% [markdown] tags=["ru"]
r"""
TRL 1.16 считает нулём то, что меньше $10^{-8}$, а здесь $1.6 \cdot 10^{-8}$. На обучении это не сказывается (разность с групповым средним всё равно исчезающе мала), но метрика слепа. Вывод шире TRL: прежде чем верить, что метрика равна нулю, убедитесь, что она умеет быть не нулём.

## 7. Чему научил RL?

«Точность выросла, ответы стали длиннее — модель научилась думать». Не торопитесь. Два опыта, которых обычно не делают:

1. **Лучший из k.** Базе дают столько же токенов, сколько тратит обученная модель, но короткими ответами; задача решена, если верен хоть один. Если этого хватит, дело в токенах.
2. **Упорство.** Базе не дают закрыть `</think>`, пока она не написала ✓. Никакого обучения, только запрет одного токена.

**Предсказание.** База — 0.21, после GRPO — 0.64. Где окажутся оба контрольных опыта?

Здесь пять сидов, у каждого своя база и своё обучение; 500 тестовых задач × 8 ответов. Посчитано заранее (`make table`).
"""

# %% [markdown] tags=["en"]
r"""
TRL 1.16 takes what is below $10^{-8}$ for zero, and here it is $1.6 \cdot 10^{-8}$. Learning does not suffer (the difference from the group's mean is vanishingly small all the same), but the metric is blind. The moral is wider than TRL: before you believe that a metric is zero, make sure that it can be anything else.

## 7. What did RL teach?

'Accuracy has risen and replies are longer: the model has learned to think.' Not so fast. Two experiments that are usually left out:

1. **Best of k.** The base gets as many tokens as the trained model spends, but in short replies; a task counts as solved if one of them is right. If that is enough, it was a matter of tokens.
2. **Persistence.** The base may not close `</think>` before it has written ✓. No training at all, one token is forbidden.

**Prediction.** The base has 0.21, after GRPO it is 0.64. Where are the two controls?

Here are five seeds, each with its own base and its own training; 500 test tasks × 8 replies. Computed beforehand (`make table`).
"""

# %%
seeds = table.load_table()
controls(seeds)

# %%
at = {"base": table.interval(lambda seed: seed["base"]["accuracy"]),
      "best": table.interval(lambda seed: seed["variants"]["preset"]["best_of"]),
      "trained": table.interval(lambda seed: seed["variants"]["preset"]["after"]["accuracy"]),
      "forced": table.interval(lambda seed: seed["forced"]["accuracy"])}
print(f"n = {len(seeds['seeds'])}; " + ", ".join(f"{name} {value}" for name, value in at.items()))
low, best, trained, forced = (value.mean for value in at.values())
assert low < best < trained < forced and 0.4 < (best - low) / (trained - low) < 0.65
assert f"{low:.2f} {best:.2f} {trained:.2f} {forced:.2f}" == "0.21 0.44 0.64 0.70"

# %% [markdown] tags=["ru"]
r"""
Токены объясняют около половины прироста (0.44). А база, которой просто не дали бросить, решает **0.70 — больше, чем обученная**, без единого шага обучения. Умение искать и узнавать верное у базы уже было; RL научил её *не бросать*. Это игрушечный вид спора из урока 01: «RL затачивает то, что база умеет». Упорство из-под палки, впрочем, стоит дорого: четверть таких ответов упирается в лимит, и форма падает до 0.73, а обученная модель умеет и закончить.

Обученная и за восемь попыток не решает больше, чем база из-под палки. Но и pass@8 базы — 0.77 — она обходит: упорных ответов база за восемь попыток почти не пишет.
"""

# %% [markdown] tags=["en"]
r"""
Tokens explain about half of the gain (0.44). And the base that was merely not allowed to give up solves **0.70, more than the trained model**, without one step of training. It could search and recognise success before; RL taught it *not to give up*. This is the toy version of the claim of lesson 01: RL sharpens what the base can do. Persistence under compulsion has its price, though: a quarter of such replies run into the limit, and the form falls to 0.73, whereas the trained model knows how to finish.

In eight attempts the trained model solves no more than the base under compulsion. It does pass the base's own pass@8 of 0.77: in eight attempts the base hardly ever persists.
"""

# %%
pass_8 = {"base": table.interval(lambda seed: seed["base"]["pass_k"]),
          "trained": table.interval(lambda seed: seed["variants"]["preset"]["after"]["pass_k"]),
          "forced": table.interval(lambda seed: seed["forced"]["pass_k"])}
print("pass@8:", ", ".join(f"{name} {value}" for name, value in pass_8.items()))
assert pass_8["base"].mean < pass_8["trained"].mean <= pass_8["forced"].mean and f"{pass_8['base'].mean:.2f}" == "0.77"
assert f"{table.interval(lambda seed: seed['forced']['format']).mean:.2f}" == "0.73"
assert 0.2 < table.interval(lambda seed: seed["forced"]["cut"]).mean < 0.3

# %% [markdown] tags=["ru"]
r"""
## 8. Лимит, форма и мягкий штраф

За верный ответ платят 1, за форму 0.2. Поиск, который упёрся в лимит, теряет и то и другое, но на длинных поисках модель всё равно зарабатывает больше. Что выйдет, если лимит — 150 токенов и никакого штрафа?
"""

# %% [markdown] tags=["en"]
r"""
## 8. The limit, the form and the soft punishment

A right answer earns 1, the form 0.2. A search that runs into the limit loses both, and still the model earns more by searching long. What comes of it with a limit of 150 tokens and no punishment?
"""

# %%
trade_off(seeds)

# %%
show_table(*(lambda lines: (lines[0], lines[1:]))(table.lines()))

# %%
shape = {name: table.interval(lambda seed, name=name: seed["variants"][name]["after"]["format"]).mean
         for name in ("limit 150", "limit 150, overlong", "preset")}
value = {name: table.interval(lambda seed, name=name: seed["variants"][name]["after"]["accuracy"]).mean for name in shape}
assert shape["limit 150"] < 0.87 < shape["limit 150, overlong"] < shape["preset"]
assert value["limit 150, overlong"] < value["preset"] - 0.03 and abs(value["limit 150"] - value["preset"]) < 0.03

# %% [markdown] tags=["ru"]
r"""
Без штрафа форма падает до 0.82: примерно каждый шестой ответ обрезан. Мягкий штраф возвращает форму (0.93), но модель начинает ответы укорачивать, и точность платит за это пять-шесть сотых. Штраф *и* лимит побольше (200) дают и то и другое: 0.64 при форме 0.96. Штраф — не бесплатная починка, а цена, и её надо мерить вместе с тем, что она покупает. Разброс между сидами большой (у одного форма осталась 0.91): по одному запуску такого не решают.

Альтернатива из лога TRL, `mask_truncated_completions=True`, в нашем случае вредна (в одном опыте форма упала до 0.63): обрезанные ответы перестают учитываться вовсе, и модель больше не узнаёт, что заканчивать надо.

## 9. Одна ловушка, которая не видна в логах

AutoTokenizer смотрит на *тип модели*. Для папки типа `qwen2` он возьмёт токенизатор Qwen, что бы ни лежало в `tokenizer.json`, и не скажет ни слова. Наша модель — `qwen3` именно поэтому.
"""

# %% [markdown] tags=["en"]
r"""
Without punishment the form falls to 0.82: about one reply in six is cut off. The soft punishment brings the form back (0.93), but the model shortens its replies, and accuracy pays five or six hundredths for that. Punishment *and* a wider limit (200) give both: 0.64 with form 0.96. The punishment is no free repair, it is a price, and has to be measured together with what it buys. Seeds differ a lot (with one of them the form stayed at 0.91): one run does not settle such a question.

The alternative in TRL, `mask_truncated_completions=True`, does harm in our case (in one experiment the form fell to 0.63): replies that were cut off no longer count at all, and the model never hears that it should finish.

## 9. A trap that no log shows

AutoTokenizer looks at the *type of the model*. For a folder of type `qwen2` it takes Qwen's tokenizer, whatever `tokenizer.json` holds, and does not say a word. That is why our model is a `qwen3`.
"""

# %%
trap = FOLDER / "qwen2"
tokenizer.save_pretrained(trap)
(trap / "config.json").write_text('{"model_type": "qwen2"}')
text = rendered(tokenizer, prompt(task, language())) + "<think>3*7=21, 21+10=31"
wanted = PreTrainedTokenizerFast.from_pretrained(trap)(text).input_ids
got = AutoTokenizer.from_pretrained(trap)(text).input_ids
print(len(wanted), tr(en="tokens wanted,", ru="токенов должно быть,"), len(got), tr(en="tokens got", ru="получилось"))
assert wanted != got

# %% [markdown] tags=["ru"]
r"""
Модель с чужим токенизатором читает бессмыслицу: в нашем опыте точность упала с 0.09 до 0.002, а обучение шло как ни в чём не бывало. `load_tokenizer` курса сравнивает оба и верит файлу. Своей модели передавайте `processing_class=` явно.

## 10. На видеокарты

Дальше ничего не выполняется: видеокарты у нас не было, и **запуски ниже не проверены на GPU**. Проверено другое: что команды разбираются, каждый конфиг собирает установленная TRL, а под `accelerate` с двумя процессами на CPU шаг видит вдвое больше промптов. Память и время ниже посчитаны, а не измерены.

**Одна карта.** Без сети: `hf download Qwen/Qwen2.5-0.5B-Instruct` там, где она есть, и путь к папке вместо имени.

```bash
python -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --eval
```

**Четыре карты.** Промптов на шаг станет 16; чтобы шаг остался прежним, накопление 1.

```bash
accelerate launch --num_processes 4 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --set gradient_accumulation_steps=1
```

**Сервер vLLM.** Узкое место — генерация. Карта 0 только генерирует, три обучают.

```bash
# терминал 1; `trl vllm-serve --model …` в TRL 1.16 — устаревшая обёртка вокруг той же команды
CUDA_VISIBLE_DEVICES=0 VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen2.5-0.5B-Instruct --port 8000 --logprobs-mode processed_logprobs --max-logprobs -1 --weight-transfer-config '{"backend":"nccl"}' --enable-scale-out
# терминал 2
CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --vllm server
```

**Без отдельной карты.** vLLM на тех же картах, что и обучение; память они делят.

```bash
accelerate launch --num_processes 4 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --vllm colocate --set vllm_gpu_memory_utilization=0.3
```

**ZeRO и LoRA.** Конфигурации лежат внутри TRL; во всех написано 8 процессов, поэтому число передавайте.

```bash
accelerate launch --config_file "$(python -m lib.llm.train_trl --config-file zero2)" --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-1.5B-Instruct
accelerate launch --config_file "$(python -m lib.llm.train_trl --config-file zero3)" --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-3B-Instruct
accelerate launch --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-7B-Instruct --lora
```

## 11. Поместится ли

Полное обучение с Adam — 16 байт на параметр. Отсюда и таблица: карты 1–3 обучают, по 16 ГБ каждая.
"""

# %% [markdown] tags=["en"]
r"""
A model with a foreign tokenizer reads nonsense: in our experiment accuracy fell from 0.09 to 0.002, and training went on as if nothing had happened. The course's `load_tokenizer` compares the two and believes the file. For a model of your own, pass `processing_class=`.

## 10. On to GPUs

Nothing is executed from here on: we had no GPU, and **the runs below were not tried on one**. What was tried: that the commands parse, that the installed TRL builds each configuration, and that under `accelerate` with two processes on a CPU a step sees twice the prompts. Memory and times below are computed, not measured.

**One card.** Without network: `hf download Qwen/Qwen2.5-0.5B-Instruct` where there is one, and the folder's path in place of the name.

```bash
python -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --eval
```

**Four cards.** That makes 16 prompts a step; for the step to stay the same, set the accumulation to 1.

```bash
accelerate launch --num_processes 4 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --set gradient_accumulation_steps=1
```

**A vLLM server.** Generation is the bottleneck. Card 0 only generates, three train.

```bash
# terminal 1; `trl vllm-serve --model …` is a deprecated wrapper around the same command in TRL 1.16
CUDA_VISIBLE_DEVICES=0 VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen2.5-0.5B-Instruct --port 8000 --logprobs-mode processed_logprobs --max-logprobs -1 --weight-transfer-config '{"backend":"nccl"}' --enable-scale-out
# terminal 2
CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --vllm server
```

**No card to spare.** vLLM on the cards that train; they share the memory.

```bash
accelerate launch --num_processes 4 -m lib.llm.train_trl --model Qwen/Qwen2.5-0.5B-Instruct --vllm colocate --set vllm_gpu_memory_utilization=0.3
```

**ZeRO and LoRA.** The configurations lie inside TRL; all of them say 8 processes, so pass the number.

```bash
accelerate launch --config_file "$(python -m lib.llm.train_trl --config-file zero2)" --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-1.5B-Instruct
accelerate launch --config_file "$(python -m lib.llm.train_trl --config-file zero3)" --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-3B-Instruct
accelerate launch --num_processes 3 -m lib.llm.train_trl --model Qwen/Qwen2.5-7B-Instruct --lora
```

## 11. Does it fit?

Full training with Adam takes 16 bytes a parameter. Hence the table: cards 1–3 train, with 16 GB each.
"""

# %%
body = []
for name, sizes in MODELS.items():
    shares = [sum(state_bytes(sizes, placement, 3).values()) / 1e9 for placement in ("copy", "zero2", "zero3", "lora")]
    body.append([name, f"{sizes.parameters / 1e9:.2f}", *(f"{share:.1f}" for share in shares)])
states = {row[0]: row[2:] for row in body}
assert states["Qwen2.5-1.5B"][:2] == ["24.7", "10.3"] and states["Qwen2.5-3B"][2] == "16.5"
show_table([tr(en="model", ru="модель"), tr(en="parameters, billion", ru="параметров, млрд"),
            tr(en="a copy, GB", ru="копия, ГБ"), "ZeRO-2 / 3", "ZeRO-3 / 3", "LoRA"], body)

# %% [markdown] tags=["ru"]
r"""
Это состояние обучения, а на карте нужно место и для активаций, логитов и буферов обмена. Панель считает всё; точны веса, градиенты и Adam, остальное — оценка. Найдите самую большую модель, которая обучится на ваших картах целиком, без LoRA.
"""

# %% [markdown] tags=["en"]
r"""
This is the state of training; a card also needs room for activations, logits and buffers. The panel counts all of it: weights, gradients and Adam exactly, the rest estimated. Find the largest model that your cards can train in full, without LoRA.
"""

# %%
SizingPanel()

# %%
for name, placement, cards in (("Qwen2.5-0.5B", "copy", 3), ("Qwen2.5-1.5B", "copy", 3), ("Qwen2.5-1.5B", "zero2", 3),
                               ("Qwen2.5-3B", "zero3", 3), ("Qwen2.5-7B", "lora", 3)):
    print(f"{name:13} {placement:6}", verdict(MODELS[name], cards, placement, card_gb=16).text)

# %% [markdown] tags=["ru"]
r"""
Там, где таблица состояния говорит «впритык», полный счёт строже: 3B с ZeRO-3 на трёх картах по 16 ГБ не поместится, если считать и буферы, а для 7B с LoRA 16 ГБ мало.

**Цена PCIe.** После каждого шага тренер отправляет веса серверу vLLM. При 10 ГБ/с:
"""

# %% [markdown] tags=["en"]
r"""
Where the table of states says 'just about', the full account is stricter: 3B with ZeRO-3 on three cards of 16 GB does not fit once buffers are counted, and 16 GB are too few for 7B with LoRA.

**The price of PCIe.** After each step the trainer sends the weights to the vLLM server. At 10 GB/s:
"""

# %%
sent = {name: (transfer_seconds(sizes, 10), transfer_seconds(sizes, 10, "copy")) for name, sizes in MODELS.items()}
assert [round(sent[name][0], 1) for name in ("Qwen2.5-0.5B", "Qwen2.5-3B", "Qwen2.5-7B")] == [0.1, 0.6, 1.5]
show_table([tr(en="model", ru="модель"), tr(en="bfloat16, s", ru="bfloat16, с"), tr(en="float32, s", ru="float32, с")],
           [[name, f"{half:.2f}", f"{full:.2f}"] for name, (half, full) in sent.items()])

# %% [markdown] tags=["ru"]
r"""
Вторая колонка — для копий: TRL грузит веса во float32 и так же их отправляет, вдвое дольше.

**Кто кого ждёт.** В синхронном RL карта 0 простаивает, пока обучают остальные, и наоборот. Асинхронные фреймворки (AReaL, slime) убирают простой: генерация не останавливается, а политика, которой сэмплируют, отстаёт на шаг-другой. За это платят тем, что ratio в цели GRPO уже не равен 1, и клиппинг начинает работать.
"""

# %% [markdown] tags=["en"]
r"""
The second column is for copies: TRL loads weights in float32 and sends them so, which takes twice as long.

**Who waits for whom.** In synchronous RL card 0 is idle while the others train, and the other way round. Asynchronous frameworks (AReaL, slime) do away with that: generation never stops, and the policy that samples is a step or two behind. The price is that the ratio in GRPO's objective is no longer 1, and the clip begins to act.
"""

# %%
times = step_seconds(MODELS["Qwen2.5-3B"], CARDS["RTX 4080"], 96, engine="vllm", cards=3, placement="zero3")
timelines(times["generation"], times["training"])

# %% [markdown] tags=["ru"]
r"""
## 12. Чего ждать от 0.5B

Авторы TinyZero пишут: базовая Qwen2.5-0.5B на Countdown рассуждать не учится, 3B — учится. Instruct-версия начинает выше нуля, и это меняет дело, но чуда за 300 шагов не ждите. И прежде чем объявить о прогрессе, посчитайте интервал:
"""

# %% [markdown] tags=["en"]
r"""
## 12. What to expect of 0.5B

The authors of TinyZero report that the base Qwen2.5-0.5B does not learn to reason on Countdown, and 3B does. The Instruct version starts above zero, which changes matters, but expect no miracle of 300 steps. And before you announce progress, work out the interval:
"""

# %%
for n in (30, 200, 1000):
    (low_a, high_a), (low_b, high_b) = evaluate.wilson(0.10, n), evaluate.wilson(0.17, n)
    overlap = tr(en="overlap", ru="пересекаются") if high_a > low_b else tr(en="apart", ru="врозь")
    print(f"n = {n:4}   0.10: {low_a:.2f}–{high_a:.2f}   0.17: {low_b:.2f}–{high_b:.2f}   {overlap}")

# %% [markdown] tags=["ru"]
r"""
На тридцати задачах рост с 10 % до 17 % — это три задачи против пяти, то есть ничего. Берите сотни задач, держите честный тест отдельно и говорите n. А с моделью побольше (`Qwen/Qwen2.5-1.5B-Instruct`, `Qwen/Qwen3-1.7B`, `Qwen/Qwen2.5-3B`) на том же скрипте уже можно поймать свой «момент озарения».

## 13. Проверьте себя
"""

# %% [markdown] tags=["en"]
r"""
On thirty tasks, from 10 % to 17 % means five tasks instead of three, which is nothing. Take hundreds of tasks, keep an honest test set apart, and say n. With a larger model (`Qwen/Qwen2.5-1.5B-Instruct`, `Qwen/Qwen3-1.7B`, `Qwen/Qwen2.5-3B`) the same script may show you an 'aha moment' of your own.

## 13. Check yourself
"""

# %%
show_quiz("05")

# %% [markdown] tags=["ru"]
r"""
**Что дальше.** Запустите `python -m lib.llm.train_trl --eval` из терминала: та же тренировка с чекпоинтами, Ctrl-C и `--resume`. Потом сломайте её: `--set learning_rate=3e-3`, `--overlong 0 --set max_completion_length=100`, `--set num_generations=2`. Каждый раз сначала предскажите, какая строка таблицы из раздела 6 станет красной.
"""

# %% [markdown] tags=["en"]
r"""
**What next.** Run `python -m lib.llm.train_trl --eval` in a terminal: the same training with checkpoints, Ctrl-C and `--resume`. Then break it: `--set learning_rate=3e-3`, `--overlong 0 --set max_completion_length=100`, `--set num_generations=2`. Each time predict first which line of the table in section 6 will turn unhealthy.
"""
