"""The form of a question: what every quiz is built from."""
from html import escape

from lib.i18n import tr


def question(text: str, *options: dict) -> dict:
    """One question; with several right options it asks for all of them.

    Code in an option is <samp>: JupyterLab paints <code> grey, unreadable once a chosen option's text turns white.
    """
    several = sum(option["correct"] for option in options) > 1
    if several:
        text += " " + tr(en="<i>(several answers are right)</i>", ru="<i>(верных ответов несколько)</i>")
    return {"question": text, "type": "many_choice" if several else "multiple_choice", "answer_cols": 1,
            "answers": list(options)}


def right(answer: str, why: str) -> dict:
    return {"answer": answer, "correct": True, "feedback": tr(en="Right. ", ru="Верно. ") + why}


def wrong(answer: str, why: str) -> dict:
    return {"answer": answer, "correct": False, "feedback": tr(en="No. ", ru="Нет. ") + why}


def samp(text: str) -> str:
    """A reply of a model as an option: its very characters, tags too."""
    return f"<samp>{escape(text, quote=False)}</samp>"
