"""The quiz at the end of each lesson.

    show_quiz("01")

Questions are data: a text and its options, right and wrong, each with the reason why. They are in `lib.ui.quizzes`, a module
a lesson; `show_quiz` hands them to jupyterquiz.
"""
from IPython.display import display
from IPython.utils.capture import capture_output
from jupyterquiz import display_quiz

from lib.i18n import tr
from lib.ui.quizzes import QUIZZES

# Dark enough for white text on the question, and for the feedback's text on a white page.
COLORS = {
    "--jq-multiple-choice-bg": "#24476b",
    "--jq-many-choice-bg": "#24476b",
    "--jq-correct-color": "#00684a",
    "--jq-incorrect-color": "#a13b00",
    "--jq-text-color": "#ffffff",
}


def show_quiz(name: str) -> None:
    """Displays the quiz of lesson `name` ('01', '02', …) in the learner's language.

    JupyterLab runs no stored JavaScript of a notebook that it does not trust: there a sentence says how to get the quiz.
    """
    with capture_output() as captured:
        display_quiz(questions(name), colors=COLORS, max_width=760)
    hint = tr(en="Run this cell (Shift+Enter) to see the questions.",
              ru="Выполните эту ячейку (Shift+Enter), чтобы увидеть вопросы.")
    *page, script = captured.outputs
    for output in page:
        output.display()
    display(script.data | {"text/plain": hint}, raw=True)


def questions(name: str) -> list[dict]:
    """The questions of a lesson in jupyterquiz's form. Raises ValueError for a lesson without a quiz."""
    if name not in QUIZZES:
        raise ValueError(tr(en=f"there is no quiz {name!r}: choose one of {', '.join(QUIZZES)}",
                            ru=f"теста {name!r} нет: выберите из {', '.join(QUIZZES)}"))
    return QUIZZES[name]()
