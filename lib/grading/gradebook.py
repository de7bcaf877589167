"""The course's marks in nbgrader's gradebook, where formgrader, feedback and export find them.

The commands, in the folder homework/, in the order that works:

    nbgrader generate_assignment s6-hw02-grpo      makes the gradebook and what students get
    nbgrader autograde s6-hw02-grpo                makes autograded/, which formgrader and feedback show
    the course's grader with --gradebook           `record` writes its marks over nbgrader's verdicts
    nbgrader generate_feedback s6-hw02-grpo        reads the marks and comments at that moment
    nbgrader export                                may come any time after the grader

Autograde after the grader keeps marks and comments, but flags each of them as "needs manual grade": run the grader again.
Feedback that exists already is renewed only by `generate_feedback --force`. A student without autograde gets marks and a
line in the export, but no feedback, which nbgrader makes from autograded/.

nbgrader has comments on answer cells only, none on test cells. The comment on a test cell therefore stands at the answer
cell above it: in feedback below the student's code, in formgrader in the box there.
"""
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import NamedTuple

from lib.i18n import tr

GRADE_IDS = (*(f"check-{level}" for level in range(1, 9)), "check-boss")
WAIT = 10.0         # seconds to wait for a gradebook that formgrader or autograde is writing to
TOLERANCE = 1e-9    # points are sums of decimal fractions


class Mark(NamedTuple):
    """The points for one grade cell. The comment is Markdown; "" is none."""

    grade_id: str
    points: float
    max_points: float
    comment: str


def record(database: str | os.PathLike, assignment: str, student: str, marks: Iterable[Mark],
           notebook: str = "homework") -> None:
    """Write a student's marks: all of them, or none and a ValueError that says why.

    The student and the submission are made where they are missing. Marks and comments of an earlier call, of autograde and
    of formgrader are replaced; extra credit, other cells and other students stay as they are.
    """
    marks = list(marks)
    _check(student, marks)
    with _opened(database) as (book, name):
        master = _find(book, name, assignment, notebook, {mark.grade_id: mark.max_points for mark in marks})
        comments = _comments(master, marks)
        with _transaction(book):
            # Without no_autoflush nbgrader's add_submission makes SQLAlchemy 2 warn about half-built objects.
            with book.db.no_autoflush:
                book.update_or_create_student(student)
                book.update_or_create_submission(assignment, student)
            for mark in marks:
                grade = book.find_grade(mark.grade_id, notebook, assignment, student)
                grade.manual_score = min(float(mark.points), grade.max_score)
                grade.needs_manual_grade = False
            for cell, comment in comments.items():
                book.find_comment(cell, notebook, assignment, student).manual_comment = comment or None


def check_ready(database: str | os.PathLike, assignment: str, notebook: str = "homework",
                grade_ids: Iterable[str] | Mapping[str, float] = GRADE_IDS) -> None:
    """Raise ValueError, with what to do, unless `record` can write to these grade cells.

    `grade_ids` as a dictionary gives the points that each cell must have at most, too.
    """
    expected = dict(grade_ids) if isinstance(grade_ids, Mapping) else dict.fromkeys(grade_ids)
    with _opened(database) as (book, name):
        _find(book, name, assignment, notebook, expected)


def _check(student: str, marks: list[Mark]) -> None:
    """What is wrong with the marks whatever the gradebook holds."""
    if not isinstance(student, str) or not student.strip():
        raise ValueError(tr(en=f"the name of a student is empty: {student!r}", ru=f"имя студента пустое: {student!r}"))
    seen = set()
    for grade_id, points, most, _ in marks:
        if grade_id in seen:
            raise ValueError(tr(en=f"two marks for {grade_id}", ru=f"две оценки за {grade_id}"))
        seen.add(grade_id)
        # `not` around the comparison: NaN fails it.
        if not all(isinstance(number, Real) for number in (points, most)) or not 0 <= points <= most + TOLERANCE < math.inf:
            raise ValueError(tr(en=f"{grade_id}: {points!r} is not a number of points from 0 to {most!r}",
                                ru=f"{grade_id}: {points!r} — не число баллов от 0 до {most!r}"))


