"""The quiz of lesson 03: experiments."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, wrong


def questions() -> list[dict]:
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
