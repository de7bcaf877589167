"""The quiz of lesson 01: the toy model."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, wrong


def questions() -> list[dict]:
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
