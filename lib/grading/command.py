"""python homework/check.py HOMEWORK: grades a submission, or a folder of them.

Exit code 0: all asked levels are passed. 1: some are not. 2: it could not be graded, and no mark was given.
"""
import concurrent.futures
import contextlib
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

from lib import cli
from lib.grading import report as reports
from lib.grading.grade import HOMEWORK, Report, find_levels, grade, homeworks, load_homework
from lib.grading.sandbox import ISOLATIONS, bwrap_problem, choose, descendants
from lib.grading.submission import SUFFIXES, read
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
    """The command; returns its exit code. Reports are written on every path.

    Raises ValueError where a report could not be written: then there is nowhere to report to.
    """
    options = parser().parse_args(arguments)
    _check_reports(options)
    options.seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    isolation = options.isolation
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    try:
        _check_options(options)
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


def _terminated(*_):
    """SIGTERM ends the grader as Ctrl-C does: workers are stopped and finished marks are kept."""
    raise KeyboardInterrupt


def _broken(options, isolation, error) -> int:
    report = Report(options.homework, options.submission or "", options.seed, isolation, error=error,
                    student=options.student)
    _write(options, [report], batch=bool(options.submitted))
    print(error, file=sys.stderr)
    return 2


def _check_options(options) -> None:
    """What cannot work is found out before the grading, not after it."""
    if not (0 < options.patience < math.inf) or options.jobs < 1 or options.seed < 0:
        raise ValueError(tr(en="--patience and --jobs must be finite numbers above 0, --seed a whole number from 0",
                            ru="--patience и --jobs должны быть конечными числами больше 0, --seed — целое число от 0"))
    for name in ("list", "hint", "watch", "submission"):
        if options.submitted and getattr(options, name):
            raise ValueError(tr(en=f"--submitted grades a folder, --{name} does not go with it",
                                ru=f"--submitted проверяет папку, --{name} с ним не сочетается"))
    if options.gradebook and not options.submitted:
        raise ValueError(tr(en="--gradebook needs --submitted: the names of its folders are the students'",
                            ru="--gradebook нужен --submitted: имена его папок — это имена студентов"))


def _check_reports(options) -> None:
    paths = [Path(path).absolute() for path in (options.json, options.junit, options.summary) if path]
    for path in paths:
        if not path.parent.is_dir():
            raise ValueError(tr(en=f"there is no folder {path.parent} for a report",
                                ru=f"нет папки {path.parent} для отчёта"))
        if path.is_dir():
            raise ValueError(tr(en=f"{path} is a folder: a report needs the name of a file",
                                ru=f"{path} — папка, а отчёту нужно имя файла"))
        if paths.count(path) > 1:
            raise ValueError(tr(en=f"two reports have the same file {path}", ru=f"у двух отчётов один файл {path}"))


def _write(options, found: list[Report], batch: bool = False) -> bool:
    """All reports that were asked for, each by itself; False where one could not be written, which is told.

    One that only says that the grading broke leaves an earlier one where it is.
    """
    broken, good = all(report.error for report in found), True
    for path, text in ((options.json, lambda: reports.as_json(found, batch)),
                       (options.junit, lambda: reports.as_junit(found)),
                       (options.summary, lambda: reports.as_markdown(found))):
        if path:
            try:
                reports.write(path, text(), keep_earlier=broken)
            except OSError as error:
                good = False
                print(tr(en=f"the report {path} could not be written: {error}",
                         ru=f"отчёт {path} не записан: {error}"), file=sys.stderr)
    return good


def _once(module, path: Path, isolation: str, options) -> int:
    cells = read(path)
    last = None
    with bar(title="", total=len(find_levels(module.levels(), options.level))) as progress, contextlib.closing(
            grade(options.homework, cells, module=module, isolation=isolation, seed=options.seed, asked=options.level,
                  patience=options.patience, submission=str(path), said=progress.set_description_str)) as graded:
        for report in graded:
            last = report
            level = report.levels[-1]
            progress.write(reports.one_line(level))
            if level.status != "passed":
                progress.write(reports.details(level))
            progress.update()
    last.student = options.student
    print(reports.ending(last), flush=True)
    return last.exit_code if _write(options, [last]) else 2


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
    count = max(1, int(asked[1])) if len(asked) > 1 and asked[1].isdecimal() else 1
    for hint in level.hints[:count]:
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
        if entry.is_dir():
            found.append((entry.name, _file_of(entry / homework if (entry / homework).is_dir() else entry)))
        elif entry.suffix.lower() in SUFFIXES:
            found.append((entry.stem, entry))       # a link that leads nowhere too: reading it tells so
    if not found:
        raise ValueError(tr(en=f"there are no submissions in {folder}", ru=f"в {folder} нет работ"))
    names = Counter(student for student, _ in found)
    return [(student, file if names[student] == 1 else _not_one(student)) for student, file in found]


