"""python -m lib.countdown.bench: the reward's time per reply, beside that of the checker which calls eval."""
import timeit

from lib import cli
from lib.countdown.naive import allowed_characters
from lib.countdown.rewards import compute_score, correctness_reward, format_reward
from lib.i18n import tr

REPEAT, CALLS = 15, 100
THOUGHT = "3+7+10=20, too small. 3*7=21 and 21+10=31, that is it. "


def typical() -> list[str]:
    """Replies as a model writes them: right ones, wrong ones, and some that are cut off or say too much."""
    exprs = ("3*7+10", "(3+7)*10", "10 + 3*7", "3 + 7 + 10", "(10-7)*3")
    replies = [f"<think>{THOUGHT * n}</think>\n<answer>{expr}</answer>" for n in (1, 3, 8) for expr in exprs]
    return [*replies, f"<think>{THOUGHT * 4}", f"{THOUGHT} 3*7+10", f"<think>{THOUGHT}</think><answer>3*7+10=31</answer>"]


def microseconds(work, replies: int) -> float:
    """Of work() per reply: the least of several repetitions, which other programs disturbed least."""
    return 1e6 * min(timeit.repeat(work, number=CALLS, repeat=REPEAT)) / CALLS / replies


def main() -> None:
    cli.Parser(prog="python -m lib.countdown.bench", description=tr(
        en="Times the Countdown reward on this machine.",
        ru="Измеряет время награды Countdown на этой машине.")).parse_args()
    replies = typical()
    nums, target = [[3, 7, 10]] * len(replies), [31] * len(replies)
    truth = {"nums": [3, 7, 10], "target": 31}

    def trl():
        format_reward(replies)
        correctness_reward(replies, nums=nums, target=target)

    with_eval = microseconds(lambda: [allowed_characters(reply, [3, 7, 10], 31) for reply in replies], len(replies))
    lines = {
        tr(en="form and answer, as TRL calls them", ru="форма и ответ, как их вызывает TRL"):
            microseconds(trl, len(replies)),
        tr(en="compute_score, as verl calls it", ru="compute_score, как его вызывает verl"):
            microseconds(lambda: [compute_score("countdown", reply, truth) for reply in replies], len(replies)),
        tr(en="a checker with eval (lib.countdown.naive)", ru="проверщик с eval (lib.countdown.naive)"): with_eval,
    }
    for title, time in lines.items():
        print(f"{time:6.1f} " + tr(en="µs a reply", ru="мкс на ответ") + f"  ×{with_eval / time:.2f}  {title}")


if __name__ == "__main__":
    cli.main(main)
