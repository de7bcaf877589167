"""The quizzes: whole in both languages, answerable, and right in what they say."""
import ast
import builtins
import html
import inspect
import json
import math
import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from lib.countdown import naive, rewards, verifier
from lib.countdown.battery import case, cases, with_form
from lib.countdown.cage import Cage
from lib.countdown.rewards import check_expression, compute_score, correctness_reward, format_reward
from lib.countdown.tasks import make_countdown, task_key
from lib.toy.evaluate import pass_at_k
from lib.toy.grpo import clipped_objective, group_advantages, length_bonus, token_weights
from lib.toy.reward import ANSWER, rule_reward
from lib.ui import quiz, quizzes
from lib.ui.reward_design import form_earnings, race

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
    assert {name: len(quiz.questions(name)) for name in NAMES} == {"01": 5, "02": 5, "03": 7, "04": 6, "05": 5, "06": 5}


def test_every_module_of_questions_is_the_quiz_of_its_lesson():
    files = sorted(path.stem for path in Path(quizzes.__file__).parent.glob("lesson_*.py"))
    assert files == [f"lesson_{name}" for name in NAMES]
    assert files == [questions.__module__.split(".")[-1] for questions in quiz.QUIZZES.values()]


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
    assert len(several) == 7
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
    with pytest.raises(ValueError, match=r"no quiz '99'.*01, 02, 03, 04, 05"):
        quiz.questions("99")


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


# ── 04: the reward, and designs that only a cage may run ──────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def cage():
    with Cage(1.0) as cage:
        yield cage


def outcome(cage, design, name):
    one = case(name)
    return cage.run(design, one.reply, one.nums, one.target)


def names_in(module) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Name)}


def test_digits_of_the_tower(each_language):
    digits = math.floor(9**9 * math.log10(9)) + 1       # 9**9**9 is 9**(9**9)
    assert f"{digits:,}".replace(",", " ") in quiz.questions("04")[0]["answers"][0]["feedback"]


def test_why_eval_is_fenced_and_why_the_fence_is_not_enough(cage):
    assert outcome(cage, "bare_eval", "tower").end == "killed"
    assert "**" not in case("way around").reply
    assert outcome(cage, "no_builtins", "way around").files == ("owned.txt",)
    assert "eval" in names_in(naive), "this test does see it"
    assert not {"eval", "exec", "compile", "literal_eval"} & (names_in(verifier) | names_in(rewards))


def test_which_replies_are_paid(cage):
    options = quiz.questions("04")[1]["answers"]
    replies = [html.unescape(re.fullmatch("<samp>(.*)</samp>", option["answer"])[1]) for option in options]
    tasks = {"nums": [[3, 7, 10]] * len(options), "target": [31] * len(options)}
    assert correctness_reward(replies, **tasks) == [float(option["correct"]) for option in options] == [1, 1, 0, 0, 0]
    assert format_reward(replies) == [0, 0.2, 0, 0.2, 0.2]
    assert cage.run("allowed_characters", replies[2], [3, 7, 10], 31).paid >= 1, "a draft"
    assert cage.run("forgiving", with_form("3*7+10=banana"), [3, 7, 10], 31).paid >= 1
    assert cage.run("allowed_characters", with_form("1.5*4"), [1, 5, 4], 6).paid >= 1


def test_what_except_exception_does_not_save_from(cage):
    """`forgiving` catches every Exception; its 0.2 is the form's."""
    assert outcome(cage, "forgiving", "tower").end == "killed"
    ran = outcome(cage, "bare_eval", "write a file")
    assert (ran.end, ran.files) == ("paid", ("owned.txt",)), "no exception that one could catch"
    assert outcome(cage, "bare_eval", "exit").error == "SystemExit"
    assert not issubclass(SystemExit, Exception)
    assert cage.run("forgiving", with_form("3*7+10"), [3, 7, 10], None).paid == 0.2, "the target is lost, nobody is told"
    with pytest.raises(ValueError, match="row 1: target"):
        correctness_reward([with_form("3*7+10")] * 2, nums=[[3, 7, 10]] * 2, target=[31, None])


@pytest.mark.parametrize("name", ["by zero", "4301 digits"])
def test_what_except_exception_does_save_from(cage, name):
    bare = outcome(cage, "bare_eval", name)
    assert bare.end == "raised"
    assert issubclass(getattr(builtins, bare.error), Exception)
    assert (bare.error == "ZeroDivisionError") == (name == "by zero")
    assert outcome(cage, "forgiving", name)[:2] == ("paid", 0.2)


def test_int_cannot_cope_with_every_length():
    int("9" * 4300)
    with pytest.raises(ValueError, match="4300"):
        int("9" * 4301)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert any(seconds(int, "9" * 400_000) > 6 * seconds(int, "9" * 100_000) for _ in range(5)), "four times the digits"
    finally:
        sys.set_int_max_str_digits(limit)


def seconds(work, text):
    start = time.perf_counter()
    work(text)
    return time.perf_counter() - start


def test_only_the_tasks_own_numbers_reach_int(monkeypatch):
    read = []
    monkeypatch.setattr(verifier, "int", lambda text: read.append(text) or builtins.int(text), raising=False)
    for one in cases():
        read.clear()
        compute_score("countdown", one.reply, {"nums": one.nums, "target": one.target})
        assert set(read) <= set(map(str, one.nums)), one.name
        assert not one.right or len(read) == len(one.nums), "this test does see what is read"


def test_int_is_exact_executes_nothing_and_would_take_03_for_3():
    assert int("9007199254740993") != int("9007199254740992")
    assert float("9007199254740993") == float("9007199254740992")
    with pytest.raises(ValueError):
        int("exit()")
    assert int("３") == int("03") == 3
    assert not check_expression("03*7+10", [3, 7, 10], 31)


def test_at_which_format_bonus_nonsense_pays():
    means = {b: [fmean(earned) for earned in form_earnings(b, right=0.3, cut=0.5).values()] for b in (1, 0.2, 0.6, 0.58)}
    reasons, tags = 0, 2
    assert [means[b][habit] for b in (1, 0.2) for habit in (reasons, tags)] == pytest.approx([0.8, 1, 0.4, 0.2])
    assert means[0.6][reasons] == pytest.approx(means[0.6][tags])
    assert means[0.58][reasons] > means[0.58][tags]
    won = {b: race(form_earnings(b, right=0.3, cut=0.5), [0.45, 0.45, 0.1], steps=400)[-1].argmax(1) for b in (1, 0.58, 0.2)}
    assert (won[1] == tags).all()
    assert (won[0.58] == tags).float().mean() > 0.8, "GRPO tips a little before the mean does"
    assert (won[0.2] == reasons).all()
    nonsense, cut = "<think>?</think><answer>?</answer>", "<think>3*7=21, 21+10=31</think><answer>3*7"
    assert [compute_score("", text, {"nums": [3, 7, 10], "target": 31})["score"] for text in (nonsense, cut)] == [0.2, 0]


def test_what_shows_before_rl_starts(cage):
    assert {"honest", "choice", "size"} <= {one.kind for one in cases() if one.right}
    third = list(naive.DESIGNS)[2]
    assert outcome(cage, third, "plain").seconds < 0.1
    assert 490_000 < len(case("tag flood").reply) < 510_000
    assert outcome(cage, third, "tag flood").end == "killed"


def test_another_seed_repeats_tasks_and_another_split_does_not():
    train, reseeded, test = ({task_key(task) for task in make_countdown(1000, seed, split=split)}
                             for seed, split in ((0, "train"), (1, "train"), (1, "test")))
    assert len(train & reseeded) > 100
    assert not train & test
