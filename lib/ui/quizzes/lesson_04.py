"""The quiz of lesson 04: the Countdown reward."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, samp, wrong


def questions() -> list[dict]:
    return [
        question(
            tr(en="Many Countdown checkers compute the answer with <code>eval</code>, but ban <code>**</code> and take the "
                  "builtins away from <code>eval</code>. What for?",
               ru="Многие проверщики Countdown вычисляют ответ через <code>eval</code>, но запрещают <code>**</code> и "
                  "отнимают у <code>eval</code> встроенные функции. Зачем?"),
            right(tr(en="The reward runs on text that the model writes: unprotected, the check can be hung or broken by it",
                     ru="Награда выполняется на тексте, который пишет модель: без защиты он может подвесить или сломать "
                        "проверку"),
                  tr(en="The checker is part of the environment, and the model will find its holes. <code>9**9**9</code> "
                        "has 369 693 100 digits, and <code>eval</code> sets out to compute them. Nor do these two measures "
                        "suffice: through the class of a tuple code runs without a single builtin. Our reward has no "
                        "<code>eval</code> at all.",
                     ru="Проверщик — часть среды, и его дыры модель найдёт. В <code>9**9**9</code> 369 693 100 цифр, и "
                        "<code>eval</code> честно начнёт их считать. Но и двух этих мер мало: через класс кортежа код "
                        "выполнится без единой встроенной функции. В нашей награде <code>eval</code> нет вовсе.")),
            wrong(tr(en="To make training faster", ru="Чтобы ускорить обучение"),
                  tr(en="At stake is not the speed but whether the training goes on at all: one reply on which the check "
                        "hangs stops it.",
                     ru="Дело не в скорости, а в том, продолжится ли обучение вообще: чтобы его остановить, хватит одного "
                        "ответа, на котором проверка зависнет.")),
            wrong(tr(en="TRL requires it", ru="Так требует TRL"),
                  tr(en="TRL passes replies and columns of the data set to your function and takes the numbers that it "
                        "returns. How they are computed is up to you.",
                     ru="TRL передаёт вашей функции ответы и столбцы набора данных, а забирает числа. Как они посчитаны — "
                        "дело ваше.")),
            wrong(tr(en="Powers are against the rules of Countdown, safety has nothing to do with it",
                     ru="Степени запрещены правилами Countdown, а безопасность ни при чём"),
                  tr(en="The rules say nothing of builtins. And the rules alone could be applied after the value is known, "
                        "whereas <code>9**9**9</code> must be stopped before.",
                     ru="О встроенных функциях в правилах ничего нет. И отказать по правилам можно было бы и после "
                        "вычисления, а <code>9**9**9</code> нужно остановить до него.")),
        ),
        question(
            tr(en="The numbers are 3, 7, 10 and the target is 31. For which of these replies does "
                  "<code>correctness_reward</code> pay 1?",
               ru="Числа 3, 7, 10, цель 31. За какие из этих ответов <code>correctness_reward</code> заплатит 1?"),
            right(samp("<answer>10+3*7</answer>"),
                  tr(en="A right answer without reasoning is still right. All it misses is the 0.2 for the form.",
                     ru="Верный ответ без рассуждения всё равно верен. Не достанутся ему только 0.2 за форму.")),
            right(samp("<think>3*7=20</think><answer>((3*7))+10</answer>"),
                  tr(en="Nobody checks the reasoning, and redundant parentheses change nothing. The form earns 0.2 besides.",
                     ru="Рассуждение никто не проверяет, лишние скобки ничего не меняют. Сверх того будет 0.2 за форму.")),
            wrong(samp("<think><answer>3*7+10</answer></think>31"),
                  tr(en="Everything up to the last &lt;/think&gt; is a draft. Were drafts paid, the model could list one "
                        "candidate after another in them and never settle on any.",
                     ru="Всё до последнего &lt;/think&gt; — черновик. Если платить за черновики, модель сможет перечислять "
                        "в них вариант за вариантом и ни одного не выбрать.")),
            wrong(samp("<think>3*7=21</think><answer>3*7+10=31</answer>"),
                  tr(en="An equation is not an expression. Forgive it, and there is a hole: the checker that cuts off "
                        "everything from <code>=</code> on paid for <code>3*7+10=banana</code> too.",
                     ru="Равенство — не выражение. Простите его — и вот дыра: проверщик, который отрезает всё начиная с "
                        "<code>=</code>, заплатил и за <code>3*7+10=banana</code>.")),
            wrong(samp("<think>3*7=21</think><answer>3*7+10.0</answer>"),
                  tr(en="The value is right, but the rule allows whole numbers only. Where a decimal point passes, 1 and 5 "
                        "are glued into <code>1.5*4</code>, and the task 1, 5, 4 → 6 counts as solved.",
                     ru="Значение верное, но правило допускает только целые числа. Где проходит десятичная точка, там 1 и 5 "
                        "склеивают в <code>1.5*4</code>, и задача 1, 5, 4 → 6 считается решённой.")),
        ),
        question(
            tr(en="A checker with <code>eval</code> has been wrapped whole in <code>try … except Exception: return 0"
                  "</code>. What does this not save you from?",
               ru="Проверщик с <code>eval</code> целиком завернули в <code>try … except Exception: return 0</code>. От чего "
                  "это не спасёт?"),
            right(tr(en="<samp>9**9**9</samp> in the answer", ru="<samp>9**9**9</samp> в ответе"),
                  tr(en="A hang is no exception. There is nothing to catch, the computation just does not end.",
                     ru="Зависание — не исключение. Ловить нечего: вычисление просто не заканчивается.")),
            right(tr(en="Code in the answer", ru="Код в ответе"),
                  tr(en="If an exception comes at all, the code has run by then. <code>exit()</code> even gets through: "
                        "SystemExit is not a subclass of Exception.",
                     ru="Даже если исключение случится, код к тому времени уже выполнен. А <code>exit()</code> и вовсе "
                        "пройдёт насквозь: SystemExit — не наследник Exception.")),
            right(tr(en="A data set that has lost its targets", ru="Набор данных, в котором потерялись цели"),
                  tr(en="Every reply gets 0, and training goes on as if the model were weak. A broken reply is everyday "
                        "business and earns 0. Broken data are their author's mistake and must be told at once: our reward "
                        "raises ValueError with the row.",
                     ru="Все ответы получат 0, и обучение продолжится, будто это модель слаба. Сломанный ответ — дело "
                        "обычное, ему и положен 0. Сломанные данные — ошибка автора, и молчать о ней нельзя: наша награда "
                        "бросает ValueError с номером строки.")),
            wrong(tr(en="<samp>10/(7-7)+3</samp> in the answer", ru="<samp>10/(7-7)+3</samp> в ответе"),
                  tr(en="ZeroDivisionError is caught, and the reply gets the 0 that it deserves.",
                     ru="ZeroDivisionError будет перехвачено, и ответ получит свой заслуженный 0.")),
            wrong(tr(en="A number of 4301 digits in the answer", ru="Число из 4301 цифры в ответе"),
                  tr(en="Python refuses to read a number that long with an exception, and that is caught.",
                     ru="Читать такое длинное число Python отказывается, но отказ — это исключение, и оно будет "
                        "перехвачено.")),
        ),
        question(
            tr(en="Our reward compares the numbers of an answer with the given ones as text, before any <code>int()</code>. "
                  "Why?",
               ru="Наша награда сверяет числа ответа с данными как текст, ещё до всякого <code>int()</code>. Почему?"),
            right(tr(en="The model chooses how long a number is, and <samp>int()</samp> cannot cope with every length",
                     ru="Длину числа выбирает модель, а <samp>int()</samp> выдерживает не любую"),
                  tr(en="From 4301 digits on <code>int()</code> raises an exception; without that limit its time grows "
                        "faster than the number. After the comparison only the task's own numbers reach it.",
                     ru="С 4301 цифры <code>int()</code> бросает исключение, а если снять ограничение, его время растёт "
                        "быстрее, чем длина числа. После сверки до него доходят только числа самой задачи.")),
            wrong(tr(en="Text is compared exactly, while <samp>int()</samp> rounds long numbers",
                     ru="Текст сравнивается точно, а <samp>int()</samp> длинные числа округляет"),
                  tr(en="Python's integers are exact at any length. <code>float</code> is what rounds: to it "
                        "9007199254740993 and 9007199254740992 are the same.",
                     ru="Целые числа в Python точны при любой длине. Округляет <code>float</code>: для него "
                        "9007199254740993 и 9007199254740992 — одно и то же.")),
            wrong(tr(en="<samp>int()</samp> would execute code hidden in a number",
                     ru="<samp>int()</samp> выполнил бы код, спрятанный в числе"),
                  tr(en="It is <code>eval</code> that executes. <code>int()</code> only reads digits, if those of every "
                        "script: <code>int(\"３\")</code> is 3.",
                     ru="Выполняет код <code>eval</code>. А <code>int()</code> только читает цифры — правда, любой "
                        "письменности: <code>int(\"３\")</code> равно 3.")),
            wrong(tr(en="So that 03 counts as 3", ru="Чтобы 03 считалось за 3"),
                  tr(en="The other way round: as text they differ, and 03 is refused. <code>int()</code> would make them "
                        "equal.",
                     ru="Наоборот: как текст они различаются, и 03 получит отказ. Это <code>int()</code> сделал бы их "
                        "равными.")),
        ),
        question(
            tr(en="The form earns b, a right answer 1 more. Of the replies with reasoning 30 % are right, and 50 % are cut "
                  "off by the length limit and earn nothing. Tags around nonsense always earn b. Which pays better on "
                  "average?",
               ru="За форму платят b, за верный ответ — ещё 1. Из ответов с рассуждением 30 % верны, а 50 % обрезаны "
                  "лимитом длины и не получают ничего. Чепуха в тегах получает b всегда. Что в среднем выгоднее?"),
            right(tr(en="At b = 1 nonsense, at b = 0.2 reasoning", ru="При b = 1 чепуха, при b = 0.2 рассуждение"),
                  tr(en="Reasoning earns 0.5·b + 0.3 on average, nonsense b: 0.8 against 1, then 0.4 against 0.2. The "
                        "balance tips at b = 0.3/0.5 = 0.6, and in GRPO, which divides by the spread of the group, even "
                        "earlier.",
                     ru="Рассуждение приносит в среднем 0.5·b + 0.3, чепуха — b: 0.8 против 1, а затем 0.4 против 0.2. "
                        "Перелом — при b = 0.3/0.5 = 0.6, а в GRPO, который делит на разброс группы, ещё раньше.")),
            wrong(tr(en="Reasoning at both: nothing else is paid for right answers",
                     ru="В обоих случаях рассуждение: только оно получает плату за верный ответ"),
                  tr(en="Right answers add 0.3 on average. But half of the replies lose b, and at b = 1 that costs 0.5.",
                     ru="Верные ответы прибавляют в среднем 0.3. Но половина ответов теряет b, и при b = 1 это стоит 0.5.")),
            wrong(tr(en="Nonsense at both: it never loses the form",
                     ru="В обоих случаях чепуха: с формой у неё всегда всё в порядке"),
                  tr(en="At b = 0.2 the lost form costs 0.1 on average, and right answers bring 0.3.",
                     ru="При b = 0.2 потеря формы обходится в среднем в 0.1, а верные ответы приносят 0.3.")),
            wrong(tr(en="At b = 1 reasoning, at b = 0.2 nonsense", ru="При b = 1 рассуждение, при b = 0.2 чепуха"),
                  tr(en="The other way round: it is the reasoning that loses the bonus, 0.5·b on average, so a large one "
                        "hurts it more.",
                     ru="Наоборот: надбавку теряет как раз рассуждение, в среднем 0.5·b, и чем она больше, тем это "
                        "больнее.")),
        ),
        question(
            tr(en="What is worth doing before RL starts with a new reward?",
               ru="Что стоит сделать, прежде чем запускать RL с новой наградой?"),
            right(tr(en="Check that right answers are paid, oddly written ones too",
                     ru="Проверить, что верные ответы оплачиваются, даже записанные необычно"),
                  tr(en="Attacks alone are not enough: a checker that refuses everybody beats them all, and nothing can be "
                        "learned from it.",
                     ru="Одних атак мало: проверщик, который отказывает всем, отобьёт их все, но и учиться на нём нечему.")),
            right(tr(en="Try it on replies of half a megabyte, with a time limit",
                     ru="Прогнать её на ответах в полмегабайта, с ограничением времени"),
                  tr(en="On short replies quadratic time does not show. The lesson's third checker judges those at once, "
                        "and does not finish within a second on 500 kilobytes of tags.",
                     ru="На коротких ответах квадратичного времени не видно. Третий проверщик урока судит их мгновенно, а "
                        "на 500 килобайтах тегов не укладывается в секунду.")),
            wrong(tr(en="Let the reward itself fill in the battery's right verdicts",
                     ru="Получить правильные вердикты для набора от самой награды"),
                  tr(en="Then the battery agrees with the code in everything, its faults included. Verdicts are written by "
                        "hand, from the rule.",
                     ru="Тогда набор согласится с кодом во всём, включая ошибки. Вердикты ставят рукой, по правилу.")),
            wrong(tr(en="Make the test set with another seed, so that it shares no task with the training set",
                     ru="Сделать тестовый набор с другим сидом, чтобы он не пересекался с обучающим"),
                  tr(en="Another seed repeats some of the tasks. In the lesson a hash of the task's own numbers and target "
                        "decides whether it is for training or for testing, so the sets cannot overlap.",
                     ru="Часть задач другой сид повторит. В уроке обучающие и тестовые задачи разделяет хеш чисел и цели "
                        "самой задачи, поэтому наборы не пересекутся.")),
        ),
    ]
