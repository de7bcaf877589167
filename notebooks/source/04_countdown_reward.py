# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] tags=["ru"]
r"""
# 04. Countdown: награда, которую модель не обманет

**После урока вы сможете**

- сгенерировать задачи Countdown, разделить их на обучение и тест и сказать, насколько они трудны;
- взломать пять проверщиков, которые выглядят разумно, и объяснить, чем каждый из них поплатился;
- написать награду, которую текст модели не обманет, не уронит и не подвесит;
- проверить награду *до* обучения и решить, сколько платить за формат.

Время: 45–50 минут. Нужны Python и урок 02 (преимущества в группе). Видеокарта не нужна: модели в этом уроке нет вовсе, её роль играете вы.
"""

# %% [markdown] tags=["en"]
r"""
# 04. Countdown: a reward that a model cannot cheat

**After this lesson you will be able to**

- generate Countdown tasks, split them into training and test, and say how hard they are;
- break five checkers that look reasonable, and explain what each of them paid for it;
- write a reward that model text can neither cheat, crash nor hang;
- test a reward *before* training, and decide what the format should earn.

Time: 45–50 minutes. You need Python and lesson 02 (advantages within a group). No GPU: there is no model in this lesson at all, you play its part.
"""

# %% tags=["ru"]
import os

os.environ["COURSE_LANG"] = "ru"

# %% tags=["en"]
import os

os.environ["COURSE_LANG"] = "en"

# %%
from lib.countdown import PROMPTS, correctness_reward, format_reward, make_countdown, naive, rewards, tasks, verifier
from lib.countdown.explain import explain
from lib.countdown.solver import solutions
from lib.i18n import language, tr
from lib.ui.attack_box import AttackBox
from lib.ui.attacks import attack, picture, run_battery, summary
from lib.ui.cells import plain, show_figures, source, table
from lib.ui.difficulty import difficulties
from lib.ui.quiz import show_quiz
from lib.ui.reward_design import bonus_maps, form_earnings, near_misses, races, reasoning_left, sum_or_search

show_figures()

# %% [markdown] tags=["ru"]
r"""
## 1. Задача

Даны числа, например 3, 7 и 10, и цель 31. Нужно выражение, в котором каждое число стоит ровно один раз: $3 \cdot 7 + 10 = 31$. На этой головоломке TinyZero воспроизвёл R1-Zero, и выбрана она не случайно: решение нужно **искать**, перебирая варианты, а проверить его может короткая программа. Награда, которую вычисляет программа, и есть RLVR: RL с проверяемой наградой.

Данных скачивать не нужно, задачи делает генератор. Он составляет случайное выражение и прячет его, оставляя числа и значение, — поэтому у каждой задачи есть хотя бы одно решение.
"""

# %% [markdown] tags=["en"]
r"""
## 1. The task

Given are some numbers, say 3, 7 and 10, and a target, 31. Wanted is an expression in which each number stands exactly once: $3 \cdot 7 + 10 = 31$. This is the puzzle on which TinyZero reproduced R1-Zero, and for good reason: a solution has to be **searched** for, trying one thing after another, while a short program can check it. A reward that a program computes is RLVR: RL with verifiable rewards.

There is nothing to download, a generator makes the tasks. It builds a random expression and hides it, leaving the numbers and the value, so each task has at least one solution.
"""

# %%
make_countdown(3)

# %%
for one in make_countdown(3):
    found = solutions(one["nums"], one["target"])
    assert found
    print(one, "   ", ", ".join(found))

# %% [markdown] tags=["ru"]
r"""
Решатель `solutions` находит все решения точно, в дробях; записи, которые отличаются лишь порядком слагаемых и скобками, он считает за одно.

**Предсказание.** Какую долю задач с тремя числами решит модель, которая умеет только складывать и вычитать? И где решений больше: когда чисел три или когда четыре?
"""

# %% [markdown] tags=["en"]
r"""
The solver `solutions` finds them all exactly, in fractions; expressions that differ only in the order of terms or in parentheses count once.

**Prediction.** What share of the tasks with three numbers can be solved by a model that only adds and subtracts? And which have more solutions, those with three numbers or those with four?
"""

# %%
difficulties({
    tr(en="3 numbers, (a ∘ b) ∘ c with + − ×", ru="3 числа, (a ∘ b) ∘ c с + − ×"): make_countdown(300),
    tr(en="3 numbers, any shape, ÷ too", ru="3 числа, любая форма, ещё и ÷"):
        make_countdown(300, operators="+-*/", shapes="any"),
    tr(en="4 numbers, any shape, ÷ too", ru="4 числа, любая форма, ещё и ÷"):
        make_countdown(300, operators="+-*/", shapes="any", n_numbers=4),
})

# %%
sums = [sum(one["nums"]) == one["target"] for one in make_countdown(2000)]
print(f"a + b + c: {sum(sums) / len(sums):.0%}")
assert 0.15 < sum(sums) / len(sums) < 0.35

