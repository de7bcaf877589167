"""The homework: the student's notebook is the master's, unsolved it is worth 0, the reference 100, on any seed."""
import json
import random
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import nbformat
import pytest
from solved import HOMEWORK, MASTER, QUICK, ROOT, Bench, master_cells, reference_source

from lib.grading.grade import load_homework
from lib.grading.level import Student
from lib.grading.notebook import in_this_process

STUDENT = ROOT / "homework" / HOMEWORK / "homework.ipynb"
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
POINTS = {"1": 5, "2": 10, "3": 10, "4": 10, "5": 15, "6": 10, "7": 15, "8": 10, "boss": 15}


def solve_on_one_core(seed: int) -> dict[str, int]:
    """Points a level of the reference, in this process."""
    from lib.toy.halves import one_core

    one_core()
    bench = Bench()
    checker = bench.checker(seed=seed)
    return {level.id: checker.result(level).points for level in bench.levels}


@pytest.mark.slow
def test_the_reference_gets_full_marks_on_50_seeds():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for seed, points in enumerate(pool.map(solve_on_one_core, range(50))):
            assert points == POINTS, seed


def test_the_quick_levels_on_200_more_seeds_are_never_unlucky(bench):
    bench.checker()
    levels = [level for level in bench.levels if level.id in QUICK and level.id != "1"]
    for seed in range(200):
        rng = random.Random(seed)
        student = Student(in_this_process(bench.server), rng)
        for level in levels:
            for part in level.parts:
                part.check(student, rng)


def test_unsolved_it_is_worth_nothing(submit):
    code, report, said = submit(STUDENT.read_text(encoding="utf-8"), name="unsolved.ipynb")
    assert (code, report["points"], report["max_points"]) == (1, 0, 100)
    assert {level["status"] for level in report["levels"]} == {"failed"}
    assert {level["mistake"] for level in report["levels"]} == {"unsolved"}
    assert "0 of 100" in said


def test_the_master_through_the_whole_grader(submit):
    code, report, _ = submit(MASTER.read_text(encoding="utf-8"), name="homework.ipynb")
    assert (code, report["points"], report["isolation"]) == (0, 100, "bwrap")
    assert {level["id"]: level["points"] for level in report["levels"]} == POINTS
    assert report["notes"] == []
    assert sum(level["seconds"] for level in report["levels"]) < 60


def test_without_bubblewrap_it_is_the_same_mark(submit):
    code, report, said = submit(MASTER.read_text(encoding="utf-8"), "--level", *QUICK, name="h.ipynb", isolation="plain")
    assert (code, report["points"], report["isolation"]) == (0, 70, "plain")
    assert "isolation plain" in said


def test_the_same_submission_gets_the_same_mark(submit, reference):
    halves = reference.replace("correction=0", "correction=1").replace("d.exp() - 1 - d", "d.exp() - d")
    reports = [submit(halves, "--level", *QUICK, "--seed", "11")[1] for _ in range(2)]
    for report in reports:
        for level in report["levels"]:
            del level["seconds"]
    assert reports[0] == reports[1]
    assert {level["id"] for level in reports[0]["levels"] if level["status"] == "failed"} == {"3", "4"}


def test_the_students_notebook_is_the_masters_without_solutions():
    sys.path.insert(0, str(ROOT / "homework"))
    try:
        import build
    finally:
        sys.path.pop(0)
    assert STUDENT.read_text(encoding="utf-8") == build.text(build.student_notebook(MASTER))
    text = STUDENT.read_text(encoding="utf-8")
    assert "SOLUTION" not in text
    assert text.count("raise NotImplementedError") == 11 + 2      # functions, and a sentence on them in two languages
    for line in ("correction=0", "logsigmoid", "fullmatch", "amax"):
        assert line not in text


def test_the_master_has_a_check_and_a_solution_for_every_level():
    nbformat.validate(nbformat.read(MASTER, as_version=4))
    levels = load_homework(HOMEWORK).levels()
    assert {level.id: level.points for level in levels} == POINTS
    graded = {cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"]["points"]
              for cell in master_cells() if cell["metadata"].get("nbgrader", {}).get("grade")}
    assert graded == {f"check-{level}": points for level, points in POINTS.items()}
    source = reference_source()
    for level in levels:
        for function in level.functions:
            assert f"def {function}(" in source


def test_every_text_of_the_notebook_stands_in_both_languages():
    cells = json.loads(MASTER.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            english, _, russian = "".join(cell["source"]).partition("\n\n---\n\n")
            assert not CYRILLIC.search(english)
            assert CYRILLIC.search(russian)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_where_a_level_points_to_is_there(language, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", language)
    for level in load_homework(HOMEWORK).levels():
        assert len(level.hints) == 3
        if level.lesson.startswith("notebooks"):
            path, _, place = level.lesson.partition(",")
            headings = (ROOT / path).read_text(encoding="utf-8")
            numbers = re.findall(r"\d+", place)
            assert numbers
            for number in numbers:
                assert f'"## {number}. ' in headings, level.lesson
        else:
            assert "arXiv:" in level.lesson


@pytest.mark.parametrize("name", ["README.md", "README.ru.md"])
def test_the_statement_names_every_level_with_its_points(name):
    text = (ROOT / "homework" / HOMEWORK / name).read_text(encoding="utf-8")
    for level in load_homework(HOMEWORK).levels():
        row = next(line for line in text.splitlines() if line.startswith(f"| {level.id.capitalize()} |"))
        assert f"| {level.points} |" in row
        for function in level.functions:
            assert f"`{function}`" in row
            assert f"`{function}(" in text


@pytest.mark.parametrize("name", ["README.md", "README.ru.md"])
def test_the_statement_names_the_bounds_that_are_checked(name):
    text = (ROOT / "homework" / HOMEWORK / name).read_text(encoding="utf-8")
    levels = {level.id: level for level in load_homework(HOMEWORK).levels()}
    training = levels["7"].parts[0].check.__globals__
    for part, bound in (("7. ", training["GAIN"]), ("Boss", training["COMPARED_GAIN"])):
        section = text[text.index(f"## {part}"):].partition("\n## ")[0]
        assert f"{bound:.2f}" in section


def test_what_graded_code_may_import_holds_no_solution():
    module = load_homework(HOMEWORK)
    for path in module.PROVIDES:
        if path.endswith(".py"):
            text = (ROOT / path).read_text(encoding="utf-8")
            for name in ("rule_reward", "group_advantages", "kl_k3", "clipped_objective", "token_weights", "grpo_step"):
                assert f"def {name}" not in text, path
