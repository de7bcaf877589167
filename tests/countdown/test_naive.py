"""The five naive designs fail as the lesson says they do, and the course's reward does not."""
import pytest

from lib.countdown.battery import case, cases
from lib.countdown.cage import Cage
from lib.countdown.naive import DESIGNS

FAILS = [      # design, case, what becomes of it: an exception's name, 'killed', 'files', or the reward
    ("bare_eval", "target", 1.2), ("bare_eval", "missing", 1.2), ("bare_eval", "by zero", "ZeroDivisionError"),
    ("bare_eval", "write a file", "files"), ("bare_eval", "way around", "files"), ("bare_eval", "tower", "killed"),
    ("no_builtins", "way around", "files"), ("no_builtins", "tower", "killed"), ("no_builtins", "attribute", 1.2),
    ("no_builtins", "modulo", 1.2), ("no_builtins", "sprayed", 0.2),
    ("allowed_characters", "3000 signs", "RecursionError"), ("allowed_characters", "4301 digits", "ValueError"),
    ("allowed_characters", "floor", 1.2), ("allowed_characters", "decimal", 1.2), ("allowed_characters", "list", 1.2),
    ("allowed_characters", "draft", 1.2), ("allowed_characters", "empty", 0.2),
    ("allowed_characters", "tag flood", "killed"),
    ("forgiving", "cross", 1.2), ("forgiving", "equation and more", 1.2), ("forgiving", "quotes", 1.2),
    ("forgiving", "tolerance", 1.2), ("forgiving", "caret", 1.2), ("forgiving", "hidden exponents", 1.2),
    ("forgiving", "crossed", 0.2), ("forgiving", "tower", "killed"),
    ("recursive", "3000 parentheses", "RecursionError"), ("recursive", "3000 signs", "RecursionError"),
    ("recursive", "4301 digits", "ValueError"), ("recursive", "leading dot", "ValueError"), ("recursive", "full width", 1.2),
    ("recursive", "two thoughts", 1.2), ("recursive", "closing flood", "killed"),
]
HOLDS = [      # what each design mended of the one before
    ("no_builtins", "target", 0.2), ("no_builtins", "write a file", 0.2),
    ("allowed_characters", "way around", 0.2), ("allowed_characters", "tower", 0.2),
    ("forgiving", "206 characters", 0.2), ("forgiving", "list", 0.0),
    ("recursive", "way around", "ValueError"), ("recursive", "tolerance", 0.2), ("recursive", "thirds", 1.2),
]


@pytest.fixture(scope="module")
def cage():
    with Cage(1.0) as cage:
        yield cage


@pytest.mark.parametrize(("design", "name", "expected"), FAILS + HOLDS)
def test_designs_do_what_the_lesson_says(cage, design, name, expected):
    one = case(name)
    outcome = cage.run(design, one.reply, one.nums, one.target)
    if isinstance(expected, float):
        assert (outcome.end, outcome.paid) == ("paid", pytest.approx(expected))
    else:
        assert expected == (outcome.error or ("files" if outcome.files else outcome.end))


def test_206_characters_are_too_many_for_pythons_own_parser(cage):
    """Python 3.11 says MemoryError; another version may say SyntaxError, which the design catches."""
    one = case("206 characters")
    outcome = cage.run("allowed_characters", one.reply, one.nums, one.target)
    assert outcome.error in ("MemoryError", "RecursionError", "")


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_pays_a_plain_solution_and_not_a_plain_mistake(cage, design):
    paid = [cage.run(design, case(name).reply, [3, 7, 10], 31).paid for name in ("plain", "any order", "value")]
    assert paid == [pytest.approx(1.2), pytest.approx(1.2), pytest.approx(0.2)]


def test_the_courses_reward_is_right_on_every_text(cage):
    for one in cases():
        if isinstance(one.reply, str):
            outcome = cage.run("final", one.reply, one.nums, one.target)
            assert (outcome.end, outcome.files) == ("paid", ()), one.name
            assert outcome.paid == pytest.approx(one.right + 0.2 * one.form), one.name