# %% [markdown] tags=["ru"]
r"""
Больше половины задач не требуют умножения, а примерно каждую пятую решает просто сумма. Запомните это число: оно ещё понадобится в разделе 11. Высокая точность на таких задачах может означать всего лишь «модель научилась складывать», поэтому вместе с точностью полезно знать, какие именно задачи решены.

Четвёртое число прибавляет решений — и ещё больше неверных путей.

**Обучение и тест.** К какой части относится задача, решают её собственные числа и цель (через хеш), а не сид и не размер набора. Поэтому обучающая и тестовая части не пересекутся, даже если их сделали в разное время на разных машинах.
"""

# %% [markdown] tags=["en"]
r"""
More than half of the tasks need no multiplication, and about one in five is solved by a mere sum. Keep that figure in mind for section 11. A high accuracy on such tasks may mean no more than 'the model has learned to add', so know which tasks are solved, not only how many.

A fourth number brings more solutions, and even more wrong ways.

**Training and test.** To which part a task belongs is decided by its own numbers and target (by a hash), not by the seed or the size of the set. So training and test cannot overlap, even when they were made on two machines a year apart.
"""

# %%
train, test = make_countdown(4000), make_countdown(500, seed=7, split="test")
overlap = {tasks.task_key(one) for one in train} & {tasks.task_key(one) for one in test}
print(len(train), len(test), len(overlap))
assert not overlap

# %% [markdown] tags=["ru"]
r"""
## 2. Что мы просим и за что платим

Промпт просит рассуждать внутри `<think>`, а в `<answer>` записать одно только выражение. Платить будем за две вещи: **0.2** за форму и **1.0** за верный ответ. Почему именно столько — в разделе 11.
"""

# %% [markdown] tags=["en"]
r"""
## 2. What we ask for and what we pay for

The prompt asks the model to reason inside `<think>` and to write nothing but the expression inside `<answer>`. Two things will be paid: **0.2** for the form and **1.0** for a right answer. Why these amounts: section 11.
"""

# %%
print(PROMPTS[language()].format(nums=[3, 7, 10], target=31))

# %% [markdown] tags=["ru"]
r"""
Теперь проверщик. Это ваш код, но выполняется он на **тексте модели**, а модель получает награду за всё, что через него пройдёт. За миллион ответов она найдёт любую дыру: ей не нужно понимать, что это дыра, достаточно один раз в неё попасть — награда сделает остальное.

Дальше — пять проверщиков, от наивного до почти хорошего. Каждый исправляет предыдущий, и каждый мы взломаем. Ошибки в них не выдуманы: на `9**9**9` при нашей проверке зависли награды TinyZero, nano-aha, mini-R1 и GRPO-Zero, а две популярные библиотеки выполнили код из ответа. Проверщики запускаются по-настоящему, но в отдельном процессе: в пустой папке, с ограничением памяти и времени в одну секунду.
"""

# %% [markdown] tags=["en"]
r"""
Now the checker. It is your code, but it runs on the **model's text**, and the model is rewarded for whatever passes. Over a million replies it will find any hole: it need not understand that this is one, it is enough to fall into it once, and the reward does the rest.

Here come five checkers, from naive to nearly good. Each mends the one before, and we shall break them all. Their faults are not made up: when we tried them, the rewards of TinyZero, nano-aha, mini-R1 and GRPO-Zero hung on `9**9**9`, and two popular libraries executed code from the reply. The checkers really run, but in a process of their own: in an empty folder, with a limit of memory and one second of time.
"""

# %% [markdown] tags=["ru"]
r"""
## 3. Проверщик первый: пусть посчитает Python
"""

# %% [markdown] tags=["en"]
r"""
## 3. The first checker: let Python compute it
"""

# %%
source(naive.bare_eval)

# %% [markdown] tags=["ru"]
r"""
Три строки, и простое решение оплачено верно. **Предсказание:** придумайте три ответа, за которые он заплатит зря, и один, после которого обучение уже не продолжится.
"""

# %% [markdown] tags=["en"]
r"""
Three lines, and a plain solution is paid as it should be. **Prediction:** think of three replies that it pays without merit, and of one after which the training does not go on.
"""

# %%
attack("bare_eval", "plain", "target", "missing", "by zero", "write a file", "tower")

# %% [markdown] tags=["ru"]
r"""
- `31` — «выражение», равное цели. Числа никто не сверял.
- `10/(7-7)+3` — обычная ошибка модели, не атака. Исключение в функции награды останавливает всё обучение, часто посреди ночи.
- `eval` выполнил код из ответа: в папке появился файл. С тем же успехом он мог бы стереть ваши или отправить ваш токен в сеть.
- `9**9**9` — число из 369 693 100 цифр. Python честно его считает.
"""

# %% [markdown] tags=["en"]
r"""
- `31` is an 'expression' that equals the target. Nobody compared the numbers.
- `10/(7-7)+3` is an ordinary mistake of a model, no attack. An exception in a reward function ends the whole training, often in the middle of the night.
- `eval` executed code from the reply: a file appeared in the folder. It could have deleted yours as well, or sent your token away.
- `9**9**9` is a number of 369 693 100 digits. Python sets out to compute it.
"""

