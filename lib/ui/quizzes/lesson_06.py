"""The quiz of lesson 06: verl."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, wrong


def questions() -> list[dict]:
    return [
        question(
            tr(en="<code>train_batch_size=128</code>, <code>rollout.n=8</code>, <code>ppo_mini_batch_size=64</code>. How "
                  "many completions and optimizer steps does an iteration have?",
               ru="<code>train_batch_size=128</code>, <code>rollout.n=8</code>, <code>ppo_mini_batch_size=64</code>. "
                  "Сколько в итерации ответов и шагов оптимизатора?"),
            right(tr(en="1024 completions, 2 steps", ru="1024 ответа, 2 шага"),
                  tr(en="Both batches count prompts: 128 × 8 completions, 128 / 64 steps.",
                     ru="Оба батча считают промпты: ответов 128 × 8, шагов 128 / 64.")),
            wrong(tr(en="1024 completions, 16 steps", ru="1024 ответа, 16 шагов"),
                  tr(en="That would be so if the mini-batch counted completions, as TRL's batch does.",
                     ru="Так было бы, если бы мини-батч считал ответы, как батч в TRL.")),
            wrong(tr(en="128 completions, 2 steps", ru="128 ответов, 2 шага"),
                  tr(en="128 are the prompts, each has 8 completions.", ru="128 — это промпты, у каждого 8 ответов.")),
            wrong(tr(en="1024 completions, 1 step", ru="1024 ответа, 1 шаг"),
                  tr(en="Then the ratio would always be 1, and the clip would do nothing.",
                     ru="Тогда ratio всегда был бы 1, и клиппинг ничего бы не делал.")),
        ),
        question(
            tr(en="Your model solves GSM8K and writes <code>\\boxed{42}</code>. Reward, loss and gradient are exactly "
                  "zero. Why?",
               ru="Модель решает GSM8K и пишет <code>\\boxed{42}</code>. Награда, loss и градиент ровно ноль. Почему?"),
            right(tr(en="verl's scorer looks for '#### 42': all rewards are equal, all groups degenerate",
                     ru="Проверщик verl ищет «#### 42»: все награды равны, все группы вырождены"),
                  tr(en="Read the answers first: the model is right, the spelling is not.",
                     ru="Сначала читайте ответы: модель права, запись не та.")),
            wrong(tr(en="The learning rate is too small", ru="Слишком маленький learning rate"),
                  tr(en="It does not change the reward, and the gradient would not be exactly zero.",
                     ru="На награду он не влияет, и градиент не был бы ровно нулём.")),
            wrong(tr(en="The KL holds the policy", ru="Политику держит KL"),
                  tr(en="At the first step the KL is zero, and the reward does not depend on it.",
                     ru="На первом шаге KL ноль, и награда от него не зависит.")),
            wrong(tr(en="The tasks are too hard", ru="Задачи слишком трудны"),
                  tr(en="It would look the same in the curves; only the answers tell.",
                     ru="На кривых выглядело бы так же; различат только сами ответы.")),
        ),
        question(
            tr(en="What does the hybrid engine do?", ru="Что делает гибридный движок?"),
            right(tr(en="Training and generation take turns on the same cards", ru="Обучение и генерация по очереди "
                                                                                  "занимают одни и те же карты"),
                  tr(en="Weights pass from one to the other, memory is freed in between.",
                     ru="Веса переходят из одного в другое, память между ними освобождается.")),
            wrong(tr(en="It generates on one card and trains on the others", ru="Генерирует на одной карте, обучает на "
                                                                                "остальных"),
                  tr(en="That is TRL's vLLM server of lesson 05.", ru="Это сервер vLLM в TRL из урока 05.")),
            wrong(tr(en="It mixes SFT and RL in one loss", ru="Смешивает SFT и RL в одном loss"),
                  tr(en="There is no SFT here.", ru="SFT здесь нет.")),
            wrong(tr(en="It lets the policy lag behind by a step", ru="Позволяет политике отставать на шаг"),
                  tr(en="That is asynchronous RL.", ru="Это асинхронный RL.")),
        ),
        question(
            tr(en="verl's advantages are smaller than those of lesson 02 by the same factor in every group of 8. Why?",
               ru="Преимущества verl во всех группах по 8 меньше, чем в уроке 02, в одно и то же число раз. Почему?"),
            right(tr(en="The std is divided by G − 1 and not by G", ru="std делится на G − 1, а не на G"),
                  tr(en="√(8/7) = 1.07. For the step that is another learning rate.",
                     ru="√(8/7) = 1.07. Для шага это всё равно что другой learning rate.")),
            wrong(tr(en="verl clips them", ru="verl их клиппит"),
                  tr(en="It clips the ratio, not the advantage.", ru="Клиппится ratio, а не преимущество.")),
            wrong(tr(en="The overlong punishment is subtracted", ru="Вычтен штраф за длину"),
                  tr(en="It changes rewards, and not by one factor.", ru="Он меняет награды, и не в одно число раз.")),
            wrong("bfloat16",
                  tr(en="Rounding gives no constant factor of 7 %.", ru="Округление не даёт постоянных 7 %.")),
        ),
        question(
            tr(en="With dynamic sampling on, which metric must not be read as before?",
               ru="При динамическом сэмплинге какую метрику нельзя читать по-прежнему?"),
            right("critic/score/mean",
                  tr(en="It is the mean over the groups that were kept. The validation accuracy is not affected.",
                     ru="Это среднее по оставленным группам. Точность на валидации от этого не зависит.")),
            wrong(tr(en="the validation accuracy", ru="точность на валидации"),
                  tr(en="Nothing is left out there.", ru="Там ничего не отбрасывают.")),
            wrong("actor/entropy",
                  tr(en="It is over the kept groups too, but means the same.",
                     ru="Она тоже по оставленным, но смысл тот же.")),
            wrong("actor/lr", tr(en="That is a setting.", ru="Это настройка.")),
        ),
    ]
