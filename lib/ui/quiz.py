"""The quiz at the end of each lesson.

    show_quiz("01")

Questions are data: a text and its options, right and wrong, each with the reason why. `show_quiz` hands them to jupyterquiz.
"""
from IPython.display import display
from IPython.utils.capture import capture_output
from jupyterquiz import display_quiz

from lib.i18n import tr

# Dark enough for white text on the question, and for the feedback's text on a white page.
COLORS = {
    "--jq-multiple-choice-bg": "#24476b",
    "--jq-many-choice-bg": "#24476b",
    "--jq-correct-color": "#00684a",
    "--jq-incorrect-color": "#a13b00",
    "--jq-text-color": "#ffffff",
}


def show_quiz(name: str) -> None:
    """Displays the quiz of lesson `name` ('01', '02', '03') in the learner's language.

    JupyterLab runs no stored JavaScript of a notebook that it does not trust: there a sentence says how to get the quiz.
    """
    with capture_output() as captured:
        display_quiz(questions(name), colors=COLORS, max_width=760)
    hint = tr(en="Run this cell (Shift+Enter) to see the questions.",
              ru="Выполните эту ячейку (Shift+Enter), чтобы увидеть вопросы.")
    *page, script = captured.outputs
    for output in page:
        output.display()
    display(script.data | {"text/plain": hint}, raw=True)


def questions(name: str) -> list[dict]:
    """The questions of a lesson in jupyterquiz's form. Raises ValueError for a lesson without a quiz."""
    if name not in QUIZZES:
        raise ValueError(tr(en=f"there is no quiz {name!r}: choose one of {', '.join(QUIZZES)}",
                            ru=f"теста {name!r} нет: выберите из {', '.join(QUIZZES)}"))
    return QUIZZES[name]()


# ── the form of a question ────────────────────────────────────────────────────────────────────────────────────────────
def question(text: str, *options: dict) -> dict:
    """One question; with several right options it asks for all of them.

    Code in an option is <samp>: JupyterLab paints <code> grey, unreadable once a chosen option's text turns white.
    """
    several = sum(option["correct"] for option in options) > 1
    if several:
        text += " " + tr(en="<i>(several answers are right)</i>", ru="<i>(верных ответов несколько)</i>")
    return {"question": text, "type": "many_choice" if several else "multiple_choice", "answer_cols": 1,
            "answers": list(options)}


def right(answer: str, why: str) -> dict:
    return {"answer": answer, "correct": True, "feedback": tr(en="Right. ", ru="Верно. ") + why}


def wrong(answer: str, why: str) -> dict:
    return {"answer": answer, "correct": False, "feedback": tr(en="No. ", ru="Нет. ") + why}