# %% [markdown] tags=["ru"]
r"""
## 4. Второй: без встроенных функций

Обычный совет: отнять у `eval` всё опасное и сверить числа.
"""

# %% [markdown] tags=["en"]
r"""
## 4. The second: without builtins

The usual advice: take everything dangerous away from `eval`, and count the numbers.
"""

# %%
source(naive.no_builtins)

# %%
attack("no_builtins", "plain", "target", "write a file", "way around", "attribute", "modulo", "tower",
       "sprayed")

# %% [markdown] tags=["ru"]
r"""
Цель больше не проходит, и `__import__` недоступен. Но у любого кортежа есть класс, у класса — предок `object`, у `object` — список всех подклассов, а среди них найдётся один, в чьём модуле лежит `system`. Ни одной встроенной функции не понадобилось: `{"__builtins__": {}}` отнимает имена, а не возможности.

И ещё одно: четыре тега в беспорядке без единого слова получили все 0.2 за форму. Платить за каждый тег отдельно — значит учить модель сыпать тегами.
"""

# %% [markdown] tags=["en"]
r"""
The target no longer passes, and `__import__` is out of reach. But every tuple has a class, the class has an ancestor `object`, `object` has a list of all its subclasses, and one of them lives in a module that holds `system`. Not one builtin was needed: `{"__builtins__": {}}` takes names away, not powers.

One thing more: four tags in disorder, without a single word, earned all of the 0.2 for the form. To pay each tag by itself is to teach the model to spray tags.
"""

# %% [markdown] tags=["ru"]
r"""
## 5. Третий: белый список символов

Так пишут во многих курсах и репозиториях: только цифры и знаки, `**` запрещено, форма — одним регулярным выражением. Код из ответа теперь не выполнится. **Предсказание:** что останется?
"""

# %% [markdown] tags=["en"]
r"""
## 5. The third: allowed characters only

Many courses and repositories do it like this: digits and signs only, `**` is banned, one regular expression for the form. Code from a reply can no longer run. **Prediction:** what is left?
"""

# %%
source(naive.allowed_characters)

# %%
attack("allowed_characters", "plain", "way around", "tower", "206 characters", "3000 signs", "4301 digits",
       "floor", "decimal", "list", "draft", "empty", "tag flood")

# %% [markdown] tags=["ru"]
r"""
Выполнение кода и башня из степеней отбиты. Остального не видно, пока не попробуешь:

- **Падения.** Двести шесть символов, и парсеру Python «не хватает памяти»; три тысячи минусов, и компилятор уходит слишком глубоко в рекурсию; 4301 цифра, и `int` отказывается её читать. Ни одно из этих исключений в списке `except` не стоит. (Какое именно исключение вы увидите, зависит от версии Python.)
- **Чужая арифметика.** `7//2+1` проходит: в белом списке есть `/`, а `//` никто не запретил. `1.5*4` собрано из 1, 5 и 4.
- **Первый ответ выигрывает.** Модель перечисляет варианты, и платят за первый, хотя итог неверен. Или верный черновик внутри `<think>`, а в ответе — другое.
- **Пустые теги** получают 0.2.
- **Регулярное выражение** с двумя `.*?` на повторяющихся тегах работает квадратичное время: 500 килобайт текста — и проверка не заканчивается за секунду.
"""

# %% [markdown] tags=["en"]
r"""
Code and the tower of powers are beaten off. What else there is does not show until it is tried:

- **Crashes.** Two hundred and six characters, and Python's parser 'runs out of memory'; three thousand minus signs, and the compiler recurses too deep; 4301 digits, and `int` refuses to read them. None of these exceptions stands in the `except`. (Which exception exactly you see depends on the version of Python.)
- **Another arithmetic.** `7//2+1` passes: `/` is allowed, and nobody banned `//`. `1.5*4` is made of 1, 5 and 4.
- **The first answer wins.** The model lists several, and the first is paid although the last is wrong. Or a right draft stands inside `<think>`, and something else in the answer.
- **Empty tags** earn 0.2.
- **The regular expression** with two `.*?` takes quadratic time on repeated tags: 500 kilobytes of text, and the check does not end within a second.
"""

# %% [markdown] tags=["ru"]
r"""
## 6. Четвёртый: прощающий

Модели пишут `3×7+10 = 31`. Обидно не заплатить! Заменим знаки, отрежем всё после `=`, уберём лишнее, сравним с допуском, возьмём последний ответ, а все исключения перехватим.
"""

# %% [markdown] tags=["en"]
r"""
## 6. The fourth: forgiving

Models write `3×7+10 = 31`. What a pity not to pay! So replace the signs, cut off what follows `=`, drop whatever does not belong, compare with a tolerance, take the last answer, and catch all exceptions.
"""

# %%
source(naive.forgiving)

