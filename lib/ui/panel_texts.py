"""What the slider panel says: a run's name, the table of finished runs, the samples."""
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape

import torch

from lib.i18n import tr
from lib.toy.experiment import Result, Settings
from lib.toy.policy import TinyLM, sample
from lib.toy.reward import rule_reward
from lib.toy.task import answer_texts, make_prompt, prompt_tokens, random_digits

SAMPLES, SAMPLES_SEED = 6, 7
STYLE = """<style>
.grpo-controls .widget-readout {width: 48px; min-width: 48px}
.grpo-controls button {padding: 0 2px} .grpo-status .widget-html-content {overflow-wrap: anywhere; line-height: 1.3}
.grpo-panel {font-size: 12px; line-height: 1.35; border-collapse: collapse; color: var(--jp-ui-font-color1, black)}
.grpo-panel td, .grpo-panel th {padding: 1px 7px; text-align: left; white-space: nowrap}
.grpo-panel th {border-bottom: 1px solid currentColor} .grpo-panel .wide {white-space: normal; min-width: 110px}
.grpo-panel caption {text-align: left; padding: 2px 7px; white-space: nowrap}
.grpo-panel .right {color: var(--jp-success-color0, #1b5e20); font-weight: 600}
.grpo-panel .wrong {color: var(--jp-warn-color0, #b54700)}
</style>"""


def differences(settings: Settings, defaults: Settings) -> str:
    """In what a run differs from the panel's defaults: 'beta=0.2, G=4'."""
    names = {"length_penalty": tr(en="length penalty", ru="штраф за длину"), "seed": tr(en="seed", ru="сид")}
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    parts = [f"{names.get(name, name)}={value if isinstance(value, str) else format(value, 'g')}"
             for name, value in values.items() if value != getattr(defaults, name)]
    return ", ".join(parts) or tr(en="default settings", ru="настройки по умолчанию")


def _table_html(caption: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Cells are HTML."""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    return (f'{STYLE}<table class="grpo-panel"><caption>{caption}</caption><thead><tr>'
            + "".join(f"<th>{cell}</th>" for cell in head) + f"</tr></thead><tbody>{body}</tbody></table>")


def results_html(results: Sequence[Result], defaults: Settings) -> str:
    """Finished runs, the latest first."""
    if not results:
        return _table_html(tr(en="Finished runs will be listed here", ru="Здесь появятся законченные запуски"), [], [])
    one = results[-1].after
    n = f"{one.n} × {one.samples}"
    caption = tr(en=f"Finished runs, before → after: n = {n} (prompts × answers), ± is half of the 95 % interval",
                 ru=f"Законченные запуски, до → после: n = {n} (задачи × ответы), ± половина 95 % интервала")
    head = ["#", tr(en="settings", ru="настройки"), "pass@1", f"pass@{one.k}", tr(en="length", ru="длина"), "CoT"]
    lines = [(str(number), f'<div class="wide">{escape(differences(r.settings, defaults))}</div>',
              f"{r.before.pass1:.2f} → {r.after.pass1:.2f} ± {r.after.pass1_error:.2f}",
              f"{r.before.passk:.2f} → {r.after.passk:.2f}", f"{r.before.length:.1f} → {r.after.length:.1f}",
              f"{r.before.cot:.2f} → {r.after.cot:.2f}") for number, r in enumerate(results, 1)]
    return _table_html(caption, head, reversed(lines))


def samples_html(base: TinyLM, policy: TinyLM | None) -> str:
    """One answer of the base and of the policy to each of a few prompts, always the same ones."""
    digits = random_digits(SAMPLES, torch.Generator().manual_seed(SAMPLES_SEED))
    prompts = [make_prompt(d) for d in digits.tolist()]
    columns = [prompts, *([_marked(model, digits, prompts) if model else [""] * SAMPLES for model in (base, policy)])]
    head = [tr(en="prompt", ru="промпт"), tr(en="before", ru="до"), tr(en="after", ru="после")]
    return _table_html(tr(en="One sampled answer", ru="Один сэмплированный ответ"), head, zip(*columns, strict=True))


def _marked(model: TinyLM, digits: torch.Tensor, prompts: list[str]) -> list[str]:
    answers = sample(model, prompt_tokens(digits), 1, torch.Generator().manual_seed(SAMPLES_SEED))
    return [f'<span class="right">✓ {text}</span>' if rule_reward(prompt, text) else f'<span class="wrong">✗ {text}</span>'
            for prompt, text in zip(prompts, answer_texts(answers.tokens, answers.lengths), strict=True)]