# ── 01: the toy model ─────────────────────────────────────────────────────────────────────────────────────────────────
def quiz_01() -> list[dict]:
    return [
        question(
            tr(en="The prompt is <code>3527=</code>, the answer <code>9,9,17.</code> What does the rule reward pay?",
               ru="Промпт <code>3527=</code>, ответ <code>9,9,17.</code> Сколько заплатит правиловая награда?"),
            right(tr(en="1: the format holds and the last number is right",
                     ru="1: формат соблюдён и последнее число верное"),
                  tr(en="The rule reads the last number and the format, nothing else. That the steps are wrong goes unseen: "
                        "a rule reward pays for the outcome.",
                     ru="Правило смотрит на формат и на последнее число, больше ни на что. Ошибок в шагах оно не видит: "
                        "правиловая награда платит за результат.")),
            wrong(tr(en="0: the partial sums are wrong", ru="0: частичные суммы неверны"),
                  tr(en="Nobody checks the partial sums: the regular expression only asks that they be numbers.",
                     ru="Частичные суммы никто не проверяет: регулярное выражение требует лишь, чтобы это были числа.")),
            wrong(tr(en="1/3: one number of three is right", ru="1/3: верно одно число из трёх"),
                  tr(en="The reward is 0 or 1, there are no parts of it.",
                     ru="Награда бывает только 0 или 1, долей у неё нет.")),
            wrong(tr(en="A little over 1: there is a bonus for steps", ru="Чуть больше 1: за шаги есть надбавка"),
                  tr(en="Nothing is paid for steps or for length. That the steps will grow all the same is the point of "
                        "the course.",
                     ru="За шаги и за длину не платят. То, что шагов всё равно станет больше, — главное, что покажет "
                        "курс.")),
        ),
        question(
            tr(en="Which of these answers to <code>3527=</code> would the careless rule "
                  "<code>re.match(r\"^(?:\\d+,)*(\\d+)\\.&#36;\", text)</code> pay for, although ours does not?",
               ru="За какие из этих ответов на <code>3527=</code> заплатило бы неаккуратное правило "
                  "<code>re.match(r\"^(?:\\d+,)*(\\d+)\\.&#36;\", text)</code>, хотя наше не платит?"),
            right(tr(en="<samp>17.</samp> and a line feed after it", ru="<samp>17.</samp> и перевод строки после него"),
                  tr(en="<code>&#36;</code> also matches right before a line feed at the end; <code>fullmatch</code> wants "
                        "the whole "
                        "text.",
                     ru="<code>&#36;</code> совпадает и перед переводом строки в конце; <code>fullmatch</code> требует весь "
                        "текст целиком.")),
            right(tr(en="<samp>١٧.</samp> in Arabic-Indic digits", ru="<samp>١٧.</samp> арабско-индийскими цифрами"),
                  tr(en="<code>\\d</code> matches the digits of all scripts, and <code>int</code> reads them too. "
                        "<code>[0-9]</code> does not.",
                     ru="<code>\\d</code> совпадает с цифрами любой письменности, и <code>int</code> их тоже понимает. "
                        "<code>[0-9]</code> — нет.")),
            wrong(tr(en="<samp>17</samp> without a dot", ru="<samp>17</samp> без точки"),
                  tr(en="Both rules want a dot at the end.", ru="Точку в конце требуют оба правила.")),
            wrong(tr(en="<samp>8,,17.</samp>", ru="<samp>8,,17.</samp>"),
                  tr(en="Both rules want at least one digit before each comma.",
                     ru="Хотя бы одну цифру перед каждой запятой требуют оба правила.")),
        ),
        question(
            tr(en="What does GRPO need from the model itself?", ru="Что GRPO требует от самой модели?"),
            right(tr(en="To sample tokens and to tell the log-probability of each, with a gradient",
                     ru="Сэмплировать токены и считать log-вероятность каждого — так, чтобы по ней шёл градиент"),
                  tr(en="So a GRU serves as well as a transformer: the algorithm sees nothing of what is inside.",
                     ru="Поэтому GRU годится не хуже трансформера: что внутри модели, алгоритму не видно.")),
            wrong(tr(en="Attention, so that answers in a group see each other",
                     ru="Attention, чтобы ответы одной группы видели друг друга"),
                  tr(en="Answers are sampled independently; they meet only in the mean and the std of their rewards.",
                     ru="Ответы сэмплируются независимо и встречаются только в среднем и std своих наград.")),
            wrong(tr(en="A second head that predicts the reward (a critic)",
                     ru="Вторая голова, которая предсказывает награду (критик)"),
                  tr(en="That is PPO. GRPO replaces the critic by the mean of the group.",
                     ru="Это PPO. В GRPO критика заменяет среднее по группе.")),
            wrong(tr(en="Answers of one length", ru="Ответы одинаковой длины"),
                  tr(en="Lengths differ, and a mask hides the padding.", ru="Длины разные, а паддинг закрывает маска.")),
        ),
        question(
            tr(en="A model gave 10 answers to one task, 3 of them right. What is the unbiased estimate of pass@2?",
               ru="Модель дала на одну задачу 10 ответов, верных из них 3. Чему равна несмещённая оценка pass@2?"),
            right("1 − C(7, 2) / C(10, 2) ≈ 0.53",
                  tr(en="The chance that 2 answers drawn from these 10 without replacement are not both wrong: 1 − 21/45.",
                     ru="Вероятность того, что среди 2 ответов, вынутых из этих 10 без возвращения, есть верный: 1 − "
                        "21/45.")),
            wrong("1 − (1 − 0.3)² = 0.51",
                  tr(en="This draws with replacement, as if 0.3 were the exact chance of a right answer: the estimate is "
                        "biased down.",
                     ru="Так вынимают с возвращением, будто 0.3 — точная вероятность верного ответа: оценка смещена вниз.")),
            wrong("2 · 0.3 = 0.6",
                  tr(en="This counts twice the case that both are right.",
                     ru="Случай, когда верны оба, здесь посчитан дважды.")),
            wrong("3 / 10 = 0.3", tr(en="This is pass@1.", ru="Это pass@1.")),
        ),
        question(
            tr(en="The base model has pass@1 near 0.2 and pass@8 above 0.7. What does the gap say?",
               ru="У базовой модели pass@1 около 0.2, а pass@8 больше 0.7. О чём говорит разрыв?"),
            right(tr(en="It finds the right way, though not often: there is something to make more likely",
                     ru="Верный путь она находит, но нечасто: есть что сделать вероятнее"),
                  tr(en="In most groups of 8 there is a right answer beside wrong ones. That contrast is what GRPO learns "
                        "from.",
                     ru="Почти в каждой группе из 8 рядом с неверными есть верный ответ. На этом контрасте GRPO и учится.")),
            wrong(tr(en="Nothing: with eight tries blind guessing gets as far",
                     ru="Ни о чём: за восемь попыток столько же наберёт и угадывание"),
                  tr(en="A blind guess from 0..36 is right once in 37: eight of them give 1 − (36/37)⁸ ≈ 0.2.",
                     ru="Догадка «с потолка» из 0..36 верна в одном случае из 37: восемь догадок дают 1 − (36/37)⁸ ≈ 0.2.")),
            wrong(tr(en="It knows every answer and only misses the format",
                     ru="Она знает все ответы и лишь нарушает формат"),
                  tr(en="The format is nearly always right. What it gets wrong is the number: mostly it guesses.",
                     ru="Формат почти всегда верный. Неверно число: чаще всего модель отвечает «с потолка».")),
            wrong(tr(en="The evaluation is broken: pass@8 cannot exceed pass@1",
                     ru="Оценка сломана: pass@8 не бывает больше pass@1"),
                  tr(en="It is the other way round: more tries can only help.",
                     ru="Наоборот: лишние попытки могут только помочь.")),
        ),
    ]


