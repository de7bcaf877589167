"""What is written about a graded submission: a table on the terminal, JSON, JUnit XML and Markdown."""
import json
import os
import re
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from lib.files import open_new
from lib.grading.grade import Report
from lib.i18n import tr

MARKS = {"passed": "✓", "failed": "✗", "skipped": "–"}
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]")


def one_line(level) -> str:
    return f"{MARKS[level.status]} {level.id:>4}  {level.points:>2}/{level.max_points:<2}  {level.title}"


def details(level) -> str:
    """What a learner reads under a level that is not passed: the reason, what was printed, where it is explained."""
    lines = [level.message] if level.message else []
    if level.status == "failed":
        if level.output.strip():
            printed = level.output.strip()[-600:]
            lines.append(tr(en=f"your code printed: {printed}", ru=f"ваш код вывел: {printed}"))
        lines.append(tr(en=f"hint: --hint {level.id}    lesson: {level.lesson}",
                        ru=f"подсказка: --hint {level.id}    урок: {level.lesson}"))
    return "\n".join("        " + line for text in lines for line in text.splitlines())


def ending(report: Report) -> str:
    """The last lines: notes on cells, points, and what a teacher has to know to repeat it."""
    lines = [*report.notes]
    if report.error:
        lines.append(tr(en=f"could not be graded: {report.error}", ru=f"проверить не удалось: {report.error}"))
    else:
        lines.append(tr(en=f"{report.points} of {report.max_points} points",
                        ru=f"баллов: {report.points} из {report.max_points}"))
    lines.append(tr(en=f"seed {report.seed}, isolation {report.isolation}",
                    ru=f"seed {report.seed}, изоляция {report.isolation}"))
    return "\n".join(lines)


def as_dict(report: Report) -> dict:
    levels = [{"id": level.id, "title": level.title, "status": level.status, "points": level.points,
               "max_points": level.max_points, "message": level.message, "mistake": level.mistake,
               "seconds": round(level.seconds, 2), "parts": level.parts} for level in report.levels]
    return {"homework": report.homework, "submission": report.submission, "student": report.student, "points": report.points,
            "max_points": report.max_points, "seed": report.seed, "isolation": report.isolation, "error": report.error,
            "notes": report.notes, "levels": levels}


def as_junit(reports: list[Report]) -> str:
    """One test suite a submission, one test case a level."""
    suites = []
    for report in reports:
        cases = []
        for level in report.levels:
            body = {"passed": "", "failed": f"<failure message={_attribute(level.message)}/>",
                    "skipped": f"<skipped message={_attribute(level.message)}/>"}[level.status]
            cases.append(f"<testcase classname={_attribute(report.homework)} name={_attribute(f'{level.id} {level.title}')} "
                         f'time="{level.seconds:.2f}">{body}</testcase>')
        if report.error:
            cases.append(f'<testcase classname={_attribute(report.homework)} name="grading">'
                         f"<error message={_attribute(report.error)}/></testcase>")
        count = {status: sum(level.status == status for level in report.levels) for status in ("failed", "skipped")}
        suites.append(f"<testsuite name={_attribute(report.student or report.homework)} tests=\"{len(cases)}\" "
                      f"failures=\"{count['failed']}\" skipped=\"{count['skipped']}\" errors=\"{int(bool(report.error))}\">"
                      + "".join(cases) + "</testsuite>")
    return '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>' + "".join(suites) + "</testsuites>\n"


def _attribute(text: str) -> str:
    return quoteattr(NOT_XML.sub("?", text))


def as_markdown(reports: list[Report]) -> str:
    """For the summary page of a CI job."""
    lines = []
    for report in reports:
        name = _cell(report.student or report.submission)
        title = report.homework
        points = "—" if report.points is None else report.points
        lines += [tr(en=f"## {title}: {points} of {report.max_points} points",
                     ru=f"## {title}: баллов {points} из {report.max_points}"), "", name, ""]
        if report.error:
            lines += [_cell(report.error), ""]
        if report.levels:
            lines += [tr(en="| | level | points | |", ru="| | уровень | баллы | |"), "|---|---|---|---|"]
        for level in report.levels:
            cells = (MARKS[level.status], f"{level.id}. {_cell(level.title)}", f"{level.points} / {level.max_points}",
                     _cell(level.message))
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", *(f"- {_cell(note)}" for note in report.notes), "",
                  tr(en=f"seed {report.seed}, isolation {report.isolation}",
                     ru=f"seed {report.seed}, изоляция {report.isolation}"), ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A student's words in a table: they are shown as they are and make no markup."""
    text = escape(text).replace("\n", "<br>")
    return re.sub(r"([|\\`*_\[\]#!~])", r"\\\1", text)[:1500]


def write(path: str | Path, text: str, keep_earlier: bool) -> None:
    """Writes a report whole or not at all. keep_earlier: an earlier report of that name stays, under a free name."""
    path = Path(path)
    if keep_earlier and path.is_file():
        earlier = path.read_bytes()
        with open_new(path.with_stem(path.stem + "-earlier"), "xb") as file:
            file.write(earlier)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def as_json(reports: list[Report], batch: bool) -> str:
    """One object for a submission, {"submissions": […]} for a folder of them."""
    whole = {"submissions": [as_dict(report) for report in reports]} if batch else as_dict(reports[0])
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
