"""Grading one submission: its cells run in a worker, its levels are checked one by one, a dead worker costs one part."""
import importlib.util
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from lib.grading import wire
from lib.grading.level import Level, Result, Student, Wrong
from lib.grading.sandbox import Died, Worker
from lib.grading.submission import Cell
from lib.i18n import tr

ROOT = Path(__file__).parents[2]
HOMEWORK = ROOT / "homework"
CELL_SECONDS = 120.0        # of one cell of the notebook: an experiment of a minute is nothing unusual


@dataclass
class Report:
    """What a submission is worth. `error` says why it could not be graded; then there are no points."""

    homework: str
    submission: str
    seed: int
    isolation: str
    levels: list[Result] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)      # on cells: left out, failed, slow
    error: str = ""
    student: str = ""

    @property
    def points(self) -> int | None:
        return None if self.error else sum(level.points for level in self.levels)

    @property
    def max_points(self) -> int:
        return sum(level.max_points for level in self.levels)

    @property
    def passed(self) -> bool:
        return not self.error and all(level.status == "passed" for level in self.levels)

    @property
    def exit_code(self) -> int:
        return 2 if self.error else 0 if self.passed else 1


def homeworks() -> list[str]:
    """Ids of the homeworks that there are: folders of homework/ with a levels.py."""
    return sorted(path.parent.name for path in HOMEWORK.glob("*/levels.py"))


