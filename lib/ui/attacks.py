"""What lesson 04 shows of attacks on rewards: tables of single attacks, and the battery over all designs at once."""
from collections.abc import Mapping, Sequence
from textwrap import fill

from IPython.display import Markdown
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.countdown.battery import THOUGHT, Case, case, cases, kinds
from lib.countdown.cage import Cage, Outcome
from lib.countdown.naive import DESIGNS
from lib.i18n import tr
from lib.progress import bar
from lib.ui.cells import plain, table

SECONDS = 1.0       # a reply that takes longer hangs the trainer
RIGHT = 0.9         # the form alone earns less, a right answer more
FINE, FORM, REFUSED, PAID, RAISED, HUNG, EXECUTED = ("fine", "form", "refused", "paid", "raised", "hung", "executed")
# Colour and sign of each verdict on a design, from good to bad: Okabe and Ito's colours, told apart by the signs too.
LOOKS = {FINE: ("#E8F4EC", "·"), FORM: ("#F0E442", "f"), REFUSED: ("#56B4E9", "−"), PAID: ("#E69F00", "+"),
         RAISED: ("#CC79A7", "!"), HUNG: ("#B0B0B0", "∞"), EXECUTED: ("#D55E00", "×")}


def verdicts() -> dict[str, str]:
    """What can become of a design on a case, in words."""
    return {
        FINE: tr(en="as it should be", ru="как должно быть"),
        FORM: tr(en="form misjudged", ru="ошибка в форме"),
        REFUSED: tr(en="right answer refused", ru="верный ответ не оплачен"),
        PAID: tr(en="wrong answer paid", ru="оплачен неверный ответ"),
        RAISED: tr(en="exception", ru="исключение"),
        HUNG: tr(en="no result in time", ru="нет результата в срок"),
        EXECUTED: tr(en="the reply's code ran", ru="выполнен код из ответа"),
    }


def judge(case: Case, outcome: Outcome) -> str:
    """The worst thing that happened to a design on a case, a key of `verdicts`."""
    if outcome.files:
        return EXECUTED
    if outcome.end != "paid":
        return RAISED if outcome.end == "raised" else HUNG
    right = outcome.paid >= RIGHT
    if right != case.right:
        return PAID if right else REFUSED
    earned = 0.2 if case.form else 0.0
    return FINE if abs(outcome.paid - right - earned) < 1e-9 else FORM


def attack(design: str, *names: str) -> Markdown:
    """Runs cases of the battery against a design, each with the time limit, and shows what it did."""
    rows = []
    with Cage(SECONDS) as cage:
        for name in names:
            one = case(name)
            outcome = cage.run(design, one.reply, one.nums, one.target)
            verdict = judge(one, outcome)
            should = (1.0 if one.right else 0.0) + (0.2 if one.form else 0.0)
            mark = "✓" if verdict == FINE else f"**✗ {verdicts()[verdict]}**"
            rows.append([f"{one.name}: {one.why}", _code(one.reply), f"{should:.1f}", happened(outcome), mark])
    return table([tr(en="attack", ru="атака"), tr(en="reply", ru="ответ модели"), tr(en="deserves", ru="заслужено"),
                  tr(en=f"`{design}` says", ru=f"говорит `{design}`"), ""], rows)


def happened(outcome: Outcome) -> str:
    """An outcome in a few words, with Markdown's code marks around names."""
    if outcome.files:
        files = ", ".join(f"`{name}`" for name in outcome.files)
        return tr(en=f"wrote the file {files}", ru=f"записан файл {files}") + f", {outcome.paid:.2f}"
    return {"paid": f"{outcome.paid:.2f}", "raised": f"`{outcome.error}`",
            "killed": tr(en=f"killed after {outcome.seconds:g} s", ru=f"остановлен через {outcome.seconds:g} с"),
            "died": tr(en="the process is gone", ru="процесс умер")}[outcome.end]


def _code(reply: str, most: int = 100) -> str:
    """A reply in a table's cell: without the thought that many cases share, and shortened in the middle."""
    text = reply.replace(THOUGHT, "…")
    size = ""
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
        size = tr(en=f" ({len(reply):,} characters)", ru=f" (символов: {len(reply):,})").replace(",", "\u202f")
    return f"<code>{plain(text)}</code>{size}"


# ── the whole battery ─────────────────────────────────────────────────────────────────────────────────────────────────
Results = Mapping[str, Mapping[str, str]]     # design -> name of a case -> verdict


def run_battery(designs: Sequence[str] = tuple(DESIGNS)) -> Results:
    """Every case that is a text, against every design. About ten seconds: what hangs is killed after one."""
    texts = [one for one in cases() if isinstance(one.reply, str)]
    results = {}
    for design in bar(designs, tr(en="the battery", ru="набор")):
        with Cage(SECONDS) as cage:
            results[design] = {one.name: judge(one, cage.run(design, one.reply, one.nums, one.target)) for one in texts}
    return results


def summary(results: Results) -> Markdown:
    """Cases failed by each design, kind by kind."""
    rows = []
    for kind, title in kinds().items():
        names = [one.name for one in cases() if one.kind == kind and one.name in next(iter(results.values()))]
        if names:
            failed = [sum(verdict[name] != FINE for name in names) for verdict in results.values()]
            rows.append([title, len(names), *(f"**{n}**" if n else "0" for n in failed)])
    totals = [sum(verdict != FINE for verdict in results[design].values()) for design in results]
    rows.append([tr(en="**all**", ru="**всего**"), len(next(iter(results.values()))), *(f"**{n}**" for n in totals)])
    return table([tr(en="failed cases", ru="проваленные случаи"), "n", *(f"`{design}`" for design in results)], rows)


def picture(results: Results) -> Figure:
    """The battery as a map: a column a case, a row a design, colour and sign say what happened."""
    listed = [one for one in cases() if one.name in next(iter(results.values()))]
    figure = Figure(figsize=(13, 4.1), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for y, verdict in enumerate(results.values()):
        for x, one in enumerate(listed):
            color, sign = LOOKS[verdict[one.name]]
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=color, edgecolor="white", linewidth=0.8))
            axes.text(x + 0.5, y + 0.5, sign, ha="center", va="center", fontsize=9)
    groups = [one.kind for one in listed]
    for kind, title in kinds().items():
        if kind in groups:
            start, size = groups.index(kind), groups.count(kind)
            axes.axvline(start, color="black", linewidth=1)
            axes.text(start + size / 2, -0.15, fill(title, 13), ha="center", va="bottom", fontsize=9)
    axes.set(xlim=(0, len(listed)), ylim=(len(results), 0), yticks=[y + 0.5 for y in range(len(results))], xticks=[])
    axes.set_yticklabels(list(results), fontsize=10, family="DejaVu Sans Mono")
    axes.tick_params(length=0)
    handles = [Rectangle((0, 0), 1, 1, facecolor=LOOKS[key][0], edgecolor="#666666") for key in LOOKS]
    figure.legend(handles, [f"{LOOKS[key][1]}  {title}" for key, title in verdicts().items()], loc="outside lower center",
                  ncols=4, frameon=False)
    return figure