# ── 02: the GRPO step ─────────────────────────────────────────────────────────────────────────────────────────────────
def quiz_02() -> list[dict]:
    return [
        question(
            tr(en="All 8 answers of a group are right. What do these answers contribute to the gradient at beta = 0?",
               ru="Все 8 ответов группы верны. Что эти ответы дают градиенту при beta = 0?"),
            right(tr(en="Nothing: their advantages are 0", ru="Ничего: их преимущества равны 0"),
                  tr(en="Each reward equals the group's mean. The group is degenerate: sampling it was paid for, and it "
                        "teaches nothing.",
                     ru="Каждая награда равна средней по группе. Группа вырожденная: на её сэмплирование потратились, а "
                        "научить она ничему не может.")),
            wrong(tr(en="They are reinforced: their reward is the highest", ru="Они усиливаются: награда у них наибольшая"),
                  tr(en="What counts is the difference from the group's mean, and it is 0.",
                     ru="Важна разность со средним по группе, а она равна 0.")),
            wrong(tr(en="NaN: the std is 0 and one divides by it", ru="NaN: std равен 0, а на него делят"),
                  tr(en="For this the formula adds 1e-4 to the std: 0 / 0.0001 = 0.",
                     ru="Для этого в формуле к std прибавлено 1e-4: 0 / 0.0001 = 0.")),
            wrong(tr(en="A gradient 8 times that of a single right answer",
                     ru="Градиент в 8 раз больше, чем от одного верного ответа"),
                  tr(en="A single right answer among eight stands out, its advantage is large; eight of eight do not stand "
                        "out at all.",
                     ru="Единственный верный из восьми выделяется, преимущество у него большое; восемь из восьми не "
                        "выделяются никак.")),
        ),
        question(
            tr(en="A = −1, ratio = 5, eps_low = eps_high = 0.2. What is the token's objective, and does its gradient live?",
               ru="A = −1, ratio = 5, eps_low = eps_high = 0.2. Чему равна цель токена и жив ли её градиент?"),
            right(tr(en="−5, and it does", ru="−5, градиент жив"),
                  tr(en="min(−5, −1.2) = −5. The policy has made a bad token five times likelier; the clip must not stop "
                        "it from going back.",
                     ru="min(−5, −1.2) = −5. Политика сделала плохой токен впятеро вероятнее, и клиппинг не должен мешать "
                        "ей вернуться.")),
            wrong(tr(en="−1.2, and it does not: the ratio is clipped at 1.2",
                     ru="−1.2, градиента нет: ratio обрезан на 1.2"),
                  tr(en="That would be max. Of −5 and −1.2 the smaller is −5.",
                     ru="Так было бы с max. Из −5 и −1.2 меньше −5.")),
            wrong(tr(en="−0.8, and it does not", ru="−0.8, градиента нет"),
                  tr(en="−0.8 is what A = −1 gets when the ratio falls below 0.8: then the clip does act.",
                     ru="−0.8 при A = −1 получается, когда ratio падает ниже 0.8: вот там клиппинг и срабатывает.")),
            wrong(tr(en="−1, and it does: at an advantage below 0 the ratio does not count",
                     ru="−1, градиент жив: при отрицательном преимуществе ratio не учитывается"),
                  tr(en="The ratio multiplies the advantage whatever its sign.",
                     ru="ratio умножается на преимущество при любом его знаке.")),
        ),
        question(
            tr(en="One optimizer step a batch, beta = 0. The loss is 0 up to rounding. Does the model learn?",
               ru="Один шаг оптимизатора на батч, beta = 0. Loss равен 0 с точностью до округления. Учится ли модель?"),
            right(tr(en="Yes: the value is 0, its gradient is REINFORCE's",
                     ru="Да: значение равно 0, а градиент — как у REINFORCE"),
                  tr(en="At ratio 1 the objective is the weighted mean of advantages, and in each group they sum to 0. "
                        "Its gradient is the mean of A · ∇log π, which is not 0. Watch the reward, not the loss.",
                     ru="При ratio = 1 цель — взвешенное среднее преимуществ, а в каждой группе их сумма равна 0. "
                        "Градиент — среднее A · ∇log π, и он не ноль. Смотрите на награду, а не на loss.")),
            wrong(tr(en="No: a loss of 0 means a gradient of 0", ru="Нет: нулевой loss означает нулевой градиент"),
                  tr(en="A function can pass through 0 with any slope.",
                     ru="Функция может проходить через 0 с любым наклоном.")),
            wrong(tr(en="No: at ratio 1 every token is clipped", ru="Нет: при ratio = 1 клиппируется каждый токен"),
                  tr(en="1 lies in the middle of the clip range, nothing is clipped.",
                     ru="1 — середина диапазона, не клиппируется ничего.")),
            wrong(tr(en="Only through the KL term", ru="Только за счёт KL"),
                  tr(en="With beta = 0 there is no KL term, and the model learns all the same.",
                     ru="При beta = 0 слагаемого с KL нет, а модель всё равно учится.")),
        ),
        question(
            tr(en="Two wrong answers have the same advantage, one of 3 tokens, one of 9. In which averaging does a token "
                  "of the long "
                  "one weigh less than a token of the short one?",
               ru="У двух неверных ответов одинаковое преимущество; в одном 3 токена, в другом 9. При каком усреднении "
                  "токен длинного "
                  "ответа весит меньше, чем токен короткого?"),
            right(tr(en="<samp>grpo</samp>: over the answer first, then over answers",
                     ru="<samp>grpo</samp>: сначала по ответу, потом по ответам"),
                  tr(en="Each answer weighs the same, so its tokens share: 1/9 against 1/3. A long wrong answer is charged "
                        "less a token.",
                     ru="Все ответы весят одинаково, и токены делят этот вес: 1/9 против 1/3. Длинный неверный ответ "
                        "платит за токен меньше.")),
            wrong(tr(en="<samp>dapo</samp>: over all tokens of the batch", ru="<samp>dapo</samp>: по всем токенам батча"),
                  tr(en="There every token weighs the same, so the long answer weighs three times as much.",
                     ru="Там все токены весят одинаково, и длинный ответ весит втрое больше.")),
            wrong(tr(en="<samp>dr_grpo</samp>: tokens divided by a constant",
                     ru="<samp>dr_grpo</samp>: деление токенов на константу"),
                  tr(en="The divisor is the same for all tokens, so their weights are equal.",
                     ru="Делитель у всех токенов один, значит, и веса равны.")),
            wrong(tr(en="In all three: a long answer is always diluted",
                     ru="Во всех трёх: длинный ответ всегда разбавляется"),
                  tr(en="Only where one averages over the answer first.",
                     ru="Только там, где сначала усредняют внутри ответа.")),
        ),
        question(
            tr(en="What is true of k3 = e<sup>d</sup> − d − 1, d = log π<sub>ref</sub> − log π, on tokens sampled from the "
                  "policy?",
               ru="Что верно для k3 = e<sup>d</sup> − d − 1, d = log π<sub>ref</sub> − log π, на токенах, взятых из "
                  "политики?"),
            right(tr(en="Its mean over the policy's tokens is the exact KL",
                     ru="Её среднее по токенам политики — точный KL"),
                  tr(en="The mean of e<sup>d</sup> is 1 (the reference's probabilities sum to 1), so what is left is the "
                        "mean of −d, the KL.",
                     ru="Среднее e<sup>d</sup> равно 1 (вероятности референса в сумме дают 1), и остаётся среднее −d, то "
                        "есть KL.")),
            right(tr(en="It is never negative", ru="Она никогда не отрицательна"),
                  tr(en="e<sup>d</sup> lies above its tangent 1 + d and touches it at d = 0, where both models agree.",
                     ru="e<sup>d</sup> лежит выше своей касательной 1 + d и касается её при d = 0, где модели согласны.")),
            wrong(tr(en="At each token it equals the exact KL", ru="На каждом токене она равна точному KL"),
                  tr(en="At one token it is an estimate; only the mean is exact.",
                     ru="На одном токене это оценка; точно только среднее.")),
            wrong(tr(en="Its mean is below that of k1 = −d", ru="Её среднее меньше, чем у k1 = −d"),
                  tr(en="The means are equal: both are the KL. In the lesson's example the spread is smaller.",
                     ru="Средние равны: оба дают KL. В примере урока меньше разброс.")),
        ),
    ]


