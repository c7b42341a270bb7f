"""Terminal input and output: sanitised text, terminal detection, and the countdown before training.

Texts, paths and model outputs may contain sequences that a terminal would interpret. Everything that a
command writes goes through this module.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from dragoman.cli.wrapping import shortened, wrapped

STDIN, STDOUT, STDERR = 0, 1, 2
SECONDS = 10
USUAL_COLUMNS = 80
REFUSALS = {"q", "Q", "n", "N", "\x1b", "\x04"}
MARK = "\N{REPLACEMENT CHARACTER}"
# Control characters except newline and tab, bidirectional controls, and bytes that are not text (surrogates).
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


# What a line of ours begins with, and the bar of a probability.
FAULT, DOUBT = re.compile(r"\A( *)(✗ )"), re.compile(r"\A( *)(! )")
BAR = re.compile(r"(█+)(?=░* +(\d+) %)")
BOLD, RED, YELLOW, GREEN, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"
SURE, UNSURE = 80, 40  # per cent


def harmless(text: str) -> str:
    """Replace the characters that a terminal would interpret; newlines and tabs stay."""
    return CONTROLS.sub(MARK, text)


def printable(text: str) -> str:
    """Replace newlines and tabs as well, so that a name with a newline stays in one line."""
    return (
        harmless(text).replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\t", "\N{REPLACEMENT CHARACTER}")
    )


def say(line: str) -> None:
    """Write a line of a report to stdout."""
    sys.stdout.write(shown(printable(line), sys.stdout, STDOUT) + "\n")


def say_marked(parts: Iterable[tuple[str, bool]], otherwise: tuple[str, str] = ("[", "]")) -> None:
    """Write a line of a report with marked parts: in bold in a terminal, otherwise in brackets."""
    texts = [(printable(text), is_marked) for text, is_marked in parts]
    if has_colours(sys.stdout):
        line = wrapped("".join(text for text, _ in texts), columns(STDOUT))
        marks = (is_marked for text, is_marked in texts for character in text if not character.isspace())
        sys.stdout.write(in_bold(line, marks) + "\n")
    else:
        before, after = otherwise
        line = "".join(f"{before}{text}{after}" if is_marked else text for text, is_marked in texts)
        sys.stdout.write(shown(line, sys.stdout, STDOUT) + "\n")


def in_bold(line: str, marks: Iterator[bool]) -> str:
    """Set the marked characters in bold; there is a mark for each that is not a space."""
    found, before = "", False
    for character in line:
        is_marked = before if character.isspace() else next(marks)
        found += (BOLD if is_marked else PLAIN) * (is_marked != before) + character
        before = is_marked
    return found + PLAIN * before


def talk(line: str) -> None:
    """Write a message to stderr, apart from the result, which does not depend on who reads messages."""
    with suppress(BrokenPipeError):
        sys.stderr.write(shown(printable(line), sys.stderr, STDERR) + "\n")


def shown(line: str, out: TextIO, file: int) -> str:
    """Wrap and colour a line for a terminal; leave it as it is for a file or a pipe."""
    if not out.isatty():
        return line
    fitting = wrapped(line, columns(file))
    return coloured(fitting) if has_colours(out) else fitting


def has_colours(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour what a line means: a fault, a doubt, or how sure a model is."""

    def by_share(bar: re.Match[str]) -> str:
        share = int(bar[2])
        return f"{GREEN if share >= SURE else YELLOW if share >= UNSURE else RED}{bar[1]}{PLAIN}"

    marked = FAULT.sub(rf"\1{RED}\2{PLAIN}", text)
    return BAR.sub(by_share, DOUBT.sub(rf"\1{YELLOW}\2{PLAIN}", marked))


def give(text: str, out: TextIO | None = None) -> None:
    """Write a result; to a file or a pipe, byte for byte."""
    out = out or sys.stdout
    out.write(harmless(text) if out.isatty() else text)


def typed(verb: str, without: tuple[str, ...] = ()) -> str:
    """Return the command line, quoted for a shell; "" if this process was not started by one."""
    words = [word for word in sys.argv[1:] if word not in without]
    is_ours = [word for word in words if word != "--debug"][:1] == [verb]
    return shlex.join(["dragoman", *words]) if is_ours else ""


class LiveLine:
    """A line on stderr that is updated in place and removed at the end; only shown in a terminal.

    `hidden` suppresses it, for results that are written to the same terminal.
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
        self._write(shortened(printable(text), columns() - 1))

    def _write(self, text: str) -> None:
        if self.is_seen:
            with suppress(OSError):  # a closed terminal is no reason to stop
                sys.stderr.write(f"\r\x1b[K{text}")
                sys.stderr.flush()


def columns(file: int = STDERR) -> int:
    """Return the width of the terminal; 80 if unknown."""
    with suppress(OSError):
        return os.get_terminal_size(file).columns or USUAL_COLUMNS
    return USUAL_COLUMNS


def is_watched() -> bool:
    """Return whether stderr is a foreground terminal on which lines can be updated in place."""
    return os.environ.get("TERM", "dumb") != "dumb" and is_ours(STDERR)


def can_answer() -> bool:
    return is_ours(STDERR) and is_ours(STDIN)


def is_ours(file: int) -> bool:
    """Return whether `file` is a terminal with this process in the foreground.

    The system stops a background job that reads from its terminal or changes it.
    """
    try:
        return os.isatty(file) and os.tcgetpgrp(file) == os.getpgrp()
    except OSError:  # not the controlling terminal
        return False


def countdown(seconds: int = SECONDS) -> bool:
    """Return True at the end or on Enter, False on q. Ctrl-C raises KeyboardInterrupt as usual."""
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
