"""The person at the terminal: what may be sent there, whether there is one, and a last moment to say no.

Texts, paths and words of a model may hold sequences that a terminal would obey. All that a command writes
goes through here.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from dragoman.cli.wrapping import wrapped

STDIN, STDOUT, STDERR = 0, 1, 2
SECONDS = 10
USUAL_COLUMNS = 80
REFUSALS = {"q", "Q", "n", "N", "\x1b", "\x04"}
MARK = "\N{REPLACEMENT CHARACTER}"
# Controls, what turns the direction of writing, and bytes that are no text; not the newline and the tab.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """Text of any number of lines, without what a terminal would obey."""
    return OBEYED.sub(MARK, text)


def printable(text: str) -> str:
    """A part of a line: no newline in a name may begin another."""
    return (
        harmless(text).replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\t", "\N{REPLACEMENT CHARACTER}")
    )


def say(line: str) -> None:
    """A line of a report."""
    sys.stdout.write(fitting(printable(line), sys.stdout, STDOUT) + "\n")


def say_marked(parts: Iterable[tuple[str, bool]]) -> None:
    """A line of a report, some parts of which stand out: in bold in a terminal, and else in brackets."""
    is_bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    before, after = ("\x1b[1m", "\x1b[0m") if is_bold else ("[", "]")
    shown = (
        f"{before}{printable(text)}{after}" if is_marked else printable(text) for text, is_marked in parts
    )
    sys.stdout.write("".join(shown) + "\n")


def talk(line: str) -> None:
    """A line beside the result."""
    sys.stderr.write(fitting(printable(line), sys.stderr, STDERR) + "\n")


def fitting(line: str, out: TextIO, file: int) -> str:
    """Broken between words for a terminal; whole for who reads it by a program."""
    return wrapped(line, columns(file)) if out.isatty() else line


def give(text: str, out: TextIO | None = None) -> None:
    """A result: to a file or a pipe it goes byte for byte."""
    out = out or sys.stdout
    out.write(harmless(text) if out.isatty() else text)


class LiveLine:
    """A line on stderr that changes in place and is gone at the end; nothing where nobody would see it.

    `hidden` where results are written to the same terminal.
    """

    def __init__(self, *, hidden: bool = False) -> None:
        self.is_seen = is_watched() and not hidden

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")

    def show(self, text: str) -> None:
        self._write(printable(text)[: columns() - 1])

    def _write(self, text: str) -> None:
        if self.is_seen:
            with suppress(OSError):  # a closed terminal is no reason to stop
                sys.stderr.write(f"\r\x1b[K{text}")
                sys.stderr.flush()


def columns(file: int = STDERR) -> int:
    """Of the terminal there; 80 where it does not know."""
    with suppress(OSError):
        return os.get_terminal_size(file).columns or USUAL_COLUMNS
    return USUAL_COLUMNS


def is_watched() -> bool:
    """Whether a picture that changes in place can be seen: not in a file, not from the background."""
    return os.environ.get("TERM", "dumb") != "dumb" and is_ours(STDERR)


def can_answer() -> bool:
    return is_ours(STDERR) and is_ours(STDIN)


def is_ours(file: int) -> bool:
    """A job in the background that reads from its terminal, or changes it, is stopped by the system."""
    try:
        return os.isatty(file) and os.tcgetpgrp(file) == os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return False


def countdown(seconds: int = SECONDS) -> bool:
    """True at the end or at Enter, False at q. Ctrl-C raises KeyboardInterrupt, as ever."""
    import termios
    import tty

    before = termios.tcgetattr(STDIN)
    end = time.monotonic() + seconds
    try:
        tty.setcbreak(STDIN, termios.TCSADRAIN)
        while (left := end - time.monotonic()) > 0:
            sys.stderr.write(f"\r\x1b[KStarts in {left:.0f} s. Enter = now · q = stop")
            sys.stderr.flush()
            if select.select([STDIN], [], [], min(left, 1.0))[0]:
                key = os.read(STDIN, 1).decode(errors="replace")
                if key in ("\r", "\n", ""):
                    return True
                if key in REFUSALS:
                    return False
        return True
    finally:
        termios.tcsetattr(STDIN, termios.TCSADRAIN, before)
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
