"""The lessons' tables and what their cells need: the numbers shown are the data's."""
import base64
import inspect
import re
import struct

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure

from lib.toy.evaluate import Evaluation
from lib.toy.grpo import group_advantages
from lib.toy.policy import TinyLM
from lib.toy.task import DOT, MAX_NEW, encode, prompt_tokens
from lib.ui import cells, tables

POLICY, REFERENCE = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
EVALUATION = Evaluation(pass1=0.21, pass1_error=0.014, passk=0.79, length=4.2, cot=0.28, distinct=6.8,
                        n=400, samples=64, k=8)


def rows(markdown) -> list[list[str]]:
    """The cells of a Markdown table, without its line of dashes."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.data.split("\n")]
    assert len({len(line) for line in lines}) == 1
    assert set(lines.pop(1)) == {"---"}
    return lines


def test_parameters_add_up():
    head, *parts, total = rows(tables.parameters(TinyLM()))
    assert head == ["part", "what it does", "shapes", "parameters"]
    assert [part[0] for part in parts] == ["`emb`", "`rnn`", "`head`"]
    assert [int(part[3].replace("\u202f", "")) for part in parts] == [896, 74496, 1677]
    assert total[3] == "**77\u202f069**"


def test_judged():
    _, *lines = rows(tables.judged("3527=", ["8,10,17.", "17.\n", "018."]))
    assert lines == [["`'8,10,17.'`", "last number 17", "**1**"], [r"`'17.\n'`", "format wrong", "0"],
                     ["`'018.'`", "last number 018", "0"]]


def test_samples_mark_and_count_the_right_answers():
    texts = [["8,10,17.", "16.", "17."], ["1.", "2.", "3."]]
    answers = torch.tensor([[encode(t) + [DOT] * (MAX_NEW - len(t)) for t in group] for group in texts])
    lengths = torch.tensor([[len(t) for t in group] for group in texts])
    prompts = prompt_tokens(torch.tensor([[3, 5, 2, 7], [9, 9, 9, 9]]))
    _, first, second = rows(tables.samples(prompts, answers, lengths))
    assert first == ["`3527=`", "17", "**`8,10,17.`**", "`16.`", "**`17.`**", "2/3"]
    assert second == ["`9999=`", "36", "`1.`", "`2.`", "`3.`", "0/3"]


def test_evaluations():
    head, line = rows(tables.evaluations({"base": EVALUATION}))
    assert head[0] == "400 prompts × 64 answers"
    assert line == ["base", "0.21 ± 0.01", "0.79", "4.2", "0.28", "6.8"]


def test_by_steps():
    rewards, steps = torch.tensor([1.0, 0, 1, 0, 0]), torch.tensor([True, True, False, False, False])
    _, with_steps, without = rows(tables.by_steps(rewards, steps, torch.tensor([8, 9, 3, 2, 4])))
    assert with_steps == ["with steps", "0.40", "**0.500**", "8.5"]
    assert without == ["without steps", "0.60", "**0.333**", "3.0"]


def test_advantages_of_every_count_of_right_answers():
    _, *lines = rows(tables.advantages(4))
    assert [int(line[0]) for line in lines] == [0, 1, 2, 3, 4]
    assert lines[0][1] == lines[4][2] == ""   # no right answer among none, no wrong one among all
    for right, line in enumerate(lines[1:4], start=1):
        A = group_advantages(torch.tensor([[1.0] * right + [0.0] * (4 - right)]))[0]
        assert [float(line[1]), float(line[2])] == pytest.approx([A[0].item(), A[-1].item()], abs=0.005)


def test_kl_estimates():
    tokens = torch.tensor([[0, 0, 1, 2]])
    _, k1, k3 = rows(tables.kl_estimates(POLICY, REFERENCE, tokens))
    values = (POLICY / REFERENCE).log()[tokens]
    wanted = [values.mean().item(), values.std().item(), values.min().item()]
    assert k1[1] == k3[1] == "0.3734"
    assert [float(x) for x in k1[2:]] == pytest.approx(wanted, abs=0.005)
    assert float(k3[4]) > 0


def test_tables_are_in_the_learners_language(each_language):
    heads = [rows(t)[0] for t in (tables.parameters(TinyLM()), tables.judged("3527=", ["17."]), tables.advantages(2),
                                  tables.evaluations({"": EVALUATION}))]
    for head in heads:
        assert bool(re.search("[а-яё]", " ".join(head))) == (each_language == "ru")


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_source_shows_the_code_that_runs():
    shown = cells.source(group_advantages, TinyLM).data
    assert shown.startswith("```python\n")
    assert shown.endswith("\n```")
    for thing in (group_advantages, TinyLM):
        assert inspect.getsource(thing).rstrip() in shown


def test_show_figures_makes_a_notebook_show_any_figure():
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = shell.display_formatter.format_types   # as in a notebook, not as on a terminal
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots()
    try:
        formats, _ = shell.display_formatter.format(figure)
        assert "image/png" not in formats
        cells.show_figures()
        formats, metadata = shell.display_formatter.format(figure)
        width, = struct.unpack(">I", base64.b64decode(formats["image/png"])[16:20])   # pixels, from the PNG's header
        assert abs(width - 2 * metadata["image/png"]["width"]) <= 1
    finally:
        InteractiveShell.clear_instance()


def test_show_figures_outside_of_notebooks_does_nothing():
    cells.show_figures()
