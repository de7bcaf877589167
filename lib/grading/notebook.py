"""The check cells of a homework's notebook: the grader's own levels, run in the learner's kernel.

    from lib.grading.notebook import checker
    check = checker("s6-hw02-grpo")
    check(1)                       # prints the verdict, or raises with the reason

Quick and on the learner's own objects; the mark comes from check.py, which runs the code in a process of its own.
"""
import os
import textwrap


class NotPassed(AssertionError):
    """A level that is not passed. Jupyter shows its sentence without the path through the grader's code."""

    def _render_traceback_(self):
        # Jupyter breaks long lines of an error anywhere, also inside a word
        wrap = textwrap.TextWrapper(96, break_long_words=False).wrap
        return [part for line in f"✗ {self}".splitlines() for part in wrap(line) or [""]]


def checker(homework: str):
    """check(level, hint=0): checks a level of the homework. In graded code it does nothing, the grader checks by itself."""
    if os.environ.get("GRPO_COURSE_GRADING"):
        return lambda level, hint=0: None

    import secrets
    from pathlib import Path

    from lib.grading import grade
    from lib.grading.worker import Server
    from lib.i18n import tr

    module = grade.load_homework(homework)
    server = Server(_namespace(), Path(module.DRIVER).read_text(encoding="utf-8"), str(module.DRIVER))

    def check(level, hint: int = 0) -> None:
        """Checks one level; hint=1, 2, 3 shows hints instead."""
        try:
            wanted = grade.find_levels(module.levels(), [str(level)])[0]
        except ValueError as error:
            raise NotPassed(str(error)) from None
        if hint:
            print("\n".join(wanted.hints[:hint]))
            return
        server.namespace = _namespace()
        seed = secrets.randbelow(10**9)
        with _kept_random_state():
            result = grade.Checker(module.levels(), in_this_process(server), seed).result(wanted)
        if result.status != "passed":
            first = tr(en=f"Level {result.id} is not passed yet.", ru=f"Уровень {result.id} пока не пройден.")
            more = tr(en=f"A hint: check({level!r}, hint=1). The lesson: {result.lesson}",
                      ru=f"Подсказка: check({level!r}, hint=1). Урок: {result.lesson}")
            raise NotPassed(f"{first} {result.message}\n{more}")
        print(tr(en=f"✓ level {result.id}, {result.title}: {result.points} of {result.max_points} points",
                 ru=f"✓ уровень {result.id}, {result.title}: баллов {result.points} из {result.max_points}"))

    return check


def in_this_process(server):
    """The `send` of a Checker whose student lives here, in `server`, and not in a worker."""

    def send(header, tensors, seconds, answer_question, shown):
        fault: list[Exception] = []

        def ask(name, value):
            try:
                return answer_question(name, value)
            except Exception as error:
                fault.append(error)      # the student's code may catch it: it counts all the same
                raise

        answer = server.handle(header, {key: tensor.clone() for key, tensor in tensors.items()}, ask)
        if fault:
            raise fault[0]
        return answer

    return send


def _namespace() -> dict:
    import __main__

    return vars(__main__)


class _kept_random_state:
    """A check must not move the learner's own dice."""

    def __enter__(self):
        import random

        import numpy as np
        import torch

        self.states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, *_):
        import random

        import numpy as np
        import torch

        random.setstate(self.states[0])
        np.random.set_state(self.states[1])
        torch.set_rng_state(self.states[2])
