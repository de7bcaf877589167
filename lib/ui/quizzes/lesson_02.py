"""The quiz of lesson 02: the GRPO step."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, wrong


def questions() -> list[dict]:
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
