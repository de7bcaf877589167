"""Command lines that speak the learner's language: one sentence and exit code 2 where a call cannot work."""
import argparse
import io
import os
import re
import sys
from typing import NoReturn

from lib.i18n import tr


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence, in Russian too, without the usage lines before it."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=_Help, add_help=False, **options)
        self._optionals.title = tr(en="options", ru="параметры")
        self._positionals.title = tr(en="arguments", ru="аргументы")
        self.add_argument("-h", "--help", action="help", help=tr(en="show this text", ru="показать эту справку"))

    def error(self, message: str) -> NoReturn:
        self.exit(2, tr(en=message, ru=_russian(message)) + "\n")


class _Help(argparse.HelpFormatter):
    """Names the default of every option that takes a value and has one."""

    def _get_help_string(self, action):
        if action.nargs == 0 or action.default in (None, "", argparse.SUPPRESS) or action.default == []:
            return action.help
        return action.help + tr(en=" (default: %(default)s)", ru=" (по умолчанию: %(default)s)")

    def add_usage(self, usage, actions, groups, prefix=None):
        super().add_usage(usage, actions, groups, prefix or tr(en="usage: ", ru="запуск: "))


def at_least(name: str, value: int, least: int) -> None:
    """Raises ValueError where an option's value is smaller."""
    if value < least:
        raise ValueError(tr(en=f"{name} {value}: at least {least} is needed", ru=f"{name} {value}: нужно не меньше {least}"))


def _russian(message: str) -> str:
    """argparse's own sentences; what the course's checks say is Russian already and passes through."""
    for english, russian in (
        (r"^argument (.+?): ", r"параметр \1: "),
        (r"invalid int value: ", "нужно целое число, получено "),
        (r"invalid float value: ", "нужно число, получено "),
        (r"invalid choice: (.+) \(choose from (.+)\)", r"\1 не подходит, выберите из \2"),
        (r"expected (one|at least one) argument", "нужно значение"),
        (r"unrecognized arguments: ", "нет таких параметров: "),
        (r"the following arguments are required: ", "не хватает параметров: "),
    ):
        message = re.sub(english, russian, message)
    return message


def main(command) -> NoReturn:
    """Runs a command that returns its exit code (None is 0); a ValueError or OSError is one sentence and exit code 2.

    Ctrl-C is exit code 130 without a traceback, a reader who hangs up (`| head`) no error at all.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")   # a code page without '×' shows '?', and the run goes on
    try:
        sys.exit(command())
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())   # so that closing it at exit does not fail again
        sys.exit(0)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