# %%
attack("forgiving", "cross", "206 characters", "list", "equation and more", "quotes", "tolerance", "caret",
       "hidden exponents", "crossed", "tower")

# %% [markdown] tags=["ru"]
r"""
`except Exception` спасает от исключений и больше ни от чего: башня по-прежнему висит, ведь зависание — это не исключение. А каждая любезность стала лазейкой: `=banana` и кавычки проходят, `^` превратился в степень, допуск принял 31.000006, `1e1` не попал в подсчёт чисел, зато попал в значение.

Если модель пишет `= 31`, дешевле не прощать: пока хоть часть ответов обходится без этого, RL отучит от неоплаченной привычки сам. Прощённая же останется, и найдётся, на что её приспособить.
"""

# %% [markdown] tags=["en"]
r"""
`except Exception` saves us from exceptions and from nothing else: the tower still hangs, for a hang is no exception. And every kindness became a loophole: `=banana` and the quotes pass, `^` has turned into a power, the tolerance took 31.000006, and `1e1` was overlooked when numbers were counted but not when the value was computed.

Where a model writes `= 31`, not to forgive is cheaper: as long as some replies do without it, RL itself breaks a habit that goes unpaid. One that is forgiven stays, and some use will be found for it.
"""

# %% [markdown] tags=["ru"]
r"""
## 7. Пятый: свой парсер

Хватит `eval`. Небольшой рекурсивный парсер, точные дроби — так написал бы аккуратный инженер. **Предсказание:** на чём он упадёт?
"""

# %% [markdown] tags=["en"]
r"""
## 7. The fifth: a parser of our own

Enough of `eval`. A small recursive parser, exact fractions: what a careful engineer would write. **Prediction:** what makes it fall?
"""

# %%
source(naive.recursive)

# %%
attack("recursive", "plain", "thirds", "way around", "tolerance", "3000 parentheses", "3000 signs", "4301 digits",
       "leading dot", "full width", "two thoughts", "closing flood")

# %% [markdown] tags=["ru"]
r"""
Лучше всех предыдущих: код не выполняется, арифметика точная. Но парсер вызывает сам себя, и глубина стека — в руках модели; `\d` и `int` понимают цифры любой письменности; `int` падает на точке и на 4301-й цифре; форму проверяет всё то же регулярное выражение.

Общая причина у всех пяти одна: текст модели попадает туда, где от него зависит **что выполнится**, **как глубоко** или **как долго**.
"""

# %% [markdown] tags=["en"]
r"""
Better than all before: no code runs and the arithmetic is exact. But the parser calls itself, and how deep is up to the model; `\d` and `int` read the digits of every script; `int` falls over a dot and over the 4301st digit; the form is still checked by that regular expression.

All five share one cause: the model's text gets to where it decides **what is executed**, **how deep** or **for how long**.
"""

# %% [markdown] tags=["ru"]
r"""
## 8. Награда курса

Сначала правило словами, потом код: спорить удобнее о правиле.

- **Форма.** Весь ответ — один `<think>…</think>` и за ним один `<answer>…</answer>`: каждый из четырёх тегов ровно по разу, снаружи только пробельные символы ASCII, оба блока не пусты.
- **Какой ответ считается.** Всё до последнего `</think>` — черновик. В остатке берём последний закрытый `<answer>`. Верный ответ без рассуждения верен, просто без надбавки за форму.
- **Выражение.** Целые числа ASCII без нулей в начале, `+ - * /`, скобки; знак — только в начале или сразу после `(`. Каждое данное число ровно один раз. Значение — точная дробь, без допуска.
"""

# %% [markdown] tags=["en"]
r"""
## 8. The course's reward

First the rule in words, then the code: a rule is easier to argue about.

- **Form.** The whole reply is one `<think>…</think>` and then one `<answer>…</answer>`: each of the four tags exactly once, nothing but ASCII white space outside, neither block blank.
- **Which answer counts.** Everything up to the last `</think>` is a draft. In the rest, the last `<answer>` that is closed. A right answer without reasoning is right, only without the bonus for the form.
- **The expression.** ASCII integers without leading zeros, `+ - * /`, parentheses; a sign only at the start or right after `(`. Each given number exactly once. The value is an exact fraction, without tolerance.
"""

# %%
source(verifier.format_fault, verifier.final_answer)

# %% [markdown] tags=["ru"]
r"""
Ни одного регулярного выражения: `count`, `partition` и `rfind` проходят текст по разу. Порядок тегов отдельно не проверяется, он следует из разрезания: если тег стоит не на месте, он окажется снаружи блоков или закрывающего не найдётся.

Теперь выражение. Обратите внимание на порядок: сначала символы, затем числа сравниваются **как текст**, и лишь потом что-то вычисляется. Чужое число до `int` не доходит, какой бы длины оно ни было.
"""

