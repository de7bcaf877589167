"""Replies with their right verdicts, to test a reward with before any model trains on it.

    for case in cases():
        verdict = compute_score("countdown", case.reply, {"nums": case.nums, "target": case.target})

The verdicts are written by hand, from the rule and not from the code that applies it.
"""
from typing import NamedTuple

from lib.i18n import tr

THOUGHT = "3*7=21, 21+10=31"


class Case(NamedTuple):
    """A reply, what is right to say of it, and what it is there for."""

    name: str
    kind: str                 # a key of kinds()
    reply: str | list | dict | None
    form: bool                # has it the form
    right: bool               # is its final answer right
    why: str
    nums: list = [3, 7, 10]   # noqa: RUF012 - nobody changes it
    target: int | float = 31


def kinds() -> dict[str, str]:
    """The kinds of cases, and what a reward that fails them gets wrong."""
    return {
        "honest": tr(en="honest solutions", ru="честные решения"),
        "wrong": tr(en="honest mistakes", ru="честные ошибки"),
        "form": tr(en="tags and their order", ru="теги и их порядок"),
        "choice": tr(en="which answer counts", ru="какой ответ считается"),
        "number": tr(en="numbers in disguise", ru="числа под масками"),
        "syntax": tr(en="more than + − × ÷", ru="больше, чем + − × ÷"),
        "code": tr(en="code instead of arithmetic", ru="код вместо арифметики"),
        "size": tr(en="crashes, hangs and sizes", ru="падения, зависания и размеры"),
        "shape": tr(en="chats and other shapes", ru="чаты и прочие формы ответа"),
    }


def cases() -> list[Case]:
    """All cases, kind after kind, in the learner's language."""
    return [*_honest(), *_wrong(), *_form(), *_choice(), *_number(), *_syntax(), *_code(), *_size(), *_shape()]


def case(name: str) -> Case:
    """One case by its name. Raises KeyError."""
    return {case.name: case for case in cases()}[name]


def with_form(expr: str) -> str:
    """An expression as a reply of perfect form."""
    return f"<think>{THOUGHT}</think><answer>{expr}</answer>"


def _expr(name: str, kind: str, expr: str, right: bool, why: str, *task) -> Case:
    return Case(name, kind, with_form(expr), True, right, why, *task)


def _honest():
    return [
        _expr("plain", "honest", "3*7+10", True, tr(en="a right answer", ru="верный ответ")),
        _expr("any order", "honest", "10+7*3", True, tr(en="the numbers in another order", ru="числа в другом порядке")),
        _expr("spaces", "honest", " 3 * 7\t+\n10 ", True, tr(en="white space between tokens", ru="пробелы между токенами")),
        _expr("parentheses", "honest", "((3)*((7)))+(10)", True, tr(en="redundant parentheses", ru="лишние скобки")),
        _expr("division", "honest", "10/(7-2)", True, tr(en="exact division", ru="деление нацело"), [10, 7, 2], 2),
        _expr("thirds", "honest", "8/(3-8/3)", True, tr(en="fractions on the way to 24", ru="дроби по дороге к 24"),
              [8, 8, 3, 3], 24),
        _expr("sign first", "honest", "-7+3*10", True, tr(en="a sign at the start", ru="знак в начале"), [7, 3, 10], 23),
        _expr("sign inside", "honest", "10-(-3*7)", True, tr(en="a sign after a parenthesis", ru="знак после скобки")),
        _expr("single", "honest", "7", True, tr(en="one number, no operator", ru="одно число без знаков"), [7], 7),
        _expr("zero", "honest", "0*7+3", True, tr(en="zero is a number like others", ru="ноль — число как число"),
              [0, 7, 3], 3),
        _expr("half", "honest", "7/2", True, tr(en="a target that is a fraction", ru="дробная цель"), [7, 2], 3.5),
    ]


