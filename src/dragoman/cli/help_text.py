"""The help of the command and of its verbs, laid out for the width of the terminal."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from dragoman.cli.options.overrides import SETTABLE
from dragoman.cli.wrapping import TIED, broken, filled

WIDEST = 100  # columns: longer lines are hard to read
GAP = 3  # columns between a command and what it is for
LEAST = 26  # columns for what a command is for, next to it


def width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def laid_out(text: str, columns: int) -> str:
    """Lay out paragraphs and, indented by two spaces, commands with what they are for behind them."""
    lines: list[str] = []
    for is_row, block in groupby(
        text.strip("\n").split("\n"), lambda line: line.startswith("  ") if line else None
    ):
        match is_row:
            case None:
                lines += block
            case True:
                lines += rows(block, columns)
            case False:
                lines += filled(" ".join(block), columns)
    return "\n".join(lines)


def rows(lines: Iterable[str], columns: int) -> Iterator[str]:
    """Align what commands are for, to the right of them or below those that are too long."""
    split = [re.split(" {2,}", line.strip(), maxsplit=1) for line in lines]
    least = min(LEAST, max((len(purpose) for _, *rest in split for purpose in rest), default=0))
    longest = columns - 2 - GAP - least
    beside = [len(command) for command, *purpose in split if purpose and len(command) <= longest]
    column = 2 + max(beside, default=1) + GAP
    for command, *purpose in split:
        *parts, last = [f"  {part}" for part in broken(command, columns - 2)]
        yield from parts
        shown = filled("".join(purpose), columns - column)
        if shown and len(last) + GAP <= column:
            last = f"{last:<{column}}{shown.pop(0)}"
        yield last
        yield from (" " * column + line for line in shown)


class Layout(argparse.HelpFormatter):
    """Breaks no word, and shows a usage of one line: the options are listed below it."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, max_help_position=26, width=width(), **more)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return laid_out(text, width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return filled(text, width)

    def _format_usage(
        self, usage: str | None, actions: Iterable[argparse.Action], groups: Iterable[Any], prefix: str | None
    ) -> str:
        if usage is not None:  # from `parse_intermixed_args`, which hides the positionals
            return f"usage: {usage.strip()}\n\n"
        every = list(actions)
        needed = [
            f"{one.option_strings[0]} {self._format_args(one, one.dest)}"
            for one in every
            if one.required and one.option_strings
        ]
        given = [self._format_args(one, one.dest) for one in every if not one.option_strings]
        verb = self._prog.rpartition(" ")[2]
        settings = [f"[{SETTABLE[verb] or 'section.'}key=value ...]"] if verb in SETTABLE else []
        parts = [part.replace(" ", TIED) for part in (self._prog, *given, *needed, "[options]", *settings)]
        start = "usage: " if prefix is None else prefix
        indent = " " * (len(start) + len(self._prog) + 1)
        return "\n".join(filled(start + " ".join(parts), self._width, indent)) + "\n\n"

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == "+" and isinstance(action.metavar, str) and " " in action.metavar:
            first, rest = action.metavar.split(" ")
            return f"{first} [{rest} ...]"
        return super()._format_args(action, default_metavar)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Name what an option takes once, as later versions of Python do."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        taken = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {taken}"
