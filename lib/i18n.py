"""Every string that a learner sees, in English and in Russian, side by side.

    from lib.i18n import tr
    print(tr(en="reward", ru="награда"))

`COURSE_LANG=en` or `COURSE_LANG=ru` chooses the language. Without it, Russian where the locale is Russian, else English.
Both arguments are required, so a missing translation cannot be written; the tests read every call in the source.
"""
import os

LANGUAGES = ("en", "ru")


def language() -> str:
    """The language in force now, 'en' or 'ru'. Raises ValueError when COURSE_LANG is something else."""
    chosen = os.environ.get("COURSE_LANG", "").strip().lower()
    if chosen in LANGUAGES:
        return chosen
    if chosen:
        raise ValueError(f"COURSE_LANG={chosen!r} is not a language of the course: set it to en or ru / "
                         f"такого языка в курсе нет: задайте en или ru")
    # POSIX order of precedence; Windows has none of these, there the learner sets COURSE_LANG.
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable, ""):
            return "ru" if value.lower().startswith("ru") else "en"
    return "en"


def tr(*, en: str, ru: str) -> str:
    """The string of the language in force. The choice is made at each call, so a notebook can set COURSE_LANG itself."""
    return ru if language() == "ru" else en