def load_homework(homework: str, folder: Path = HOMEWORK) -> ModuleType:
    """The levels.py of a homework. Raises ValueError for an id that there is none of."""
    path = folder / homework / "levels.py"
    if homework != Path(homework).name or not path.is_file():
        known = ", ".join(homeworks())
        raise ValueError(tr(en=f"there is no homework {homework!r}: choose one of {known}",
                            ru=f"домашней работы {homework!r} нет: выберите из {known}"))
    spec = importlib.util.spec_from_file_location(f"homework_{homework.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_levels(levels: list[Level], asked: Iterable[str]) -> list[Level]:
    """The levels with these ids, in the homework's order. Raises ValueError for an unknown one."""
    asked, known = [str(x).lower() for x in asked], [level.id for level in levels]
    for name in asked:
        if name not in known:
            choices = ", ".join(known)
            raise ValueError(tr(en=f"there is no level {name}: choose from {choices}",
                                ru=f"уровня {name} нет: выберите из {choices}"))
    return [level for level in levels if not asked or level.id in asked]


class Isolated:
    """The student's notebook in a worker, started again whenever it is gone. Cells that are slow or deadly are left out."""

    def __init__(self, cells: list[Cell], homework: ModuleType, isolation: str, patience: float,
                 said: Callable[[str], None]):
        self.cells, self.isolation, self.patience, self.said = cells, isolation, patience, said
        self.provides, self.driver = homework.PROVIDES, Path(homework.DRIVER).read_text(encoding="utf-8")
        self.notes: list[str] = []
        self.output = ""
        self._bad: set[int] = set()
        self._told = False
        self._worker: Worker | None = None

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def send(self, header: dict, tensors: dict, seconds: float, answer_question, shown: str) -> tuple[dict, dict]:
        """A request to the worker. Raises Wrong with what happened where it does not answer."""
        try:
            worker = self._ready()
        except Died:
            raise Wrong(tr(en="the notebook's cells cannot be run: each start ends in a dead worker",
                           ru="ячейки блокнота не выполняются: рабочий процесс погибает при каждом запуске"),
                        "died") from None
        try:
            return worker.request(header, tensors, seconds, answer_question)
        except Died as died:
            raise Wrong(self._say(died, shown, seconds), died.why) from None
        finally:
            self.output = worker.output

    @staticmethod
    def _say(died: Died, shown: str, seconds: float) -> str:
        if died.why == "timeout":
            return tr(en=f"{shown} did not return within {seconds:g} s: an endless loop? (--patience 3 gives it longer)",
                      ru=f"{shown}: нет ответа за {seconds:g} с. Бесконечный цикл? (--patience 3 даст больше)")
        if died.why == "large":
            return tr(en=f"{shown} returned more data than a level can use",
                      ru=f"{shown}: вернулось больше данных, чем нужно уровню")
        if died.why == "protocol":
            return tr(en=f"{shown}: something was written into the grader's own channel instead of an answer",
                      ru=f"{shown}: вместо ответа в служебный канал проверки записано что-то другое")
        return tr(en=f"{shown} ended the process: exit(), a crash, or a limit of memory, files or processes",
                  ru=f"{shown}: процесс завершился — exit(), сбой или предел памяти, файлов или процессов")

    def _ready(self) -> Worker:
        for _ in range(len(self.cells) + 1):
            if self._worker is not None and self._worker.alive:
                return self._worker
            self.close()
            self._worker = Worker(self.isolation, self.provides, self.driver)
            if self._run_cells():
                return self._worker
        raise Died("died")

    def _run_cells(self) -> bool:
        """Runs all cells that have not proved deadly. False when the worker was lost on the way."""
        again, first = [], not self._told
        for cell in self.cells:
            if cell.number in self._bad:
                continue
            fault = self._run_cell(cell, first)
            if fault is None:
                return False
            if fault.get("type") == "NameError":      # a cell that was moved: what it needs may come later
                again.append(cell)
            elif fault and first:
                self._note_fault(cell, fault)
        for cell in again:
            fault = self._run_cell(cell, False)
            if fault is None:
                return False
            if fault and first:
                self._note_fault(cell, fault)
        self._told = True
        return True

    def _run_cell(self, cell: Cell, first: bool) -> dict | None:
        """{} where all went well, the fault where the cell raised, None where the worker is gone."""
        seconds = CELL_SECONDS * self.patience
        self.said(tr(en=f"cell {cell.number}", ru=f"ячейка {cell.number}"))
        try:
            request = {"do": "cell", "name": f"<cell {cell.number}>", "source": cell.source}
            answer, _ = self._worker.request(request, {}, seconds)
        except Died as died:
            self._bad.add(cell.number)
            number = cell.number
            if died.why == "timeout":
                self.notes.append(tr(en=f"cell {number} took longer than {seconds:g} s and was left out",
                                     ru=f"ячейка {number}: дольше {seconds:g} с, пропущена"))
            else:
                self.notes.append(tr(en=f"cell {number} ended the process and was left out",
                                     ru=f"ячейка {number} завершила процесс и пропущена"))
            return None
        number = cell.number
        if first and isinstance(answer.get("left_out"), list):
            for line in answer["left_out"][:5]:
                line = _one_line(line, 80)
                self.notes.append(tr(en=f"cell {number}: left out, not Python: {line}",
                                     ru=f"ячейка {number}: пропущено, это не Python: {line}"))
        fault = answer.get("error", {})
        return fault if isinstance(fault, dict) else {}

    def _note_fault(self, cell: Cell, fault: dict) -> None:
        kind, message, where = (_one_line(fault.get(key, ""), 160) for key in ("type", "message", "where"))
        number = cell.number
        self.notes.append(tr(en=f"cell {number} raised {kind}: {message} ({where})",
                             ru=f"ячейка {number}: {kind}: {message} ({where})"))


def _one_line(value, most: int) -> str:
    """A student's words inside a note: they cannot begin a line of their own, which would read as the grader's."""
    return wire.clean(" ".join(str(value)[:10 * most].split())[:most])


def grade(homework: str, cells: list[Cell], *, module: ModuleType | None = None, isolation: str = "plain", seed: int = 0,
          asked: Iterable[str] = (), patience: float = 1.0, submission: str = "",
          said: Callable[[str], None] = lambda text: None) -> Iterator[Report]:
    """Checks the asked levels (all by default) and yields the report after each of them, the last one being complete.

    said(text) is told what is going on. The seed decides on every input: the same seed and code give the same mark.
    """
    module = module or load_homework(homework)
    levels = module.levels()
    report = Report(homework, submission, seed, isolation)
    notebook = Isolated(cells, module, isolation, patience, said)
    checker = Checker(levels, notebook.send, seed, patience, said, lambda: notebook.output)
    try:
        for level in find_levels(levels, asked):
            report.levels.append(checker.result(level))
            report.notes = list(notebook.notes)
            yield report
    finally:
        notebook.close()


class Checker:
    """Checks levels, each once; what a level is built on is checked where that is needed to explain a failure."""

    def __init__(self, levels: list[Level], send, seed: int, patience: float = 1.0, said=lambda text: None,
                 output=lambda: ""):
        self.levels, self.send, self.seed, self.patience, self.said, self.output = levels, send, seed, patience, said, output
        self._results: dict[str, Result] = {}

    def result(self, level: Level) -> Result:
        if level.id not in self._results:
            self._results[level.id] = self._check(level)
        return self._results[level.id]

    def _check(self, level: Level) -> Result:
        start, points, messages, mistake, output = time.perf_counter(), {}, [], "", ""
        for part in level.parts:
            self.said(f"{level.id}  {level.title}: {part.function}")
            # its own generator: a level has the same inputs whether it is checked alone or with others
            rng = random.Random(f"{self.seed}/{level.id}/{part.function}")
            try:
                part.check(Student(self.send, rng, self.patience), rng)
                points[part.function] = part.points
            except Wrong as wrong:
                points[part.function] = 0
                messages.append(wire.clean(wrong.message))
                mistake, output = mistake or wrong.mistake, output or self.output()
            except Exception as error:  # noqa: BLE001 - a value made to break the check must not break the other levels
                points[part.function] = 0
                kind = wire.clean(f"{type(error).__name__}: {error}"[:300])
                messages.append(tr(
                    en=f"{part.function} returned something that the check could not judge ({kind}). If it looks right to "
                       f"you, show it to your teacher",
                    ru=f"{part.function}: проверка не смогла оценить результат ({kind}). Если он кажется вам верным, "
                       f"покажите его преподавателю"))
                mistake = mistake or "not_judged"
        earned = sum(points.values())
        status = "passed" if earned == level.points else "failed"
        if status == "failed" and mistake != "unsolved" and (missing := self._missing(level)):
            status = "skipped"
            names = ", ".join(missing)
            messages.insert(0, tr(en=f"skipped: needs level {names}", ru=f"пропущен: нужен уровень {names}"))
        elif 0 < earned < level.points:
            right = ", ".join(name for name, paid in points.items() if paid)
            messages.insert(0, tr(en=f"{earned} of {level.points} points: {right} is right",
                                  ru=f"{earned} из {level.points} баллов: {right} верно"))
        return Result(level.id, level.title, status, earned, level.points, "\n".join(messages), mistake,
                      time.perf_counter() - start, wire.clean(output) if status != "passed" else "", level.lesson, points)

    def _missing(self, level: Level) -> list[str]:
        """Levels that are not passed and whose functions this level's solution uses."""
        if not level.needs:
            return []
        used: set[str] = set()
        for function in level.functions:
            try:
                used |= set(Student(self.send, random.Random(0), self.patience).uses(function))
            except (Wrong, wire.ProtocolError):
                return []
        needed = [other for other in self.levels if other.id in level.needs and used & set(other.functions)]
        return [other.id for other in needed if self.result(other).status != "passed"]