# ── 03: experiments ───────────────────────────────────────────────────────────────────────────────────────────────────
def quiz_03() -> list[dict]:
    return [
        question(
            tr(en="The base model's corpus held not one answer with steps (p_cot = 0). What did GRPO do with it?",
               ru="В корпусе базовой модели не было ни одного решения по шагам (p_cot = 0). Что сделал с ней GRPO?"),
            right(tr(en="The share of steps stayed 0; direct answers got a little better",
                     ru="Доля шагов осталась нулевой; немного лучше стали прямые ответы"),
                  tr(en="RL makes likelier what the base model sometimes does. What is never sampled gets no advantage.",
                     ru="RL делает вероятнее то, что база иногда делает сама. Чего никогда не сэмплировали, тому и "
                        "преимущество не достанется.")),
            wrong(tr(en="It discovered partial sums and began to reason",
                     ru="Модель открыла частичные суммы и начала рассуждать"),
                  tr(en="To be reinforced, an answer with steps has to come up in a group once. It never did.",
                     ru="Чтобы усилиться, ответ с шагами должен хоть раз попасть в группу. Он не попал ни разу.")),
            wrong(tr(en="It learned to answer at once without mistakes", ru="Модель научилась без ошибок отвечать сразу"),
                  tr(en="Direct answers improved, but most of them are still wrong: look at pass@1 in the table.",
                     ru="Прямые ответы стали лучше, но большинство их по-прежнему неверно: посмотрите на pass@1 в "
                        "таблице.")),
            wrong(tr(en="All groups were degenerate, so the weights did not change",
                     ru="Все группы были вырожденными, и веса не изменились"),
                  tr(en="Blind guesses are right now and then, so some groups did carry a signal.",
                     ru="Догадки «с потолка» иногда верны, так что часть групп сигнал давала.")),
        ),
        question(
            tr(en="5 % of answers with steps in the corpus are enough for RL to reach about 90 %. 0 % stay 0 %. Where does "
                  "the "
                  "difference come from?",
               ru="5 % решений по шагам в корпусе хватает, чтобы RL довёл их долю примерно до 90 %. А 0 % так и остаются "
                  "нулём. "
                  "Откуда разница?"),
            right(tr(en="At 5 % about a third of the groups of 8 hold an answer with steps",
                     ru="При 5 % ответ с шагами есть примерно в трети групп из 8"),
                  tr(en="1 − 0.95⁸ ≈ 0.34. Where such an answer is right among wrong guesses, it gets a large advantage, "
                        "and its share grows.",
                     ru="1 − 0.95⁸ ≈ 0.34. Если такой ответ верен среди неверных догадок, преимущество у него большое, и "
                        "доля растёт.")),
            wrong(tr(en="The reward pays for commas, and at 0 % there are none",
                     ru="Награда платит за запятые, а при 0 % их нет"),
                  tr(en="The reward looks at the format and the last number only.",
                     ru="Награда смотрит только на формат и последнее число.")),
            wrong(tr(en="At 0 % the KL term forbids new tokens", ru="При 0 % новые токены запрещает KL"),
                  tr(en="With beta = 0 it would be the same: the step is taken on sampled answers, and there are no steps "
                        "among them.",
                     ru="И при beta = 0 было бы так же: шаг делается по сэмплированным ответам, а шагов среди них нет.")),
            wrong(tr(en="The model has no comma in its vocabulary then", ru="Тогда в словаре модели нет запятой"),
                  tr(en="The vocabulary is the same. The comma's probability is just so small that it is not sampled.",
                     ru="Словарь тот же. Просто вероятность запятой так мала, что она не сэмплируется.")),
        ),
        question(
            tr(en="Which are signs of a healthy GRPO run?", ru="Какие признаки говорят, что обучение GRPO идёт нормально?"),
            right(tr(en="The reward grows, then levels off", ru="Награда растёт, затем выходит на плато"),
                  tr(en="So look the curves of R1-Zero and of the toy.", ru="Так выглядят кривые и R1-Zero, и игрушки.")),
            right(tr(en="Rewards within a group keep differing", ru="Награды внутри групп продолжают различаться"),
                  tr(en="While reward_std is above 0 there is something to learn from.",
                     ru="Пока reward_std больше 0, есть на чём учиться.")),
            right(tr(en="Entropy goes down slowly, without a drop to 0", ru="Энтропия снижается плавно, без обвала к нулю"),
                  tr(en="The policy becomes surer but goes on trying different answers.",
                     ru="Политика становится увереннее, но продолжает пробовать разные ответы.")),
            wrong(tr(en="Answers reach the length limit and stay there",
                     ru="Ответы упираются в лимит длины и остаются на нём"),
                  tr(en="Cut answers earn nothing, and the policy pads them in vain: a sign of trouble.",
                     ru="Обрезанные ответы ничего не получают, а политика тянет их зря: это признак поломки.")),
            wrong(tr(en="The loss falls steadily, as in pretraining", ru="Loss неуклонно падает, как в претрейне"),
                  tr(en="GRPO's loss stays near 0 whatever the model learns: it is not a measure of progress.",
                     ru="Loss в GRPO держится около 0, чему бы модель ни училась: прогресс по нему не измеряют.")),
        ),
        question(
            tr(en="In the log <code>reward_std</code> is near 0 nearly all the time, the reward near 0.95. What is "
                  "happening?",
               ru="В логе <code>reward_std</code> почти всё время около нуля, а награда около 0.95. Что происходит?"),
            right(tr(en="Nearly all groups are degenerate: the tasks have become too easy",
                     ru="Почти все группы вырождены: задачи стали слишком лёгкими"),
                  tr(en="Such groups give no gradient. Take harder tasks, or dynamic sampling.",
                     ru="Такие группы не дают градиента. Нужны задачи труднее или динамическое сэмплирование.")),
            wrong(tr(en="All is well, the learning rate can go up", ru="Всё хорошо, можно поднять learning rate"),
                  tr(en="There is almost no gradient left to go faster with; what would grow is the noise.",
                     ru="Сигнала в градиенте почти не осталось, вырос бы только шум.")),
            wrong(tr(en="The reward function is broken: it pays everybody",
                     ru="Функция награды сломана: платит всем подряд"),
                  tr(en="This can be, and it is worth reading some answers. But a model that solves easy tasks looks just "
                        "the same.",
                     ru="Так бывает, и прочитать ответы полезно. Но модель, которая решает лёгкие задачи, выглядит точно "
                        "так же — "
                        "поломки из этих двух чисел не следует.")),
            wrong(tr(en="beta is too large and holds the policy at the base",
                     ru="beta слишком велик и держит политику у базы"),
                  tr(en="Then the reward would have stayed at the base model's, not at 0.95.",
                     ru="Тогда награда осталась бы на уровне базы, а не 0.95.")),
        ),
        question(
            tr(en="beta is 0.2 instead of 0.02, everything else as before. What will you see by step 150?",
               ru="beta равен 0.2 вместо 0.02, остальное прежнее. Что вы увидите к шагу 150?"),
            right(tr(en="A policy closer to the base: lower reward, fewer answers with steps",
                     ru="Политику ближе к базе: награда ниже, ответов с шагами меньше"),
                  tr(en="Each step away from the base costs ten times as much, so the policy stops where the gain no "
                        "longer pays for it.",
                     ru="Каждый шаг от базы стоит вдесятеро дороже, и политика останавливается там, где выигрыш его уже не "
                        "окупает.")),
            wrong(tr(en="A larger KL: its coefficient is ten times as large",
                     ru="KL больше: его коэффициент вырос вдесятеро"),
                  tr(en="The KL term is a charge. What costs more is done less.",
                     ru="KL — это штраф. За что платят дороже, того делают меньше.")),
            wrong(tr(en="The same curves: at ratio 1 the KL term has no gradient",
                     ru="Те же кривые: при ratio = 1 у KL нет градиента"),
                  tr(en="The ratio compares with the policy that sampled. The KL compares with the reference, and the "
                        "policy does leave it.",
                     ru="ratio сравнивает с политикой, которая сэмплировала, а KL — с референсом, от которого политика "
                        "уходит.")),
            wrong(tr(en="No run at all: with a beta above 0.1 GRPO diverges",
                     ru="Ничего: при beta больше 0.1 GRPO расходится"),
                  tr(en="A strong KL term slows the policy down; it does not make it diverge.",
                     ru="Сильный KL тормозит политику, а не заставляет её расходиться.")),
        ),
        question(
            tr(en="The length penalty is that of Kimi k1.5, with weight w: the longest answer of a group loses 0.5·w, a "
                  "wrong one "
                  "never "
                  "gains. Answers with steps are the longest and right in 70 % of cases; a short guess earns about 0. From "
                  "which w do steps pay no more than guessing, on average?",
               ru="Штраф за длину — как у Kimi, с весом w: самый длинный ответ группы теряет 0.5·w, неверный никогда не "
                  "выигрывает. Ответы с шагами — самые длинные и верны в 70 % случаев; короткая догадка приносит около 0. "
                  "С какого w шаги в среднем не выгоднее догадки?"),
            right("w = 1.4",
                  tr(en="0.7 − 0.5·w = 0. Beyond it the policy is paid for going back to guessing; see in the experiment "
                        "where "
                        "it really does.",
                     ru="0.7 − 0.5·w = 0. Дальше политике платят за возврат к догадкам; где она возвращается на деле, "
                        "видно в "
                        "эксперименте.")),
            wrong("w = 2",
                  tr(en="There even a right answer with steps earns nothing. But wrong ones are charged for their length "
                        "too, "
                        "so the average turns earlier.",
                     ru="Там ничего не приносит даже верный ответ с шагами. Но за длину платят и неверные, поэтому в "
                        "среднем "
                        "перелом наступает раньше.")),
            wrong("w = 0.7",
                  tr(en="Then they still earn 0.7 − 0.35 = 0.35 on average.",
                     ru="Тогда они всё ещё приносят в среднем 0.7 − 0.35 = 0.35.")),
            wrong(tr(en="None: being right always pays more", ru="Ни с какого: быть правым всегда выгоднее"),
                  tr(en="The penalty grows with w, the reward for being right does not.",
                     ru="Штраф растёт вместе с w, а награда за верный ответ — нет.")),
        ),
        question(
            tr(en="Run A ended at pass@1 0.78, run B at 0.74, one seed each, 400 prompts × 8 answers. Are A's settings "
                  "better?",
               ru="Запуск A закончил с pass@1 0.78, запуск B — с 0.74, по одному сиду, 400 задач × 8 ответов. Настройки A "
                  "лучше?"),
            right(tr(en="Not known: run several seeds of each and compare means with their intervals",
                     ru="Неизвестно: нужны несколько сидов каждого и средние с интервалами"),
                  tr(en="Another seed draws other prompts and answers and ends elsewhere; the settings' difference has to "
                        "exceed that spread.",
                     ru="Другой сид даст другие промпты и ответы и закончит в другом месте; разница настроек должна быть "
                        "больше этого разброса.")),
            wrong(tr(en="Yes: 3200 answers are enough to tell 0.78 from 0.74",
                     ru="Да: 3200 ответов достаточно, чтобы отличить 0.78 от 0.74"),
                  tr(en="They tell these two models apart. What they say nothing of is how far two runs with equal "
                        "settings would be apart.",
                     ru="Они отличают эти две модели. Насколько разошлись бы два запуска с одинаковыми настройками, они не "
                        "говорят.")),
            wrong(tr(en="Yes: both had the same seed, so the comparison is fair",
                     ru="Да: сид у обоих один, значит, сравнение честное"),
                  tr(en="After the first step the policies differ and so do their answers: an equal seed does not take "
                        "luck out.",
                     ru="После первого же шага политики различаются, и ответы тоже: одинаковый сид везения не убирает.")),
            wrong(tr(en="No: differences under 0.05 never mean anything",
                     ru="Нет: разница меньше 0.05 никогда ничего не значит"),
                  tr(en="With enough seeds a difference of 0.01 can be shown too. The interval decides, not a fixed bar.",
                     ru="При достаточном числе сидов можно показать и разницу 0.01. Решает интервал, а не заранее взятый "
                        "порог.")),
        ),
    ]


QUIZZES = {"01": quiz_01, "02": quiz_02, "03": quiz_03}
