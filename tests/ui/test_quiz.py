"""The quizzes: whole in both languages, answerable, and right in what they say."""
import json
import re
from html.parser import HTMLParser

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from lib.toy.evaluate import pass_at_k
from lib.toy.grpo import clipped_objective, group_advantages, length_bonus, token_weights
from lib.toy.task import ANSWER, rule_reward
from lib.ui import quiz

NAMES = list(quiz.QUIZZES)
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


def all_questions() -> list[dict]:
    return [question for name in NAMES for question in quiz.questions(name)]


def strings(question: dict) -> list[str]:
    return [question["question"], *(o[part] for o in question["answers"] for part in ("answer", "feedback"))]


class Tags(HTMLParser):
    """Collects the tags of a text and fails where one is left open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(text: str) -> set[str]:
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert parser.open == [], text
    return parser.seen


# ── form ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_lesson_has_its_questions():
    assert {name: len(quiz.questions(name)) for name in NAMES} == {"01": 5, "02": 5, "03": 7}


def test_every_question_can_be_answered_and_every_option_teaches(each_language):
    for question in all_questions():
        options = question["answers"]
        right = [o for o in options if o["correct"]]
        assert right, question["question"]
        assert len(right) < len(options), "with no wrong option there is nothing to choose"
        assert len(options) >= 4
        assert len({o["answer"] for o in options}) == len(options)
        assert len({o["feedback"] for o in options}) == len(options)
        assert question["type"] == ("many_choice" if len(right) > 1 else "multiple_choice")
        for option in options:
            verdict = {"en": ("No. ", "Right. "), "ru": ("Нет. ", "Верно. ")}[each_language][option["correct"]]
            assert option["feedback"].startswith(verdict)
            assert len(option["feedback"]) > len(verdict) + 10


def test_texts_are_in_the_learners_language(each_language):
    for question in all_questions():
        sentences = [question["question"], *(o["feedback"] for o in question["answers"])]
        for text in sentences if each_language == "ru" else strings(question):
            assert bool(CYRILLIC.search(text)) == (each_language == "ru"), text


def test_both_languages_mark_the_same_options_right(monkeypatch):
    marks = []
    for language in ("en", "ru"):
        monkeypatch.setenv("COURSE_LANG", language)
        marks.append([[o["correct"] for o in q["answers"]] for q in all_questions()])
    assert marks[0] == marks[1]


def test_a_question_with_several_right_options_says_so(in_russian):
    several = [q for q in all_questions() if q["type"] == "many_choice"]
    assert len(several) == 3
    assert all("верных ответов несколько" in q["question"] for q in several)


def test_html_is_closed_and_holds_nothing_that_jupyterquiz_would_change(each_language):
    for question in all_questions():
        for text in strings(question):
            assert tags(text) <= {"code", "samp", "i", "sup", "sub"}
            assert "$" not in text, "jupyterquiz takes dollars for LaTeX"
            assert not re.search(r"\[.*?\]\(", text), "jupyterquiz takes this for a link"
        for option in question["answers"]:
            assert "code" not in tags(option["answer"]), "unreadable once the option is chosen: use samp"


def test_an_unknown_quiz_is_a_sentence():
    with pytest.raises(ValueError, match=r"no quiz '04'.*01, 02, 03"):
        quiz.questions("04")


# ── on the page ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("name", NAMES)
def test_show_quiz_hands_over_all_questions(name, shell, each_language):
    with capture_output() as shown:
        quiz.show_quiz(name)
    page, script = shown.outputs
    assert "<div id=" in page.data["text/html"]
    sent = re.match(r"var questions\w+=(.*?);\n", script.data["application/javascript"], re.DOTALL)
    assert json.loads(sent[1]) == quiz.questions(name)
    assert "Shift+Enter" in script.data["text/plain"]   # what an untrusted notebook shows in its place
    assert bool(CYRILLIC.search(script.data["text/plain"])) == (each_language == "ru")


# ── what the quizzes say ──────────────────────────────────────────────────────────────────────────────────────────────
CARELESS = re.compile(r"^(?:\d+,)*(\d+)\.$")


@pytest.mark.parametrize(("text", "fooled"), [("17.\n", True), ("١٧.", True), ("17", False), ("8,,17.", False)])
def test_which_answers_fool_the_careless_rule(text, fooled):
    assert bool(CARELESS.match(text)) == fooled
    assert ANSWER.fullmatch(text) is None


def test_figures_of_quiz_01():
    assert rule_reward("3527=", "9,9,17.") == 1
    estimate, guessing = pass_at_k(10, 3, 2), 1 - (36 / 37) ** 8
    assert estimate == pytest.approx(1 - 21 / 45)
    assert estimate == pytest.approx(0.53, abs=0.005)
    assert guessing == pytest.approx(0.2, abs=0.005)


def test_figures_of_quiz_02():
    assert group_advantages(torch.ones(1, 8)).abs().max() == 0
    value = clipped_objective(torch.tensor([[5.0], [0.5]]).log(), torch.zeros(2, 1), -torch.ones(2))
    assert value.flatten().tolist() == pytest.approx([-5, -0.8])
    mask = torch.tensor([[1.0] * 3 + [0.0] * 6, [1.0] * 9])
    per_token = {loss: token_weights(mask, loss)[:, 0] for loss in ("grpo", "dapo", "dr_grpo")}
    assert per_token["grpo"][0] == pytest.approx(3 * per_token["grpo"][1].item())
    assert per_token["dapo"][0] == per_token["dapo"][1]
    assert per_token["dr_grpo"][0] == per_token["dr_grpo"][1]


def test_figures_of_quiz_03():
    a_step_in_the_group = 1 - 0.95**8
    assert a_step_in_the_group == pytest.approx(0.34, abs=0.005)
    correct, lengths = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[9, 9, 2]])
    right, wrong, guess = length_bonus(correct, lengths)[0].tolist()
    assert (right, wrong, guess) == (-0.5, -0.5, 0)
    assert 0.7 * (1 + 1.4 * right) + 0.3 * 1.4 * wrong == pytest.approx(0)   # steps break even at w = 1.4