def _wrong():
    return [
        _expr("value", "wrong", "3*7-10", False, tr(en="the value is 11", ru="значение 11")),
        _expr("missing", "wrong", "3*7", False, tr(en="10 is not used", ru="10 не использовано"), [3, 7, 10], 21),
        _expr("twice", "wrong", "3*7+7+3", False, tr(en="numbers used twice", ru="числа использованы дважды")),
        _expr("all and twice", "wrong", "3*7+10+3-3", False, tr(en="all used, and one again", ru="все и одно ещё раз")),
        _expr("extra", "wrong", "7*3+10+0", False, tr(en="a zero that nobody gave", ru="ноль, которого не давали")),
        _expr("glued", "wrong", "10*3+7", False, tr(en="1 and 0 glued into 10", ru="1 и 0 склеены в 10"), [1, 0, 3, 7], 37),
        _expr("target", "wrong", "31", False, tr(en="the target itself", ru="сама цель вместо решения")),
        _expr("words", "wrong", "three times seven plus ten", False, tr(en="no expression", ru="не выражение")),
        _expr("nearly", "wrong", "10/3", False, tr(en="3.33 is not 3", ru="3.33 — это не 3"), [10, 3], 3),
        _expr("by zero", "wrong", "10/(7-7)+3", False, tr(en="division by zero", ru="деление на ноль"), [10, 7, 7, 3], 3),
        _expr("zero by zero", "wrong", "0/0+5", False, tr(en="0/0 has no value", ru="у 0/0 нет значения"), [0, 0, 5], 5),
        _expr("dangling", "wrong", "3*7+10*", False, tr(en="an operator at the end", ru="знак в конце")),
        _expr("unclosed", "wrong", "(3*7+10", False, tr(en="a parenthesis is open", ru="скобка не закрыта")),
        _expr("closed twice", "wrong", "3*7)+10", False, tr(en="a parenthesis too many", ru="лишняя скобка")),
    ]


def _form():
    right = "<answer>3*7+10</answer>"
    return [
        Case("bare", "form", "3*7+10", False, False, tr(en="no tags", ru="тегов нет")),
        Case("no thought", "form", right, False, True, tr(en="right, but not reasoned", ru="верно, но без рассуждения")),
        Case("no answer", "form", "<think>3*7=21</think>", False, False, tr(en="no answer", ru="ответа нет")),
        Case("cut off", "form", "<think>3*7=21</think><answer>3*7+10", False, False,
             tr(en="the length limit cut it", ru="обрезано лимитом длины")),
        Case("empty", "form", "<think></think><answer></answer>", False, False, tr(en="empty tags", ru="пустые теги")),
        Case("blank", "form", "<think> \n </think><answer>3*7+10</answer>", False, True,
             tr(en="white space for a thought", ru="вместо рассуждения пробелы")),
        Case("blank answer", "form", "<think>x</think><answer> </answer>", False, False,
             tr(en="white space for an answer", ru="вместо ответа пробелы")),
        Case("invisible", "form", f"<think>\xa0\u3000</think>{right}", False, True,
             tr(en="spaces that are not ASCII", ru="пробелы не из ASCII")),
        Case("preface", "form", f"Sure! <think>3*7=21</think>{right}", False, True,
             tr(en="text before", ru="текст перед блоками")),
        Case("postscript", "form", f"<think>3*7=21</think>{right}\nHuman: the next task", False, True,
             tr(en="text after", ru="текст после блоков")),
        Case("two thoughts", "form", f"<think>a</think><think>b</think>{right}", False, True,
             tr(en="a lazy .*? stretches over both", ru="ленивое .*? накрывает оба блока")),
        Case("nested", "form", f"<think>a <think> b</think>{right}", False, True,
             tr(en="an opening tag inside", ru="открывающий тег внутри")),
        Case("reversed", "form", f"{right}<think>3*7=21</think>", False, False,
             tr(en="the answer before the thought", ru="ответ раньше рассуждения")),
        Case("crossed", "form", "<think>3*7<answer>=21</think>3*7+10</answer>", False, False,
             tr(en="all four tags once, crossed", ru="все четыре тега по разу, но крест-накрест")),
        Case("sprayed", "form", "<answer></think><think></answer>", False, False,
             tr(en="all four tags, nothing else", ru="все четыре тега и больше ничего")),
        Case("no-break space", "form", f"<think>3*7=21</think>\xa0{right}", False, True,
             tr(en=r"\s matches it, ASCII white space does not", ru=r"\s его принимает, а в ASCII его нет")),
        Case("lines", "form", f"\n<think>3<7\n21+10</think>\n\n{right}\n", True, True,
             tr(en="white space around, < inside", ru="пробелы вокруг, внутри <")),
        Case("other tag", "form", f"<thinking>x</thinking>{right}", False, True, tr(en="another tag", ru="другой тег")),
        Case("escaped", "form", "&lt;think&gt;x&lt;/think&gt;&lt;answer&gt;3*7+10&lt;/answer&gt;", False, False,
             tr(en="tags as HTML shows them", ru="теги в записи HTML")),
    ]


