"""Asks verl's own functions from an environment that has no verl: an oracle next door, for lessons.

    advantages, = ask([{"name": "advantages", "rewards": [[1, 0, 0, 1]]}])
"""
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Sequence

MARK = "answers: "       # before the line that is meant: verl's imports print too


def ask(questions: Sequence[dict]) -> list:
    """The answers of `answer` in verl's environment (`make verl`; ValueError where there is none), some seconds."""
    from lib.llm.launch_verl import surroundings, verl_python

    done = subprocess.run([verl_python(), "-m", "lib.llm.verl_ask"], input=json.dumps(list(questions)), text=True,
                          capture_output=True, env=surroundings({}))
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not lines:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(lines[-1].removeprefix(MARK))


def answer(question: dict):
    """One question: 'scores' of GSM8K answers, 'advantages' of rewards [B][G], 'average' of values and mask [N][T] in a
    `mode`, 'k3' of logp and logp_ref."""
    import numpy as np
    import torch
    from verl.trainer.ppo import core_algos
    from verl.utils.reward_score import default_compute_score

    kind = question["name"]
    if kind == "scores":
        return [default_compute_score("openai/gsm8k", text, question["truth"]) for text in question["texts"]]
    if kind == "advantages":
        rewards = torch.tensor(question["rewards"], dtype=torch.float)
        groups = np.repeat(np.arange(len(rewards)), rewards.shape[1]).astype(object)
        ones = torch.ones(rewards.numel(), 1)
        found, _ = core_algos.compute_grpo_outcome_advantage(rewards.view(-1, 1), ones, groups)
        return found.view(rewards.shape).tolist()
    if kind == "average":
        values, mask = (torch.tensor(question[name], dtype=torch.float) for name in ("values", "mask"))
        return core_algos.agg_loss(values, mask, question["mode"]).item()
    if kind == "k3":
        logp, logp_ref = torch.tensor(question["logp"]), torch.tensor(question["logp_ref"])
        return core_algos.kl_penalty(logp, logp_ref, "low_var_kl").tolist()
    raise ValueError(kind)


def main() -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    print(MARK + json.dumps([answer(question) for question in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
