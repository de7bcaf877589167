"""Marks in nbgrader's gradebook: nbgrader itself makes a course of two levels, grades it, and shows what was recorded."""
import csv
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib.grading import gradebook
from lib.grading.gradebook import GRADE_IDS, Mark, check_ready, record

pytest.importorskip("nbgrader")
ROOT = Path(__file__).parent.parent.parent
HOMEWORK = "s6-hw02-grpo"
POINTS = {"check-1": 2.0, "check-2": 3.0}


def cell(make, source, grade_id, points=None, **kind):
    """A cell as nbgrader's extension for JupyterLab makes it."""
    metadata = {"schema_version": 3, "grade_id": grade_id, "grade": False, "solution": False, "locked": False, "task": False}
    return make(source, metadata={"nbgrader": metadata | kind | ({} if points is None else {"points": points})})


def master():
    """Two levels, each a cell for the answer and a test cell."""
    cells = [cell(new_markdown_cell, "Two levels.", "intro", locked=True)]
    for level, points in ((1, 2), (2, 3)):
        source = f"def level_{level}():\n    ### BEGIN SOLUTION\n    return {level}\n    ### END SOLUTION"
        test = f"assert level_{level}() == {level}"
        cells += [cell(new_code_cell, source, f"level-{level}", solution=True),
                  cell(new_code_cell, test, f"check-{level}", points, grade=True, locked=True)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(metadata=kernel, cells=cells)


def nbgrader(folder, *arguments):
    """Run one of nbgrader's commands as a teacher does whose environment is not activated."""
    done = subprocess.run([sys.executable, "-m", "nbgrader", *arguments], cwd=folder, capture_output=True, text=True,
                          env=os.environ | {"PATH": os.defpath, "IPYTHONDIR": str(folder / "ipython")}, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "SAWarning" not in done.stderr
    return done.stderr


def solve(nb):
    at(nb, "level-1").source = "def level_1():\n    return 1"


def at(nb, grade_id):
    return next(one for one in nb.cells if one.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def delete_check(nb):
    solve(nb)
    nb.cells.remove(at(nb, "check-2"))


def delete_level(nb):
    solve(nb)
    nb.cells.remove(at(nb, "check-2"))
    nb.cells.remove(at(nb, "level-2"))


def rename(nb):
    solve(nb)
    at(nb, "check-2").metadata.nbgrader.grade_id = "check-9"
    at(nb, "level-2").metadata.nbgrader.grade_id = "level-9"


def paste_twice(nb):
    solve(nb)
    pasted = at(nb, "check-1")
    nb.cells.append(new_code_cell(pasted.source, metadata=pasted.metadata))


def strip(nb):
    solve(nb)
    for one in nb.cells:
        one.metadata.pop("nbgrader")


# In the order of the names nbgrader takes them in: what stops it at paste_twice would leave the two after it ungraded.
STUDENTS = {"anna": solve, "boris": delete_check, "daria": delete_level, "pavel": paste_twice, "vera": rename, "zoya": strip}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with one homework, handed in by STUDENTS and autograded; nothing recorded yet."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "source" / HOMEWORK).mkdir(parents=True)
    shutil.copy(ROOT / "homework" / "nbgrader_config.py", folder)
    nbformat.write(master(), folder / "source" / HOMEWORK / "homework.ipynb")
    nbgrader(folder, "generate_assignment", HOMEWORK)
    for student, edit in STUDENTS.items():
        nb = nbformat.read(folder / "release" / HOMEWORK / "homework.ipynb", 4)
        assert "    raise NotImplementedError" in at(nb, "level-1").source.splitlines()
        edit(nb)
        (folder / "submitted" / student / HOMEWORK).mkdir(parents=True)
        nbformat.write(nb, folder / "submitted" / student / HOMEWORK / "homework.ipynb")
    nbgrader(folder, "autograde", HOMEWORK)
    shutil.copy(folder / "gradebook.db", folder / "autograded.db")
    return folder


@pytest.fixture
def database(course, tmp_path):
    """A copy of the gradebook as autograde left it."""
    return shutil.copy(course / "autograded.db", tmp_path / "gradebook.db")


def marks(first=1.5, second=0.25, comments=("first comment", "second comment")):
    return [Mark("check-1", first, 2.0, comments[0]), Mark("check-2", second, 3.0, comments[1])]


def dump(database):
    """Every row of every table."""
    with closing(sqlite3.connect(database)) as connection:
        tables = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


def state(database, student, homework=HOMEWORK):
    """(score, needs manual grade, comments) of a student, as nbgrader reads them."""
    from nbgrader.api import Gradebook
    with Gradebook(f"sqlite:///{database}", course_id="") as book:
        submission = book.find_submission(homework, student)
        comments = {one.name: one.comment for part in submission.notebooks for one in part.comments}
        return submission.score, submission.needs_manual_grade, comments


# ── what teachers and students see ────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def finished(course):
    """The course after all commands, in the order that the module's docstring gives. Lena is recorded without autograde."""
    for student in [*STUDENTS, "lena"]:
        record(course / "gradebook.db", HOMEWORK, student, marks(comments=(f"one of {student}", f"two of {student}")))
    nbgrader(course, "generate_feedback", HOMEWORK)
    nbgrader(course, "export", "--to", "grades.csv")
    return course


@pytest.mark.parametrize("student", STUDENTS)
def test_feedback_shows_marks_and_comments(finished, student):
    page = (finished / "feedback" / student / HOMEWORK / "homework.html").read_text(encoding="utf-8")
    assert "homework (Score: 1.75 / 5.0)" in page
    assert [page.count(f"Score: {score}") for score in ("1.5 / 2.0", "0.25 / 3.0")] == [2, 2]     # the list, the cell
    comments = [re.sub("<[^>]*>", "", part).split("\n")[0].strip() for part in page.split("<b>Comments:</b>")[1:]]
    assert comments == [f"one of {student}", f"two of {student}"]
    assert [page.count(f'name="{name}"') for name in ("comment-level-1", "check-1", "comment-level-2", "check-2")] == [1] * 4


def test_export_has_every_mark(finished):
    with open(finished / "grades.csv", encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert set(rows) == {*STUDENTS, "lena"}
    assert {(row["assignment"], row["score"], row["max_score"]) for row in rows.values()} == {(HOMEWORK, "1.75", "5.0")}


def test_nothing_waits_for_a_human(finished):
    for student in [*STUDENTS, "lena"]:
        assert state(finished / "gradebook.db", student) == (
            1.75, False, {"level-1": f"one of {student}", "level-2": f"two of {student}"})
    assert not (finished / "feedback" / "lena").exists()            # as the docstring says


def test_autograde_after_the_grader(finished, tmp_path):
    """Marks and comments stay, the flag returns, the grader takes it away; feedback is renewed by --force."""
    path = finished / "gradebook.db"
    nbgrader(finished, "autograde", HOMEWORK, "--force", "--student", "anna")
    comments = {"level-1": "one of anna", "level-2": "two of anna"}
    assert state(path, "anna") == (1.75, True, comments)
    record(path, HOMEWORK, "anna", marks(2, 3, ("better", "")))
    assert state(path, "anna") == (5.0, False, {"level-1": "better", "level-2": "No response."})      # autograde's comment
    page = finished / "feedback" / "anna" / HOMEWORK / "homework.html"
    old = page.read_text(encoding="utf-8")
    nbgrader(finished, "generate_feedback", HOMEWORK, "--student", "anna")
    assert page.read_text(encoding="utf-8") == old
    nbgrader(finished, "generate_feedback", HOMEWORK, "--student", "anna", "--force")
    assert "homework (Score: 5.0 / 5.0)" in page.read_text(encoding="utf-8")
    assert "better" in page.read_text(encoding="utf-8")


# ── record ────────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("student", ["anna", "new"])
def test_a_second_call_changes_nothing(database, student):
    record(database, HOMEWORK, student, marks())
    once = dump(database)
    record(f"sqlite:///{database}", HOMEWORK, student, iter(marks()))
    assert dump(database) == once
    record(database, HOMEWORK, student, marks(0, 0, ("", "")))
    assert state(database, student)[:2] == (0.0, False)


def test_other_students_and_the_course_stay(database):
    record(database, HOMEWORK, "anna", marks())
    before = dump(database)
    record(database, HOMEWORK, "boris", marks(2, 3, ("other", "other")))
    record(database, HOMEWORK, "new", marks())
    after = dump(database)
    changed = {table for table in before if before[table] != after[table]}
    assert changed == {"student", "submitted_assignment", "submitted_notebook", "grade", "comment"}
    assert state(database, "anna") == (1.75, False, {"level-1": "first comment", "level-2": "second comment"})
    assert all(set(before[table]) <= set(after[table]) for table in changed - {"grade", "comment"})
    assert [len(set(before[table]) - set(after[table])) for table in ("grade", "comment")] == [2, 2]        # boris's


def test_part_of_the_marks_leaves_the_rest(database):
    record(database, HOMEWORK, "new", marks()[:1])
    assert state(database, "new") == (1.5, True, {"level-1": "first comment", "level-2": None})
    record(database, HOMEWORK, "new", marks()[1:])
    assert state(database, "new") == (1.75, False, {"level-1": "first comment", "level-2": "second comment"})


def test_extra_credit_of_a_human_stays(database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE grade SET extra_credit = 0.5, manual_score = 3 WHERE auto_score = 2")
    record(database, HOMEWORK, "anna", marks())
    assert state(database, "anna")[0] == 2.25


def test_points_from_a_sum_may_be_a_hair_above_the_most(database):
    record(database, HOMEWORK, "anna", marks(2 + 1e-12, 3))
    assert state(database, "anna")[0] == 5.0


def test_no_tag_in_a_comment_becomes_one(database):
    record(database, HOMEWORK, "anna", marks(comments=("1 < 2, <script>alert(1)</script>, a <= b", "x")))
    assert state(database, "anna")[2]["level-1"] == "1 < 2, <\u2060script>alert(1)<\u2060/script>, a <= b"


def add_homework(database, name, **cells):
    """One more homework in the gradebook, with the rows that generate_assignment makes. Cells without points are answers."""
    from nbgrader.api import Gradebook
    with Gradebook(f"sqlite:///{database}", course_id="") as book:
        book.add_assignment(name)
        place = book.add_notebook("homework", name).name, name
        for key, points in cells.items():
            grade_id = key.replace("_", "-")
            book.add_source_cell(grade_id, *place, cell_type="code", source="", locked=points is not None)
            if points is None:
                book.add_solution_cell(grade_id, *place)
            else:
                book.add_grade_cell(grade_id, *place, max_score=points, cell_type="code")


def test_checks_that_share_an_answer_share_its_comment(database):
    add_homework(database, "other", check_7=1, level_1=None, check_1=2, check_2=3, check_3=1, level_4=None, check_4=1)
    said = {3: "", 2: "two", 1: "one", 7: "0", 4: "four"}
    given = [Mark(f"check-{level}", 1, most, said[level]) for level, most in ((3, 1), (2, 3), (1, 2), (7, 1), (4, 1))]
    record(database, "other", "anna", given)
    assert state(database, "anna", "other") == (
        5.0, False, {"level-1": "**check-7**: 0\n\n**check-1**: one\n\n**check-2**: two", "level-4": "four"})
    assert state(database, "anna")[:2] == (2.0, False)             # the homework with the same cells, as autograde left it


def test_a_notebook_without_answers_has_no_place_for_comments(database, each_language):
    add_homework(database, "other", check_1=2)
    record(database, "other", "anna", [Mark("check-1", 1, 2, "")])
    sentence = {"en": "no place for the comment on check-1", "ru": "негде показать комментарий к check-1"}[each_language]
    with pytest.raises(ValueError, match=sentence):
        record(database, "other", "anna", [Mark("check-1", 2, 2, "lost")])
    assert state(database, "anna", "other") == (1.0, False, {})


NAN, INFINITE = float("nan"), float("inf")
WRONG = {
    "unknown cell": ([*marks(), Mark("check-9", 1, 1, "")], "no grade cell check-9", "нет ячейки с оценкой check-9"),
    "twice": ([*marks(), marks()[0]], "two marks for check-1", "две оценки за check-1"),
    "above": (marks(2.01), "check-1: 2.01 is not", "check-1: 2.01 — не число"),
    "below": (marks(2, -0.1), "check-2: -0.1 is not", "check-2: -0.1 — не число"),
    "NaN": (marks(1, NAN), "check-2: nan is not", "check-2: nan — не число"),
    "infinite": ([Mark("check-1", 1, INFINITE, "")], "from 0 to inf", "от 0 до inf"),
    "text": (marks("2"), "check-1: '2' is not", "check-1: '2' — не число"),
    "none": (marks(None), "check-1: None is not", "check-1: None — не число"),
    "other maximum": ([Mark("check-1", 1, 10, "")], "has 2 points, not 10", "баллов 2, а не 10"),
}


@pytest.mark.parametrize("case", WRONG)
def test_inconsistent_marks_write_nothing(database, case, each_language):
    before = dump(database)
    given, english, russian = WRONG[case]
    for student in ("anna", "new"):
        with pytest.raises(ValueError, match=re.escape(english if each_language == "en" else russian)):
            record(database, HOMEWORK, student, given)
    assert dump(database) == before


@pytest.mark.parametrize("student", ["", "  ", None])
def test_a_student_needs_a_name(database, student):
    before = dump(database)
    with pytest.raises(ValueError, match="the name of a student is empty"):
        record(database, HOMEWORK, student, marks())
    assert dump(database) == before


def test_a_failure_half_way_writes_nothing(database, monkeypatch):
    from nbgrader.api import Gradebook
    before, found = dump(database), []

    def fails(book, name, *place):
        found.append(name)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "find_comment", fails)
        for student in ("anna", "new"):
            with pytest.raises(RuntimeError, match="power cut"):
                record(database, HOMEWORK, student, marks())
    assert found == ["level-1", "level-1"]
    assert dump(database) == before
    record(database, HOMEWORK, "new", marks())              # and nothing is left locked
    assert state(database, "new")[0] == 1.75


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_gradebook(database, lock, monkeypatch, each_language):
    before = dump(database)
    monkeypatch.setattr(gradebook, "WAIT", 0.2)
    with closing(sqlite3.connect(database, check_same_thread=False)) as other:
        other.execute(f"BEGIN {lock}")
        with pytest.raises(ValueError, match=r"is in use by another program|занят другой программой"):
            record(database, HOMEWORK, "new", marks())
        monkeypatch.setattr(gradebook, "WAIT", 30)
        waits = threading.Timer(0.5, other.rollback)        # the other program is done while this one waits
        waits.start()
        record(database, HOMEWORK, "new", marks())
        waits.join()
    assert state(database, "new")[0] == 1.75
    assert set(before["student"]) < set(dump(database)["student"])


# ── check_ready ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("grade_ids", [POINTS, list(POINTS), ["check-2"], {}])
def test_ready(database, grade_ids):
    before = dump(database)
    check_ready(database, HOMEWORK, grade_ids=grade_ids)
    check_ready(f"sqlite:///{database}", HOMEWORK, "homework", grade_ids)
    assert dump(database) == before


@pytest.mark.parametrize(("arguments", "english", "russian"), [
    ({"assignment": "s6-hw03"}, "no notebook homework of s6-hw03: run `nbgrader generate_assignment s6-hw03`",
     "нет тетради homework из s6-hw03: сначала `nbgrader generate_assignment s6-hw03`"),
    ({"notebook": "other"}, "no notebook other", "нет тетради other"),
    ({}, "no grade cell check-3, check-4", "нет ячейки с оценкой check-3, check-4"),
    ({"grade_ids": {"check-1": 2, "check-2": 2.5}}, "check-2 of s6-hw02-grpo has 3 points, not 2.5", "баллов 3, а не 2.5"),
    ({"grade_ids": ["level-1"]}, "no grade cell level-1", "нет ячейки с оценкой level-1"),
], ids=["assignment", "notebook", "cells", "points", "answer cell"])
def test_not_ready(database, arguments, english, russian, each_language):
    with pytest.raises(ValueError, match=re.escape(english if each_language == "en" else russian)):
        check_ready(**{"database": database, "assignment": HOMEWORK} | arguments)


def test_the_homework_has_nine_marks():
    assert len(GRADE_IDS) == 9
    assert (GRADE_IDS[0], GRADE_IDS[7], GRADE_IDS[8]) == ("check-1", "check-8", "check-boss")


@pytest.mark.parametrize("call", [lambda path: check_ready(path, HOMEWORK),
                                  lambda path: record(path, HOMEWORK, "anna", marks())], ids=["check_ready", "record"])
def test_no_gradebook_is_made_or_damaged(tmp_path, call, each_language):
    path = tmp_path / "gradebook.db"
    for there in (path, str(path), f"sqlite:///{path}", tmp_path, "sqlite://"):
        with pytest.raises(ValueError, match="nbgrader generate_assignment"):
            call(there)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="nbgrader generate_assignment"):
        call(path)
    assert path.read_bytes() == b""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bread (price)")
    with pytest.raises(ValueError, match="nbgrader generate_assignment"):
        call(path)
    assert dump(path) == {"bread": []}
    path.write_text("not a database, and long enough to be read as one" * 100)
    with pytest.raises(ValueError, match="file is not a database"):
        call(path)
    with pytest.raises(ValueError, match="nosuch"):
        call("nosuch://place/base")


def test_a_gradebook_of_an_older_nbgrader(database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("ALTER TABLE notebook RENAME COLUMN kernelspec TO old")
    with pytest.raises(ValueError, match=r"no such column.*nbgrader db upgrade"):
        record(database, HOMEWORK, "anna", marks())


def test_without_nbgrader(database, monkeypatch, each_language):
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    for call in (lambda: check_ready(database, HOMEWORK), lambda: record(database, HOMEWORK, "anna", marks())):
        with pytest.raises(ValueError, match=r"nbgrader .*: pip install nbgrader==0\.9\.6$"):
            call()


def test_the_import_is_cheap():
    code = "import sys, lib.grading.gradebook; print({'nbgrader', 'sqlalchemy', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "set()\n"
