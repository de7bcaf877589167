"""The quiz of lesson 05: GRPO in TRL."""
from lib.i18n import tr
from lib.ui.quizzes.form import question, right, wrong


def questions() -> list[dict]:
    return [
        question(
            tr(en="TRL on one GPU: <code>per_device_train_batch_size=8</code>, <code>gradient_accumulation_steps=4</code>, "
                  "<code>num_generations=8</code>. How many different prompts are there in an optimizer step?",
               ru="TRL на одной GPU: <code>per_device_train_batch_size=8</code>, "
                  "<code>gradient_accumulation_steps=4</code>, <code>num_generations=8</code>. Сколько разных промптов "
                  "приходится на один шаг оптимизатора?"),
            right("4", tr(en="8 × 4 = 32 completions a step, 8 of them to each prompt: 32 / 8 = 4.",
                          ru="На шаг 8 × 4 = 32 ответа, по 8 на промпт: 32 / 8 = 4.")),
            wrong("8", tr(en="The batch counts completions and not prompts: 8 completions are one group.",
                          ru="Батч считает ответы, а не промпты: 8 ответов — это одна группа.")),
            wrong("32", tr(en="That many completions, yes. Divide by G.", ru="Столько ответов, да. Разделите на G.")),
            wrong("256", tr(en="Nothing multiplies by G here: it divides.", ru="На G здесь не умножают, а делят.")),
        ),
        question(
            tr(en="You start the same script with <code>accelerate launch --num_processes 4</code> and change nothing "
                  "else. What is different?",
               ru="Вы запускаете тот же скрипт через <code>accelerate launch --num_processes 4</code> и больше ничего не "
                  "меняете. Что станет другим?"),
            right(tr(en="The prompts a step: 16 instead of 4", ru="Число промптов на шаг: 16 вместо 4"),
                  tr(en="Every card brings its own 8 completions a micro-batch. The step is another one, not only a faster "
                        "one.",
                     ru="Каждая карта приносит свои 8 ответов в микробатч. Шаг не просто быстрее, он другой.")),
            wrong(tr(en="Only the time: the same 4 prompts are divided among the cards",
                     ru="Только время: те же 4 промпта делятся между картами"),
                  tr(en="So it would be if the batch were global. <code>per_device_</code> says that it is not: for the "
                        "same step set the accumulation to 1.",
                     ru="Так было бы с общим батчем. Но <code>per_device_</code> — значит на карту: чтобы шаг остался тем "
                        "же, задайте накопление 1.")),
            wrong(tr(en="The size of the group: 32 completions a prompt", ru="Размер группы: 32 ответа на промпт"),
                  tr(en="G stays what num_generations says, whatever the number of cards.",
                     ru="G остаётся равным num_generations, сколько бы ни было карт.")),
            wrong(tr(en="The learning rate: it is multiplied by 4", ru="Learning rate: он умножится на 4"),
                  tr(en="Nobody does that for you. With four times the prompts you may want to raise it yourself.",
                     ru="Сам он не изменится. Если промптов вчетверо больше, поднять его, возможно, захотите вы.")),
        ),
        question(
            tr(en="After training, accuracy rose from 0.21 to 0.64 and replies are 2.7 times as long. Which experiments "
                  "tell what RL has taught?",
               ru="После обучения точность выросла с 0.21 до 0.64, а ответы стали в 2.7 раза длиннее. Какие опыты покажут, "
                  "чему научил RL?"),
            right(tr(en="Best of k short replies of the base, at the same number of tokens",
                     ru="Лучший из k коротких ответов базы при том же числе токенов"),
                  tr(en="If that were enough, the gain would be a matter of tokens. Over five seeds it reaches 0.44: "
                        "about half of the gain.",
                     ru="Если бы этого хватило, дело было бы в токенах. На пяти сидах выходит 0.44: около половины "
                        "прироста.")),
            right(tr(en="The base, forced to go on until it says yes", ru="База, которой не дают бросить, пока она не "
                                                                          "скажет «да»"),
                  tr(en="Over five seeds it reaches 0.70 without any training, even more: what was taught is persistence.",
                     ru="На пяти сидах выходит 0.70 без всякого обучения, даже больше: выучено упорство.")),
            wrong(tr(en="Another training run with a larger learning rate", ru="Ещё одно обучение с learning rate побольше"),
                  tr(en="That tells how to train, not what was learned.", ru="Это скажет, как учить, но не о том, что "
                                                                             "выучено.")),
            wrong(tr(en="A look at the loss", ru="Взгляд на loss"),
                  tr(en="The loss is near zero from beginning to end: advantages add up to zero in each group.",
                     ru="loss около нуля от начала до конца: преимущества в группе в сумме дают ноль.")),
        ),
        question(
            tr(en="The rewards are 0.2 for the form and 1 for a right answer. TRL logs <code>frac_reward_zero_std</code> = "
                  "0.00 for the whole run. What do you conclude?",
               ru="Награды: 0.2 за форму и 1 за верный ответ. TRL весь запуск пишет <code>frac_reward_zero_std</code> = "
                  "0.00. Какой вывод?"),
            right(tr(en="Nothing yet: the std of equal rewards of 0.2 is not exactly zero in float32",
                     ru="Пока никакого: std одинаковых наград 0.2 во float32 не равен нулю точно"),
                  tr(en="1.6·10⁻⁸ where TRL 1.16 accepts 10⁻⁸. Count the groups that are all right or all wrong.",
                     ru="1.6·10⁻⁸ при допуске TRL 1.16 в 10⁻⁸. Считайте группы, где верно всё или ничего.")),
            wrong(tr(en="The tasks are of just the right difficulty", ru="Трудность задач подобрана идеально"),
                  tr(en="Over five seeds, 16 % of the groups were all right or all wrong while the metric said 0.",
                     ru="На пяти сидах в 16 % групп было верно всё или ничего, а метрика показывала 0.")),
            wrong(tr(en="Every group had both right and wrong replies", ru="В каждой группе были и верные, и неверные "
                                                                           "ответы"),
                  tr(en="That is what the metric should mean at 0.00, and with rewards of 0 and 1 it does.",
                     ru="Так и следовало бы понимать 0.00, и с наградами 0 и 1 это верно.")),
            wrong(tr(en="The reward function is broken", ru="Функция награды сломана"),
                  tr(en="It is the metric that is blind, the advantages are right.", ru="Слепа метрика, преимущества "
                                                                                        "верны.")),
        ),
        question(
            tr(en="Qwen2.5-1.5B, three cards of 16 GB that train. What is the first placement whose state fits?",
               ru="Qwen2.5-1.5B, обучают три карты по 16 ГБ. Какое размещение первым вместит состояние обучения?"),
            wrong(tr(en="A copy on each card", ru="Копия на каждой карте"),
                  tr(en="16 bytes × 1.54 billion = 25 GB on each card.", ru="16 байт × 1.54 миллиарда = 25 ГБ на каждой.")),
            right(tr(en="ZeRO-2: gradients and optimizer divided", ru="ZeRO-2: градиенты и оптимизатор поделены"),
                  tr(en="2 bytes of weights everywhere, 14 / 3 of the rest: 10.3 GB.",
                     ru="2 байта весов везде и 14 / 3 остального: 10.3 ГБ.")),
            wrong(tr(en="ZeRO-3: weights divided too", ru="ZeRO-3: поделены и веса"),
                  tr(en="It fits as well (8.2 GB), but gathers the weights in every pass; ZeRO-2 comes first.",
                     ru="Тоже поместится (8.2 ГБ), но собирает веса на каждом проходе; ZeRO-2 — раньше.")),
            wrong(tr(en="Only LoRA", ru="Только LoRA"),
                  tr(en="That is the last resort, for 7B.", ru="Это крайнее средство, для 7B.")),
        ),
    ]