# %% [markdown] tags=["en"]
r"""
Not one regular expression: `count`, `partition` and `rfind` each pass over the text once. The order of the tags needs no check of its own, it follows from the cutting: a tag in the wrong place ends up outside the blocks, or the closing one is not found.

Now the expression. Mind the order: first the characters, then the numbers, compared **as text**, and only then is anything computed. A number that was not given never reaches `int`, however long it is.
"""

# %%
source(verifier.refusal)

# %% [markdown] tags=["ru"]
r"""
Единственная шаблонная строка — `[0-9]+|[^ …]`: либо цифры подряд, либо один символ. Квантификатор в ней один, поэтому откатываться некуда.

Вычисление — один проход по токенам. Скобки складываются в список, а не в стек вызовов Python, поэтому три тысячи скобок — это просто список из трёх тысяч элементов. Дроби — пары целых чисел, без сокращения: сравнить $n/d$ с целью можно и умножением.
"""

# %% [markdown] tags=["en"]
r"""
The only pattern is `[0-9]+|[^ …]`: digits in a row, or one character. It has one quantifier, so there is nothing to backtrack into.

The value is computed in one pass over the tokens. Parentheses go to a list and not to Python's call stack, so three thousand of them are just a list of three thousand. Fractions are pairs of integers, not reduced: to compare $n/d$ with the target, a multiplication will do.
"""

# %%
source(verifier.evaluate)

# %% [markdown] tags=["ru"]
r"""
И сами функции награды. TRL вызывает каждую со списком ответов, а столбцы набора данных (`nums`, `target`) передаёт по именам; лишнее собирает `**kwargs`. Для verl та же проверка завёрнута в `compute_score`.
"""

# %% [markdown] tags=["en"]
r"""
And the reward functions themselves. TRL calls each with a list of replies and passes the columns of the data set (`nums`, `target`) by name; `**kwargs` takes the rest. For verl the same check is wrapped in `compute_score`.
"""

# %%
source(rewards.format_reward, rewards.correctness_reward, rewards.compute_score, rewards.text_of)

# %% [markdown] tags=["ru"]
r"""
**Шесть ответов, написанных от руки.** Это самый дешёвый тест на свете, и начинать стоит с него. Выпишите для каждого ответа обе награды, потом запускайте.
"""

# %% [markdown] tags=["en"]
r"""
**Six replies, written by hand.** This is the cheapest test there is, and the one to begin with. Write down both rewards of each reply, then run the cell.
"""

# %%
by_hand = [
    "<think>3*7=21, 21+10=31</think><answer>3*7+10</answer>",
    "<think>...</think><answer>7*3+10+0</answer>",
    "<think>...</think><answer>3*7+7+3</answer>",
    "<answer>(3*7)+10</answer>",
    "<think>?</think><answer>9**9**9</answer>",
    [{"role": "assistant", "content": "<think>ok</think> <answer>10 + 3*7</answer>"}],     # a chat
]
print(format_reward(by_hand))
print(correctness_reward(by_hand, nums=[[3, 7, 10]] * 6, target=[31] * 6))
assert format_reward(by_hand) == [0.2, 0.2, 0.2, 0.0, 0.2, 0.2]
assert correctness_reward(by_hand, [[3, 7, 10]] * 6, [31] * 6) == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]

# %%
verdicts = [explain(reply, [3, 7, 10], 31) for reply in by_hand]
rows = [[("✓ " if v.form else "✗ ") + plain(v.form_why), ("✓ " if v.right else "✗ ") + plain(v.right_why)] for v in verdicts]
table([tr(en="form", ru="форма"), tr(en="answer", ru="ответ")], rows)

# %% [markdown] tags=["ru"]
r"""
**Ответ сломан или данные сломаны?** Плохой ответ — дело обычное, за него платят ноль. Плохой набор данных — ошибка автора, и молчать о ней нельзя: если `target` потерялся, любая награда бессмысленна. Поэтому здесь исключение, сразу и с номером строки.
"""

# %% [markdown] tags=["en"]
r"""
**Is the reply broken, or the data?** A bad reply is everyday business and earns nothing. A bad data set is its author's mistake and must not be passed over in silence: where `target` was lost, every reward is meaningless. So here there is an exception, at once, with the row.
"""

# %%
for data in ({"nums": [[3, 7, 10]], "target": [31]}, {"nums": [[3, 7, 10], None], "target": [31, 31]},
             {"nums": [[3, 7, 10]] * 2, "target": [31, float("nan")]}):
    try:
        correctness_reward(by_hand[:2], **data)
    except ValueError as error:
        print(error)

# %% [markdown] tags=["ru"]
r"""
## 9. Ваш ход: взломайте её

Пишите что угодно от имени модели. В таблице — что сказал каждый проверщик и за сколько времени, под ней — по какому правилу решил последний. Готовые атаки есть в списке.

Первые два проверщика действительно выполняют то, что вы напишете: в отдельном процессе и с ограничением времени, но это не тюрьма. Не пишите туда того, чего не запустили бы сами.
"""