def _not_one(student: str) -> str:
    return tr(en=f"several submissions are named {student}: which one counts? Leave one of them",
              ru=f"с именем {student} несколько работ, какая из них считается? Оставьте одну")


def _file_of(folder: Path) -> Path | str:
    """The notebook in a student's folder, else a script there; or why neither can be told."""
    files = [file for file in sorted(folder.iterdir()) if not file.name.startswith(".") and not file.is_dir()]
    for suffix in SUFFIXES:
        fitting = [file for file in files if file.suffix.lower() == suffix]
        named = [file for file in fitting if file.name == NOTEBOOK]
        if named or len(fitting) == 1:
            return (named or fitting)[0]
        if fitting:
            names = ", ".join(file.name for file in fitting[:5])
            return tr(en=f"several files and none is {NOTEBOOK}: {names}",
                      ru=f"несколько файлов, и ни один не {NOTEBOOK}: {names}")
    return tr(en=f"no notebook in {folder}", ru=f"в {folder} нет блокнота")


def _batch(options) -> int:
    isolation = choose(options.isolation)
    load_homework(options.homework)
    submissions = find_submissions(Path(options.submitted), options.homework)
    if options.gradebook:
        _check_gradebook(options)
    apart = _Apart(isolation, options)
    found = [apart.report(student, file) for student, file in submissions]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, bar(title="", total=len(submissions)) as progress:
        waiting = {pool.submit(apart.grade, report, file): number
                   for number, (report, (_, file)) in enumerate(zip(found, submissions, strict=True))}
        try:
            for done in concurrent.futures.as_completed(waiting):
                report = found[waiting[done]] = done.result()
                points = "—" if report.points is None else report.points
                progress.write(f"{points:>4} / {report.max_points:<4} {report.student}  {report.error}")
                progress.update()
                if options.gradebook:
                    _to_gradebook(options, report)
        except BaseException:
            apart.stop()                                     # a second Ctrl-C must not leave a grader behind
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            written = _write(options, found, batch=True)
    if not written or any(report.error for report in found):
        return 2
    return 0 if all(report.passed for report in found) else 1


class _Apart:
    """Grades submissions, each in a grader of its own, so that not even a crash of the grader touches the others."""

    def __init__(self, isolation: str, options):
        self.isolation, self.options = isolation, options
        self._live: set[subprocess.Popen] = set()
        self._stopped = False

    def report(self, student: str, file: Path | str) -> Report:
        """The report of a submission that was not graded."""
        return Report(self.options.homework, str(file), self.options.seed, self.isolation, student=student,
                      error=tr(en="not graded: the grading was stopped before",
                               ru="не проверено: проверку остановили раньше"))

    def grade(self, report: Report, file: Path | str) -> Report:
        if isinstance(file, str):
            report.error = file
            return report
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "report.json"
            command = [sys.executable, str(HOMEWORK / "check.py"), options.homework, f"--submission={file}",
                       "--isolation", self.isolation, "--seed", str(options.seed), "--patience", str(options.patience),
                       "--json", str(result), f"--student={report.student}"]
            if options.level:
                command += ["--level", *options.level]
            if self._stopped:
                return report
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       errors="replace", start_new_session=True)
            self._live.add(process)
            try:
                _, said = process.communicate(timeout=LONGEST * options.patience)
            except subprocess.TimeoutExpired:
                report.error = tr(en="took too long as a whole", ru="слишком долго в целом")
                return report
            finally:
                _end(process)
                self._live.discard(process)
            if self._stopped:
                return report
            try:
                return _from_dict(json.loads(result.read_text(encoding="utf-8")))
            except (OSError, ValueError):
                words = said.strip()[-300:]
                report.error = tr(en=f"the grader ended without a result: {words}",
                                  ru=f"проверка закончилась без результата: {words}")
                return report

    def stop(self) -> None:
        """Ends the graders that run; those that wait do not begin."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
        self._stopped = True
        for process in list(self._live):
            _end(process)


def _end(process) -> None:
    """Ends a grader: it stops its worker itself; if it does not, both are killed."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        for child in descendants(process.pid):
            with contextlib.suppress(Exception):
                child.kill()
        process.kill()
        process.wait()


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