@contextmanager
def _opened(database: str | os.PathLike) -> Iterator[tuple]:
    """nbgrader's Gradebook, and the name to show for it. It must exist: nothing is created."""
    try:
        from nbgrader.api import Gradebook
        from sqlalchemy import create_engine, inspect
        from sqlalchemy.engine import URL, make_url
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as problem:
        raise ValueError(tr(en=f"the gradebook needs nbgrader ({problem}): pip install nbgrader==0.9.6",
                            ru=f"для журнала оценок нужен nbgrader ({problem}): pip install nbgrader==0.9.6")) from problem
    name = os.fspath(database)
    try:
        url = make_url(name) if "://" in name else URL.create("sqlite", database=os.path.abspath(name))
        sqlite = url.get_backend_name() == "sqlite"
        name = url.database or ":memory:" if sqlite else url.render_as_string()
        if sqlite and "timeout" not in url.query:
            url = url.update_query_dict({"timeout": str(WAIT)})
        # Gradebook(url) would make a new database, and tables in one that is not nbgrader's.
        tables = []
        if not sqlite or Path(name).is_file():
            engine = create_engine(url)
            try:
                tables = inspect(engine).get_table_names()
            finally:
                engine.dispose()
        if "submitted_assignment" not in tables:
            raise ValueError(tr(
                en=f"{name} is not a gradebook of nbgrader: run `nbgrader generate_assignment` in the folder homework first",
                ru=f"{name} — не журнал nbgrader: сначала выполните `nbgrader generate_assignment` в папке homework"))
        with Gradebook(url, course_id="") as book:      # any other id would be added to the table of courses
            yield book, name
    except SQLAlchemyError as problem:
        reason = str(getattr(problem, "orig", None) or problem)
        if "locked" in reason or "busy" in reason:
            raise ValueError(tr(
                en=f"{name} is in use by another program ({reason}): try again when nbgrader is done",
                ru=f"{name} занят другой программой ({reason}): повторите, когда nbgrader закончит")) from problem
        raise ValueError(tr(
            en=f"{name} cannot be used ({reason}); if an older nbgrader made it: back it up, then `nbgrader db upgrade`",
            ru=f"{name} не открыть ({reason}); если его создал старый nbgrader: сделайте копию, затем `nbgrader db upgrade`",
        )) from problem


@contextmanager
def _transaction(book) -> Iterator[None]:
    """All that happens inside is written at the end, together, or not at all.

    nbgrader's methods commit after each step. With "rollback_only" such a commit reaches the connection, not the database.
    """
    from sqlalchemy.orm import scoped_session, sessionmaker
    book.db.remove()
    with book.engine.connect() as connection:
        if book.engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")       # wait for other writers here, where nothing is half done
        book.db = scoped_session(sessionmaker(bind=connection, join_transaction_mode="rollback_only"))
        try:
            yield
            book.db.commit()
            connection.commit()
        finally:
            book.db.remove()


def _find(book, name: str, assignment: str, notebook: str, points: Mapping[str, float | None]):
    """nbgrader's record of the master notebook, once it has these cells with these points. None: any number of points."""
    from nbgrader.api import MissingEntry
    try:
        master = book.find_notebook(notebook, assignment)
    except MissingEntry as problem:
        raise ValueError(tr(
            en=f"{name} has no notebook {notebook} of {assignment}: run `nbgrader generate_assignment {assignment}` first",
            ru=f"в {name} нет тетради {notebook} из {assignment}: сначала `nbgrader generate_assignment {assignment}`",
        )) from problem
    cells = {cell.name: cell.max_score for cell in [*master.grade_cells, *master.task_cells]}
    if missing := ", ".join(str(cell) for cell in points if cell not in cells):
        raise ValueError(tr(
            en=f"{name}: notebook {notebook} of {assignment} has no grade cell {missing}; "
               f"run `nbgrader generate_assignment {assignment} --force` with the right source notebook",
            ru=f"{name}: в тетради {notebook} из {assignment} нет ячейки с оценкой {missing}; "
               f"выполните `nbgrader generate_assignment {assignment} --force` с верной исходной тетрадью"))
    for cell, expected in points.items():
        if expected is not None and abs(cells[cell] - expected) > TOLERANCE:
            raise ValueError(tr(
                en=f"{name}: {cell} of {assignment} has {cells[cell]:g} points, not {expected:g}; "
                   f"correct its points in the source notebook, then `nbgrader generate_assignment {assignment} --force`",
                ru=f"{name}: у {cell} из {assignment} баллов {cells[cell]:g}, а не {expected:g}; "
                   f"исправьте баллы в исходной тетради, затем `nbgrader generate_assignment {assignment} --force`"))
    return master


def _comments(master, marks: list[Mark]) -> dict[str, str]:
    """{answer cell: comment}: each comment at the nearest answer cell above its grade cell, else at the first one below.

    Several grade cells after one answer share its comment, in the notebook's order, each under its name.
    """
    answers = {cell.name for cell in [*master.solution_cells, *master.task_cells]}
    order = [cell.name for cell in master.source_cells]
    first = next((cell for cell in order if cell in answers), None)
    places, above = {}, first
    for cell in order:
        above = cell if cell in answers else above
        places[cell] = above
    at = {}
    for mark in sorted(marks, key=lambda mark: order.index(mark.grade_id)):
        place = places[mark.grade_id]
        if place is not None:
            at.setdefault(place, []).append(mark)
        elif mark.comment:
            raise ValueError(tr(
                en=f"no place for the comment on {mark.grade_id}: the notebook has no answer cell (solution) for nbgrader",
                ru=f"негде показать комментарий к {mark.grade_id}: в тетради нет ячейки ответа (solution) для nbgrader"))
    return {place: _text(shared) for place, shared in at.items()}


def _text(marks: list[Mark]) -> str:
    """The comments of marks that share an answer cell."""
    said = [mark for mark in marks if mark.comment]
    text = "\n\n".join(mark.comment if len(marks) == 1 else f"**{mark.grade_id}**: {mark.comment}" for mark in said)
    # A comment may quote what a student's code said, and feedback is HTML: an invisible joiner keeps a tag from being one.
    return re.sub(r"<(?=[A-Za-z/!?])", "<\u2060", text)
