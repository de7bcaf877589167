"""python -m lib.toy.bench: how long the toy's phases take here, each the median of several repetitions."""
import statistics
import time

import torch

from lib import cli
from lib.i18n import tr
from lib.toy.base import load_base, pretrain
from lib.toy.evaluate import evaluate
from lib.toy.experiment import Run, Settings
from lib.toy.grpo import grpo_step, rollout

PRETRAIN_STEPS = 50


def median_ms(work, repetitions: int = 15) -> float:
    """Milliseconds of work(), after one call to warm up."""
    times = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def main() -> None:
    cli.Parser(prog="python -m lib.toy.bench", description=tr(
        en="Times the toy's phases on this machine.",
        ru="Измеряет время фаз игрушки на этой машине.")).parse_args()
    settings = Settings()
    run = Run(settings, base=load_base(1.0))   # answers of eight tokens, as they are at the end of a run
    rng = torch.Generator().manual_seed(0)
    batch = rollout(run.policy, settings.B, settings.G, rng)
    still = torch.optim.SGD(run.policy.parameters(), lr=0.0)   # time the step, keep the policy
    phases = {
        tr(en="pretraining step (128 lines)", ru="шаг претрейна (128 строк)"):
            median_ms(lambda: pretrain(0.3, PRETRAIN_STEPS, progress=False), 3) / PRETRAIN_STEPS,
        tr(en="rollout (32 prompts x 8 answers)", ru="роллаут (32 промпта × 8 ответов)"):
            median_ms(lambda: rollout(run.policy, settings.B, settings.G, rng)),
        tr(en="update on that batch", ru="обновление на этих ответах"):
            median_ms(lambda: grpo_step(run.policy, run.base, still, batch)),
        tr(en="whole GRPO step", ru="шаг GRPO целиком"): median_ms(lambda: next(run)),
        tr(en="evaluation (400 prompts x 8 answers)", ru="оценка (400 задач × 8 ответов)"):
            median_ms(lambda: evaluate(run.policy), 5),
        tr(en="from a slider's move to the first row", ru="от движения слайдера до первой строки лога"):
            median_ms(lambda: next(Run(settings)), 5),
    }
    for title, milliseconds in phases.items():
        print(f"{milliseconds:8.1f} " + tr(en="ms", ru="мс") + f"  {title}")


if __name__ == "__main__":
    cli.main(main)
