"""python homework/check.py HOMEWORK: grades a submission, or a folder of them.

Exit code 0: all asked levels are passed. 1: some are not. 2: it could not be graded, and no mark was given.
"""
import concurrent.futures
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from lib import cli
from lib.grading import report as reports
from lib.grading.grade import HOMEWORK, Report, find_levels, grade, homeworks, load_homework
from lib.grading.sandbox import ISOLATIONS, bwrap_problem, choose
from lib.grading.submission import read
from lib.i18n import tr
from lib.progress import bar

NOTEBOOK = "homework.ipynb"
LONGEST = 3600      # seconds of one submission in a folder, whatever happens


def parser() -> cli.Parser:
    p = cli.Parser(prog="check.py", description=tr(
        en="Grades a homework level by level. Exit code: 0 all passed, 1 some not, 2 could not be graded.",
        ru="Проверяет домашнюю работу по уровням. Код выхода: 0 всё пройдено, 1 не всё, 2 проверить не удалось."))
    names = ", ".join(homeworks())
    p.add_argument("homework", help=tr(en=f"one of: {names}", ru=f"одна из: {names}"))
    p.add_argument("--level", nargs="+", metavar="N", default=[], help=tr(
        en="only these levels, such as 3 5 boss", ru="только эти уровни, например 3 5 boss"))
    p.add_argument("--list", action="store_true", help=tr(en="show the levels", ru="показать уровни"))
    p.add_argument("--hint", nargs="+", metavar="N", help=tr(
        en="show a level's first hint; a second number asks for more of them: --hint 5 3",
        ru="показать первую подсказку уровня; второе число — сколько подсказок: --hint 5 3"))
    p.add_argument("--watch", action="store_true", help=tr(
        en="grade again whenever the file is saved, until Ctrl-C", ru="проверять после каждого сохранения, до Ctrl-C"))
    p.add_argument("--submission", metavar="FILE", help=tr(
        en="an .ipynb or .py file (default: the homework's own notebook)",
        ru="файл .ipynb или .py (по умолчанию блокнот работы)"))
    p.add_argument("--submitted", metavar="DIR", help=tr(
        en="a folder of submissions: DIR/STUDENT/HOMEWORK/*.ipynb, nbgrader's layout, DIR/STUDENT/*.ipynb or DIR/*.ipynb",
        ru="папка с работами: DIR/СТУДЕНТ/РАБОТА/*.ipynb, как их собирает nbgrader, DIR/СТУДЕНТ/*.ipynb или DIR/*.ipynb"))
    p.add_argument("--jobs", type=int, metavar="N", default=max(1, (os.cpu_count() or 2) // 2), help=tr(
        en="submissions at the same time", ru="сколько работ проверять одновременно"))
    p.add_argument("--gradebook", metavar="FILE", help=tr(
        en="write the marks of --submitted into nbgrader's gradebook",
        ru="записать баллы из --submitted в gradebook nbgrader"))
    p.add_argument("--isolation", choices=ISOLATIONS, default="auto", help=tr(
        en="where the student's code runs; auto takes bwrap where it can be had",
        ru="где выполняется код студента; auto берёт bwrap, если он есть"))
    p.add_argument("--seed", type=int, metavar="N", help=tr(
        en="repeats a run with the same inputs (by default they are new each time)",
        ru="повторить проверку с теми же входами (по умолчанию каждый раз новые)"))
    p.add_argument("--patience", type=float, metavar="X", default=1.0, help=tr(
        en="multiplies all time limits", ru="множитель всех пределов времени"))
    for name, text in (("json", "JSON"), ("junit", "JUnit XML"), ("summary", "Markdown")):
        p.add_argument(f"--{name}", metavar="FILE", help=tr(en=f"write a report: {text}", ru=f"записать отчёт: {text}"))
    p.add_argument("--student", default="", help=tr(en="a name for the reports", ru="имя для отчётов"))
    return p


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code. Reports are written on every path that knows where to write them."""
    options = parser().parse_args(arguments)
    options.seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    isolation = options.isolation
    try:
        if options.patience <= 0 or options.jobs < 1 or options.seed < 0:
            raise ValueError(tr(en="--patience and --jobs must be above 0, --seed a whole number from 0",
                                ru="--patience и --jobs должны быть больше 0, --seed — целое число от 0"))
        _writable(options)
        if not options.list and not options.hint and not options.submitted:
            isolation = choose(options.isolation)
            if options.isolation == "auto" and isolation == "plain":
                problem = bwrap_problem()
                print(tr(en=f"plain isolation, limits only: {problem}. Do not grade other people's code this way.",
                         ru=f"изоляция plain, только пределы: {problem}. Чужой код так не проверяйте."), file=sys.stderr)
        if options.submitted:
            return _batch(options)
        module = load_homework(options.homework)
        if options.list:
            return _list(module)
        if options.hint:
            return _hint(module, options.hint)
        find_levels(module.levels(), options.level)      # before any work is done
        path = Path(options.submission) if options.submission else HOMEWORK / options.homework / NOTEBOOK
        return _watch(module, path, isolation, options) if options.watch else _once(module, path, isolation, options)
    except (KeyboardInterrupt, SystemExit):
        raise
    except (ValueError, OSError) as error:
        return _broken(options, isolation, str(error))
    except Exception as error:  # noqa: BLE001 - whatever the grader breaks of, the reports say that it broke
        where = traceback.format_exc(limit=-3)
        return _broken(options, isolation, tr(en=f"the grader itself failed: {error!r}\n{where}",
                                              ru=f"сама проверка сломалась: {error!r}\n{where}"))


def _broken(options, isolation, error) -> int:
    report = Report(options.homework, options.submission or "", options.seed, isolation, error=error,
                    student=options.student)
    with contextlib.suppress(OSError):
        _write(options, [report], batch=bool(options.submitted))
    print(error, file=sys.stderr)
    return 2


def _writable(options) -> None:
    """A report that cannot be written is found out before the grading, not after it."""
    for path in (options.json, options.junit, options.summary):
        if path and not Path(path).absolute().parent.is_dir():
            folder = Path(path).absolute().parent
            raise ValueError(tr(en=f"there is no folder {folder} for a report", ru=f"нет папки {folder} для отчёта"))


def _write(options, found: list[Report], batch: bool = False) -> None:
    """All reports that were asked for; one that only says that the grading broke leaves an earlier one where it is."""
    broken = all(report.error for report in found)
    for path, text in ((options.json, lambda: reports.as_json(found, batch)),
                       (options.junit, lambda: reports.as_junit(found)),
                       (options.summary, lambda: reports.as_markdown(found))):
        if path:
            reports.write(path, text(), keep_earlier=broken)


def _once(module, path: Path, isolation: str, options) -> int:
    cells = read(path)
    last = None
    with bar(title="", total=len(find_levels(module.levels(), options.level))) as progress:
        for report in grade(options.homework, cells, module=module, isolation=isolation, seed=options.seed,
                            asked=options.level, patience=options.patience, submission=str(path),
                            said=progress.set_description_str):
            last = report
            level = report.levels[-1]
            progress.write(reports.one_line(level))
            if level.status != "passed":
                progress.write(reports.details(level))
            progress.update()
    last.student = options.student
    print(reports.ending(last), flush=True)
    _write(options, [last])
    return last.exit_code


def _watch(module, path: Path, isolation: str, options) -> int:
    """Grades on every save. Ctrl-C ends it."""
    print(tr(en=f"watching {path}, Ctrl-C ends", ru=f"слежу за {path}, Ctrl-C — конец"), flush=True)
    code, seen = 2, None
    while True:
        try:
            stamp = path.stat().st_mtime_ns
        except OSError:
            stamp = None       # an editor that saves by renaming: it is back in a moment
        if stamp is not None and stamp != seen:
            seen = stamp
            time.sleep(0.2)    # a file that is still being written
            print("\n" + time.strftime("%H:%M:%S"), flush=True)
            try:
                code = _once(module, path, isolation, options)
            except (ValueError, OSError) as error:
                print(error, file=sys.stderr, flush=True)
        try:
            time.sleep(0.3)
        except KeyboardInterrupt:
            return code


def _list(module) -> int:
    levels = module.levels()
    for level in levels:
        functions = ", ".join(level.functions)
        print(f"{level.id:>4}  {level.points:>2}  {level.title}  ({functions})")
    total = sum(level.points for level in levels)
    print(tr(en=f"{total} points", ru=f"баллов: {total}"))
    return 0


def _hint(module, asked: list[str]) -> int:
    level = find_levels(module.levels(), asked[:1])[0]
    count = int(asked[1]) if len(asked) > 1 and asked[1].isdecimal() else 1
    for hint in level.hints[:max(1, count)]:
        print("-", hint)
    if count < len(level.hints):
        total = len(level.hints)
        print(tr(en=f"({count} of {total}; more: --hint {level.id} {count + 1})",
                 ru=f"({count} из {total}; ещё: --hint {level.id} {count + 1})"))
    print(level.lesson)
    return 0


# ── a folder of submissions ───────────────────────────────────────────────────────────────────────────────────────────
def find_submissions(folder: Path, homework: str) -> list[tuple[str, Path | str]]:
    """(student, file, or why there is none) for every submission in a folder, of any of the three layouts."""
    if not folder.is_dir():
        raise ValueError(tr(en=f"{folder} is not a folder", ru=f"{folder} — не папка"))
    found: list[tuple[str, Path | str]] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_file() and entry.suffix in (".ipynb", ".py"):
            found.append((entry.stem, entry))
        elif entry.is_dir():
            inner = entry / homework if (entry / homework).is_dir() else entry
            files = sorted(file for file in inner.glob("*.ipynb") if not file.name.startswith("."))
            files = files or sorted(inner.glob("*.py"))
            named = [file for file in files if file.name == NOTEBOOK]
            if len(files) == 1 or named:
                found.append((entry.name, (named or files)[0]))
            elif files:
                names = ", ".join(file.name for file in files[:5])
                found.append((entry.name, tr(en=f"several notebooks and none is {NOTEBOOK}: {names}",
                                             ru=f"несколько блокнотов, и ни один не {NOTEBOOK}: {names}")))
            else:
                found.append((entry.name, tr(en=f"no notebook in {inner}", ru=f"в {inner} нет блокнота")))
    if not found:
        raise ValueError(tr(en=f"there are no submissions in {folder}", ru=f"в {folder} нет работ"))
    return found


def _batch(options) -> int:
    isolation = choose(options.isolation)
    load_homework(options.homework)
    submissions = find_submissions(Path(options.submitted), options.homework)
    if options.gradebook:
        _check_gradebook(options)
    found: dict[str, Report] = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, bar(title="", total=len(submissions)) as progress:
        waiting = {pool.submit(_grade_apart, student, file, isolation, options): student for student, file in submissions}
        try:
            for done in concurrent.futures.as_completed(waiting):
                report = done.result()
                found[waiting[done]] = report
                points = "—" if report.points is None else report.points
                progress.write(f"{points:>4} / {report.max_points:<4} {report.student}  {report.error}")
                progress.update()
                if options.gradebook:
                    _to_gradebook(options, report)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            if found:
                _write(options, [found[student] for student, _ in submissions if student in found], batch=True)
    if any(report.error for report in found.values()):
        return 2
    return 0 if all(report.passed for report in found.values()) else 1


def _grade_apart(student: str, file: Path | str, isolation: str, options) -> Report:
    """One submission in a grader of its own, so that not even a crash of the grader touches the others."""
    report = Report(options.homework, str(file), options.seed, isolation, student=student)
    if isinstance(file, str):
        report.error = file
        return report
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "report.json"
        command = [sys.executable, str(HOMEWORK / "check.py"), options.homework, f"--submission={file}",
                   "--isolation", isolation, "--seed", str(options.seed), "--patience", str(options.patience),
                   "--json", str(result), f"--student={student}"]
        if options.level:
            command += ["--level", *options.level]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
        try:
            _, said = process.communicate(timeout=LONGEST * options.patience)
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            report.error = tr(en="took too long as a whole", ru="слишком долго в целом")
            return report
        try:
            data = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            words = said.strip()[-300:]
            report.error = tr(en=f"the grader ended without a result: {words}",
                              ru=f"проверка закончилась без результата: {words}")
            return report
    return _from_dict(data)


def _end(process) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGTERM) if hasattr(os, "killpg") else process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()


def _from_dict(data: dict) -> Report:
    from lib.grading.level import Result

    levels = [Result(level["id"], level["title"], level["status"], level["points"], level["max_points"], level["message"],
                     level["mistake"], level["seconds"], parts=level["parts"]) for level in data["levels"]]
    return Report(data["homework"], data["submission"], data["seed"], data["isolation"], levels, data["notes"],
                  data["error"], data["student"])


def _check_gradebook(options) -> None:
    from lib.grading.gradebook import check_ready

    if options.level:
        raise ValueError(tr(en="--gradebook needs all levels, not --level",
                            ru="для --gradebook нужны все уровни, без --level"))
    points = {f"check-{level.id}": level.points for level in load_homework(options.homework).levels()}
    check_ready(options.gradebook, options.homework, grade_ids=points)


def _to_gradebook(options, report: Report) -> None:
    """A submission that could not be graded leaves the mark that is there."""
    from lib.grading.gradebook import Mark, record

    if not report.error:
        record(options.gradebook, options.homework, report.student, [
            Mark(f"check-{level.id}", level.points, level.max_points, level.message) for level in report.levels])