def _choice():
    return [
        Case("draft", "choice", "<think>maybe <answer>3*7+10</answer></think><answer>3+7+10</answer>", False, False,
             tr(en="right in the draft, wrong in the end", ru="в черновике верно, в итоге нет")),
        Case("list", "choice", "<think>x</think><answer>3*7+10</answer><answer>3+7+10</answer><answer>3*10+7</answer>",
             False, False, tr(en="many answers, the first is right", ru="ответов много, верен первый")),
        Case("correction", "choice", "<think>x</think><answer>3+7+10</answer> no: <answer>3*7+10</answer>", False, True,
             tr(en="the last answer counts", ru="считается последний ответ")),
        Case("echo", "choice",
             "First <think> </think>, then <answer> </answer>. <think>3*7=21</think><answer>3*7+10</answer>", False, True,
             tr(en="the prompt repeated, then a solution", ru="повторён промпт, потом решение")),
        Case("open thought", "choice", "<think>3*7=21 <answer>3*7+10</answer>", False, True,
             tr(en="the thought was never closed", ru="рассуждение не закрыто")),
        Case("prefilled", "choice", "3*7=21</think>\n<answer>3*7+10</answer>", False, True,
             tr(en="<think> stood in the prompt", ru="<think> стоял в промпте")),
        Case("closed again", "choice", "<think>x</think><answer>3*7+10</answer></think>", False, False,
             tr(en="the last </think> ends the draft", ru="черновик кончается последним </think>")),
        Case("second closing", "choice", "<think>x</think><answer>3*7+10</answer></answer>", False, True,
             tr(en="up to the first closing tag", ru="до первого закрывающего тега")),
        Case("opened twice", "choice", "<think>x</think><answer>3+7 <answer>3*7+10</answer>", False, True,
             tr(en="from the last opening tag on", ru="с последнего открывающего тега")),
        Case("opened again", "choice", "<think>x</think><answer>3*7+10</answer><answer>", False, True,
             tr(en="an answer that is not closed is none", ru="незакрытый ответ — не ответ")),
    ]


def _number():
    return [
        _expr("decimal", "number", "1.5*4", False, tr(en="1 and 5 made into 1.5", ru="из 1 и 5 сделано 1.5"), [1, 5, 4], 6),
        _expr("leading dot", "number", ".5*8-3", False, tr(en="a tenth of the 5", ru="десятая часть пятёрки"), [5, 8, 3], 1),
        _expr("exponent", "number", "1e1+3*7", False, tr(en="1e1 is not 10", ru="1e1 — это не 10")),
        _expr("hidden exponents", "number", "3+7+10+1e1+1e0", False,
              tr(en=r"\b\d+\b does not see 1e1", ru=r"\b\d+\b не видит 1e1")),
        _expr("underscore", "number", "1_0+3*7", False, tr(en="Python's 1_0", ru="1_0 из Python")),
        _expr("leading zero", "number", "03*7+10", False, tr(en="03 is not 3", ru="03 — это не 3")),
        _expr("hexadecimal", "number", "0xA+3*7", False, tr(en="0xA is 10 in Python", ru="0xA в Python — это 10")),
        _expr("full width", "number", "３*７+１０", False, tr(en="int() reads these digits", ru="эти цифры читает int()")),
        _expr("Arabic digits", "number", "٣*٧+١٠", False, tr(en=r"digits that \d matches", ru=r"цифры, подходящие под \d")),
        _expr("circled", "number", "③*⑦+⑩", False, tr(en="isdigit, but int() raises", ru="isdigit да, а int() падает")),
        _expr("tolerance", "number", "31+1/(400*401)", False, tr(en="0.000006 too much", ru="лишние 0.000006"),
              [31, 1, 400, 401], 31),
        _expr("float", "number", "9007199254740993-1", False, tr(en="equal only as floats", ru="равны только как float"),
              [9007199254740993, 1], 9007199254740993),
    ]


