"""Countdown: make a target from given numbers. Tasks, and a reward that model text can neither game, crash nor hang."""
from lib.countdown.rewards import check_expression, compute_score, correctness_reward, format_reward, text_of
from lib.countdown.tasks import (
    PROMPT,
    PROMPTS,
    from_dataset,
    load_tasks,
    make_countdown,
    save_tasks,
    to_dataset,
    with_difficulty,
)

__all__ = ["PROMPT", "PROMPTS", "check_expression", "compute_score", "correctness_reward", "format_reward", "from_dataset",
           "load_tasks", "make_countdown", "save_tasks", "text_of", "to_dataset", "with_difficulty"]