# %% [markdown] tags=["en"]
r"""
## 9. Your move: break it

Write whatever you like in the model's name, and see what each checker says, how long it took, and by which rule the last one refuses. Ready-made attacks are in the list.

The first two checkers really execute what you write: in a process of their own and with a time limit, but that is no prison. Write nothing there that you would not run yourself.
"""

# %%
AttackBox()

# %% [markdown] tags=["ru"]
r"""
## 10. Как проверяют награду до RL

Нашли новый обман? Место ему в **наборе**: это список ответов, где правильный вердикт поставлен рукой и по правилу, а не тем кодом, который проверяют. Набор прогоняют на каждой правке награды, как обычные тесты.

Одних атак в наборе мало. Проверщик, который всем отказывает, отбил бы их все, поэтому там есть и честные решения, и честные ошибки, и странные, но верные ответы. Посмотрим, как справляются все шестеро.
"""

# %% [markdown] tags=["en"]
r"""
## 10. How to test a reward before RL

Have you found a new trick? Its place is in the **battery**: a list of replies whose right verdict was put there by hand, from the rule and not by the code under test. Run it at every change of the reward, as ordinary tests.

Attacks alone are not enough. A checker that refuses everybody would beat them all, so there are honest solutions too, honest mistakes, and odd replies that are right. Let us see how the six of them do.
"""

# %%
results = run_battery()
picture(results)

# %%
assert set(results["final"].values()) == {"fine"}
summary(results)

# %% [markdown] tags=["ru"]
r"""
Случаев здесь 106: ещё девять — чаты и прочие формы ответа, а эти проверщики берут только текст. Честные решения оплачивают почти все, поэтому на глаз любой из пяти «работает». Разница видна на ошибках и там, куда модель придёт под давлением награды.

Часть клеток — вопрос договора: `3*7--10` Python считает верным, а наше правило нет. Важно, чтобы правило было записано, было строгим и чтобы код ему следовал.

Наша награда ещё и быстрее: целые числа и цикл по токенам дешевле, чем `eval`, которому каждое выражение нужно разобрать и скомпилировать. Измерить на своей машине: `python -m lib.countdown.bench`.
"""

# %% [markdown] tags=["en"]
r"""
There are 106 cases here: nine more are chats and other shapes, and these checkers take only text. Nearly all pay the honest solutions, so at a glance any of the five 'works'. The difference shows on mistakes, and where the pressure of the reward will drive the model.

Some cells are a matter of agreement: Python takes `3*7--10` for right, our rule does not. What matters is that the rule is written down, that it is strict, and that the code follows it.

Our reward is faster, too: integers and a loop over tokens cost less than `eval`, which must parse and compile each expression. To measure it on your machine: `python -m lib.countdown.bench`.
"""

# %% [markdown] tags=["ru"]
r"""
## 11. Сколько платить: устройство награды

### Почему за форму 0.2, а не 1

Представьте три привычки модели: рассуждать; угадывать без тегов; ставить теги вокруг чепухи. Рассуждение верно в доле случаев $q = 0.2$, но оно длинное, и в доле $t = 0.4$ лимит длины обрезает его вместе с тегами. Чепуха в тегах получает надбавку $b$ всегда. Рассуждать выгоднее, пока

$$(1 - t)\, b + q > b \quad\Longleftrightarrow\quad b < q / t = 0.5 .$$

**Предсказание.** Что станет с тремя привычками под GRPO при $b = 0.2$, при $b = 0.4$ (чуть ниже порога) и при $b = 1$? Здесь настоящие групповые преимущества из урока 02, только вместо слов модель выбирает привычку. Тонкие линии — 20 сидов.
"""

# %% [markdown] tags=["en"]
r"""
## 11. How much to pay: the design of a reward

### Why 0.2 for the form, and not 1

Imagine that the model has three habits: to reason; to guess without tags; to put tags around nothing much. Reasoning is right with a chance of $q = 0.2$, but it is long, and with a chance of $t = 0.4$ the length limit cuts it off, tags and all. Nothing much in tags always earns the bonus $b$. Reasoning pays better as long as

$$(1 - t)\, b + q > b \quad\Longleftrightarrow\quad b < q / t = 0.5 .$$

**Prediction.** What becomes of the three habits under GRPO with $b = 0.2$, with $b = 0.4$ (somewhat below the threshold) and with $b = 1$? The group advantages are the real ones of lesson 02, only that the model chooses a habit instead of words. Thin lines are 20 seeds.
"""

# %%
start = [0.45, 0.45, 0.10]
races({f"b = {b:g}": form_earnings(b, right=0.2, cut=0.4) for b in (0.2, 0.4, 1.0)}, start, steps=400)