def _syntax():
    return [
        _expr("floor", "syntax", "7//2+1", False, tr(en="// is not an operator here", ru="// здесь не знак"), [7, 2, 1], 4),
        _expr("power", "syntax", "3**3+4", False, tr(en="a power", ru="степень"), [3, 3, 4], 31),
        _expr("two stars", "syntax", "3**7+10", False, tr(en="** is not *", ru="** — это не *")),
        _expr("caret", "syntax", "3^3+4", False, tr(en="a power in other words", ru="степень по-другому"), [3, 3, 4], 31),
        _expr("modulo", "syntax", "10%7*3", False, tr(en="a remainder", ru="остаток"), [10, 7, 3], 9),
        _expr("double sign", "syntax", "3*7--10", False, tr(en="a sign after an operator", ru="знак после знака")),
        _expr("times minus", "syntax", "10-3*-7", False, tr(en="a sign after an operator", ru="знак после знака")),
        _expr("two pluses", "syntax", "3*7++10", False, tr(en="a sign after an operator", ru="знак после знака")),
        _expr("no operator", "syntax", "3 7+10", False, tr(en="side by side is no product", ru="рядом — не произведение")),
        _expr("side by side", "syntax", "3 7-6", False, tr(en="37 once spaces are dropped", ru="37, если убрать пробелы"),
              [3, 7, 6], 31),
        _expr("call", "syntax", "3(7)+10", False, tr(en="a call in Python", ru="вызов в Python")),
        _expr("equation", "syntax", "3*7+10=31", False, tr(en="not only the expression", ru="не только выражение")),
        _expr("equation and more", "syntax", "3*7+10=banana", False,
              tr(en="what follows = must not be dropped", ru="то, что после =, отбрасывать нельзя")),
        _expr("steps", "syntax", "3*7=21\n21+10=31", False, tr(en="steps, not an expression", ru="шаги, а не выражение")),
        _expr("cross", "syntax", "3×7+10", False, tr(en="× is not *", ru="× — не *")),
        _expr("LaTeX", "syntax", r"\boxed{3*7+10}", False, tr(en="a LaTeX command", ru="команда LaTeX")),
        _expr("bold", "syntax", "**3*7+10**", False, tr(en="bold in Markdown", ru="жирный шрифт Markdown")),
        _expr("quotes", "syntax", "'3*7+10'", False, tr(en="a string, not an expression", ru="строка, а не выражение")),
        _expr("comment", "syntax", "3*7+10 # =31", False, tr(en="a comment", ru="комментарий")),
        _expr("continuation", "syntax", "3*7\\\n+10", False, tr(en="a backslash", ru="обратная косая черта")),
        _expr("NUL", "syntax", "3*7+10\x00", False, tr(en="eval fails on this character", ru="eval на нём падает")),
        _expr("surrogate", "syntax", "3*7+10\ud800", False,
              tr(en="half a character, which no file can hold", ru="половина символа, её не записать в файл")),
    ]


