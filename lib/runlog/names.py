"""The metrics of a run log: TRL's names, and how each is called on a plot."""
from lib.i18n import tr

STEP = "step"
EQUAL_GROUPS = "frac_groups_all_right_or_wrong"     # what the course's rewards log beside TRL's metrics
# What the toy writes into each row, beside `step` and `seed`. The names are those of TRL's GRPOTrainer; `cot`, the share
# of answers with steps, and `num_completions`, the answers sampled for the step, are the toy's own.
TOY_METRICS = (
    "reward", "reward_std", "frac_reward_zero_std", "rewards/rule_reward/mean", "completions/mean_length",
    "completions/clipped_ratio", "cot", "entropy", "kl", "clip_ratio/region_mean", "grad_norm", "loss", "num_completions",
)


def label(metric: str) -> str:
    """A plot's label for a metric, in the learner's language; the name itself where the course has no label for it."""
    labels = {
        STEP: tr(en="step", ru="шаг"),
        "reward": tr(en="reward", ru="награда"),
        "reward_std": tr(en="reward std in a group", ru="разброс наград в группе"),
        "frac_reward_zero_std": tr(en="share of degenerate groups", ru="доля вырожденных групп"),
        "rewards/rule_reward/mean": tr(en="right answers", ru="верные ответы"),
        "completions/mean_length": tr(en="answer length, tokens", ru="длина ответа, токенов"),
        "completions/clipped_ratio": tr(en="share of answers cut off", ru="доля обрезанных ответов"),
        "cot": tr(en="share of answers with CoT", ru="доля ответов с CoT"),
        "entropy": tr(en="entropy, nats", ru="энтропия, нат"),
        "kl": tr(en="KL to the base", ru="KL до базы"),
        "clip_ratio/region_mean": tr(en="share of clipped tokens", ru="доля клиппированных токенов"),
        "grad_norm": tr(en="gradient norm", ru="норма градиента"),
        "loss": tr(en="loss", ru="loss"),
        EQUAL_GROUPS: tr(en="groups all right or all wrong", ru="группы, где верно всё или ничего"),
        "rewards/correctness_reward/mean": tr(en="right answers", ru="верные ответы"),
        "rewards/format_reward/mean": tr(en="reward for the form", ru="награда за форму"),
        "step_time": tr(en="seconds a step", ru="секунд на шаг"),
        "num_completions": tr(en="answers sampled", ru="сэмплировано ответов"),
    }
    return labels.get(metric, metric)