# %% [markdown] tags=["ru"]
r"""
При $b = 1$ модель сначала бросает угадывать, и награда растёт — всё выглядит прекрасно. А потом рассуждение вытесняют пустые теги: они надёжнее. Это и есть взлом награды за формат, и заметен он так: награда за форму у единицы, награда за ответ падает.

А вот при $b = 0.4$ вышло неожиданно: рассуждение зарабатывает в среднем $0.6 \cdot 0.4 + 0.2 = 0.44$, теги — только 0.4, и всё же побеждают теги. Дело в том, что GRPO делит преимущества на разброс группы. Если в группе кто-то решил задачу, разброс велик, и заслуга верного ответа уменьшена. Если никто не решил, разброс создаёт одна лишь форма, и после деления «теги целы» против «обрезано» весит одинаково **при любом $b$**. Средняя награда — не совсем то, что растит GRPO.

**Предсказание.** Насколько мала должна быть надбавка, чтобы теги не победили у модели, которая рассуждает верно в 5 % случаев?
"""

# %% [markdown] tags=["en"]
r"""
With $b = 1$ the model first stops guessing and the reward grows: all looks splendid. Then empty tags push the reasoning out, for they are the safer bet. That is a hacked format reward, and this is how to notice it: the reward for the form near its maximum, the reward for the answer falling.

But $b = 0.4$ is a surprise: reasoning earns $0.6 \cdot 0.4 + 0.2 = 0.44$ on average and tags only 0.4, and yet the tags win. The reason is that GRPO divides advantages by the spread of the group. Where somebody in the group solved the task, the spread is large, and the merit of the right answer is scaled down. Where nobody did, the form alone makes the spread, and after the division 'tags intact' against 'cut off' weighs the same **for any $b$**. The mean reward is not quite what GRPO raises.

**Prediction.** How small must the bonus be for the tags not to win with a model whose reasoning is right in 5 % of cases?
"""

# %%
left = {scale: reasoning_left(scale) for scale in (True, False)}
bonus_maps(left)

# %%
assert left[True][-2:].max() < 0.05               # 10 % right and less: no bonus is small enough
assert left[True][:3, 3].min() > 0.95             # 20 % right and more: 0.2 does no harm
assert left[False][:-1, :4].min() > 0.9           # not divided: up to 0.2 does no harm from 10 % on

# %% [markdown] tags=["ru"]
r"""
В клетке — доля рассуждений после 400 шагов; красная черта отмечает, где по средней награде проходит порог $q/t$. Без деления на std победитель меняется как раз возле черты. С делением граница при $q \le 0.2$ сдвинута влево, а у слабой модели **никакая** из этих надбавок не безвредна, хоть одна тысячная: во многих её группах верных ответов нет, и там учит только форма. Это модель, а не закон: группы здесь по $G = 8$, привычек три (угадывание верно в 5 % случаев), их начальные доли 0.45, 0.45 и 0.10, и рассуждать лучше модель не учится. В клетках у самой границы 400 шагов и 5 сидов решают не всё.

Отсюда практические выводы:

- надбавка нужна в начале, чтобы модель освоила форму, и должна быть мала: 0.2 здесь безвредна, если верна хотя бы пятая часть рассуждений;
- если верных ответов почти нет, дело не в размере надбавки: дайте задачи полегче или модель посильнее (авторы TinyZero пишут, что базовая Qwen2.5-0.5B рассуждать на Countdown не научилась);
- поднимите лимит длины: чем меньше обрезанных ответов ($t$), тем меньше форма перевешивает;
- в TRL деление отключает `scale_rewards="none"`;
- следите за наградой за форму и за ответ **по отдельности**: в сумме взлом выглядит ростом.

### Двоичная или плавная

Верный ответ — редкость, и в группе, где неверны все, градиента нет. Заманчиво платить за **близость**: ошибся на единицу — получи почти всё. Для начала проверим, говорит ли близость значения хоть что-нибудь о близости решения. Возьмём все неверные выражения для 400 задач и посчитаем, сколько правок (другой знак, два числа местами) отделяет их от верного.
"""

# %% [markdown] tags=["en"]
r"""
A cell is the share of reasoning after 400 steps; the red line marks the threshold $q/t$ of the mean reward. Not divided by the std, the winner changes right beside the line. Divided, the border moves to the left for $q \le 0.2$, and with a weak model **none** of these bonuses is harmless, not even a thousandth: many of its groups hold no right answer, and there the form is all that teaches. This is a model and no law: groups of $G = 8$, three habits (guessing is right in 5 % of cases) that start with shares of 0.45, 0.45 and 0.10, and reasoning that never improves. In cells right at the border, 400 steps and 5 seeds do not settle everything.

What follows in practice:

- the bonus is needed at the start, for the model to learn the form, and must be small: 0.2 does no harm here once a fifth of the reasoning is right;
- where hardly any answer is right, the size of the bonus is not the matter: take easier tasks or a stronger model (the authors of TinyZero report that the base Qwen2.5-0.5B did not learn to reason on Countdown);
- raise the length limit: the fewer replies are cut off ($t$), the less the form outweighs;
- in TRL, `scale_rewards="none"` turns the division off;
- watch the reward for the form and that for the answer **apart**: in their sum a hack looks like progress.

### Binary or shaped

A right answer is rare, and a group in which all are wrong has no gradient. It is tempting to pay for **closeness**: off by one, and you get nearly everything. Let us first see whether the closeness of a value says anything about the closeness of a solution. Take all wrong expressions for 400 tasks, and count the changes (another sign, two numbers swapped) that separate each from a right one.
"""