def _code():
    return [
        _expr("write a file", "code", "__import__('pathlib').Path('owned.txt').write_text('I was here') and 31", False,
              tr(en="runs any code at all", ru="выполняет любой код")),
        _expr("way around", "code",
              "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'].pop().__init__"
              ".__globals__['system']('echo I was here > owned.txt') or 3*7+10", False,
              tr(en="runs any code, with no builtins at all", ru="выполняет любой код и без builtins")),
        _expr("lambda", "code", "(lambda:3*7+10)()", False, tr(en="a function", ru="функция")),
        _expr("conditional", "code", "3*7+10if 1else 2", False, tr(en="keywords", ru="ключевые слова"), [3, 7, 10, 1, 2]),
        _expr("walrus", "code", "(x:=3)*7+10", False, tr(en="an assignment", ru="присваивание")),
        _expr("attribute", "code", "(3*7+10).real", False, tr(en="an attribute", ru="атрибут")),
        _expr("exit", "code", "exit()", False, tr(en="ends the trainer", ru="завершает тренер")),
    ]


def _size():
    end = "</answer>"
    return [
        _expr("tower", "size", "9**9**9", False, tr(en="369 693 100 digits", ru="369 693 100 цифр"), [9, 9, 9], 9),
        _expr("206 characters", "size", "(" * 197 + "3(7 10((-", False,
              tr(en="Python's parser runs out of memory", ru="парсеру Python не хватает памяти")),
        _expr("3000 signs", "size", "3*7+" + "-" * 3000 + "10", False,
              tr(en="Python's compiler recurses too deep", ru="компилятор Python уходит в рекурсию")),
        _expr("4301 digits", "size", "9" * 4301, False, tr(en="int() refuses", ru="int() отказывается")),
        _expr("a million digits", "size", "9" * 10**6, False,
              tr(en="int() would take quadratic time", ru="int() считал бы квадратичное время")),
        _expr("3000 parentheses", "size", "(" * 3000 + "3*7+10" + ")" * 3000, True,
              tr(en="right, and deep", ru="верно и глубоко")),
        _expr("1000 numbers", "size", "+".join(["1"] * 1000), True, tr(en="right, and long", ru="верно и длинно"),
              [1] * 1000, 1000),
        Case("long thought", "size", "<think>" + "3*7=21; " * 50_000 + "</think><answer>3*7+10</answer>", True, True,
             tr(en="400 000 characters of reasoning", ru="400 000 символов рассуждения")),
        Case("tag flood", "size", "<think>" + "</think><answer></answer>" * 20_000 + "x", False, False,
             tr(en="quadratic for most regular expressions", ru="квадратично для большинства регулярок")),
        Case("closing flood", "size", "<think>" + "</think><answer>" * 20_000 + end * 20_000 + "x", False, False,
             tr(en="the same, of opening tags", ru="то же с открывающими тегами")),
        Case("half a million spaces", "size", "<think>3*7</think>" + " " * 500_000 + "x<answer>3*7+10</answer>", False, True,
             tr(en=r"\s* starts again at each space", ru=r"\s* начинает заново с каждого пробела")),
    ]


def _shape():
    form = with_form("3*7+10")
    wrong = with_form("3+7+10")
    return [
        Case("chat", "shape", [{"role": "assistant", "content": form}], True, True,
             tr(en="a chat of one message", ru="чат из одного сообщения")),
        Case("last message", "shape", [{"role": "assistant", "content": form}, {"role": "assistant", "content": wrong}],
             True, False, tr(en="the last message counts", ru="считается последнее сообщение")),
        Case("tool's message", "shape", [{"role": "assistant", "content": wrong}, {"role": "tool", "content": form}], True,
             False, tr(en="not the model's own words", ru="это не слова модели")),
        Case("no role", "shape", [{"content": form}], True, True, tr(en="the role is left out", ru="роль не указана")),
        Case("parts", "shape", [{"role": "assistant", "content": [{"type": "text", "text": form[:30]},
                                                                  {"type": "text", "text": form[30:]}]}], True, True,
             tr(en="content in parts", ru="содержимое по частям")),
        Case("no content", "shape", [{"role": "assistant", "tool_calls": []}], False, False,
             tr(en="no text", ru="текста нет")),
        Case("no messages", "shape", [], False, False, tr(en="an empty chat", ru="пустой чат")),
        Case("nothing", "shape", None, False, False, tr(en="no reply at all", ru="ответа нет вовсе")),
        Case("other", "shape", {"text": form}, False, False, tr(en="an unknown shape", ru="неизвестная форма")),
    ]