# %%
some = make_countdown(400)
misses = near_misses(some)
table([tr(en="changes away from a solution", ru="правок до решения"), tr(en="expressions", ru="выражений"),
       tr(en="mean closeness", ru="средняя близость")],
      [[changes, len(values), f"{sum(values) / len(values):.2f}"] for changes, values in misses.items()])

# %%
mean = {changes: sum(values) / len(values) for changes, values in misses.items()}
assert mean[4] > mean[1] > mean[3] > mean[2] and f"{mean[1]:.2f} {mean[2]:.2f}" == "0.21 0.11"

# %% [markdown] tags=["ru"]
r"""
Близость знает о решении мало: одна правка — 0.21, две — 0.11, но дальше она снова растёт, и самые далёкие от решения выражения по значению ближе всех. Градиент у такой награды есть, а куда он ведёт — вопрос.

Хуже того, у близости есть любимчик. Помните долю задач, которые решает сумма? Близость здесь — $1 - |v - t| / t$, но не меньше нуля; у суммы она в среднем около 0.5, у случайного неверного выражения — 0.16.

**Предсказание.** Две привычки: всегда отвечать $a + b + c$ или искать: находить в 30 % случаев, а в остальных кончать на любом неверном выражении. Кто победит при двоичной награде и кто при плавной?
"""

# %% [markdown] tags=["en"]
r"""
Closeness knows little of the solution: 0.21 at one change, 0.11 at two, but then it grows again, and the expressions farthest from a solution are the closest by value. Such a reward has a gradient, but where that leads is another matter.

Worse, closeness has a favourite. Remember the share of tasks that a sum solves? Closeness here is $1 - |v - t| / t$ and at least zero; for the sum it is about 0.5 on average, for a wrong expression at random 0.16.

**Prediction.** Two habits: always to answer $a + b + c$, or to search: to find in 30 % of cases, and else to end at any wrong expression. Which wins with the binary reward, and which with the shaped one?
"""

# %%
races({tr(en="binary", ru="двоичная"): sum_or_search(some, shaped=False),
       tr(en="shaped: closeness", ru="плавная: близость"): sum_or_search(some, shaped=True)}, shares=[0.5, 0.5])

# %% [markdown] tags=["ru"]
r"""
Двоичная награда выбирает поиск, плавная — осторожную сумму, которая верна реже (если бы поиск удавался вдвое чаще, победил бы и он). R1-Zero тоже платили только за верный ответ и за форму: за то, что нужно на самом деле. А если группы вырождены, менять не награду, а задачи: дать полегче, увеличить $G$, взять модель, у которой иногда получается.

**Перед запуском RL**

1. Запишите правило словами и решите спорные случаи.
2. Дюжина ответов от руки с обеими наградами; затем набор: честные, ошибочные, враждебные, огромные, странной формы.
3. Прогоните награду на настоящих ответах базовой модели и прочитайте те, за которые заплачено.
4. Измерьте время: награда считается для каждого ответа, сотни и тысячи раз за шаг.
5. Отложите честную оценку на тестовых задачах: если награда растёт, а она нет, модель нашла дыру.
"""

# %% [markdown] tags=["en"]
r"""
The binary reward chooses the search, the shaped one the safe sum, which is right less often (were the search twice as successful, it would win here too). R1-Zero, too, was paid for right answers and for the form, and for nothing else: for what was really wanted. And where groups are degenerate, change the tasks and not the reward: easier ones, a larger $G$, a model that succeeds now and then.

**Before you start RL**

1. Write the rule down in words, and settle the doubtful cases.
2. A dozen replies by hand with both rewards; then the battery: honest, mistaken, hostile, huge, oddly shaped.
3. Run the reward over real replies of the base model, and read those that were paid.
4. Measure its time: it is computed for each reply, hundreds or thousands of times a step.
5. Set an honest evaluation on test tasks aside: if the reward grows and it does not, the model has found a hole.
"""

# %% [markdown] tags=["ru"]
r"""
## 12. Проверьте себя
"""

# %% [markdown] tags=["en"]
r"""
## 12. Check yourself
"""

# %%
show_quiz("04")

# %% [markdown] tags=["ru"]
r"""
**Что дальше.** Эта награда без единой правки пойдёт в TRL и в verl: `reward_funcs=[format_reward, correctness_reward]` и `compute_score`. Набор данных в нужном TRL виде делает `to_dataset`, строки JSON — `save_tasks`. А пока вспомните урок 03: какую награду взломала игрушечная модель?
"""

# %% [markdown] tags=["en"]
r"""
**What next.** This reward goes to TRL and to verl without a change: `reward_funcs=[format_reward, correctness_reward]` and `compute_score`. `to_dataset` makes the data set that TRL wants, `save_tasks` JSON lines. Until then, think back to lesson 03: which reward did the toy model hack?
"""
