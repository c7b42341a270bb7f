"""Lines that cannot be training examples, and how readers handle them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.errors import DataError

Kind = Literal[
    "encoding",
    "too long",
    "columns",
    "json",
    "po",
    "signal",
    "frames",
    "untranslated",
    "unfinished",
    "fuzzy",
    "heading",
]
# Left out by every reader; these are not faults of the file.
PASSED_OVER = frozenset({"untranslated", "unfinished", "fuzzy", "heading"})


class BadLine(NamedTuple):
    kind: Kind
    file: str
    line: int
    error: DataError


OnBad = Callable[[BadLine], None]


def bad_line(
    kind: Kind, file: Path, line: int, what: str, *, hint: str, column: int = 0, expected: str = ""
) -> BadLine:
    where = f"{file}:{line}:{column}" if column else f"{file}:{line}"
    return BadLine(kind, str(file), line, DataError(what, where=where, expected=expected, hint=hint))


class Skipped:
    """Skips bad lines and counts each once, however often its file is read.

    If strict, faults of the file are raised instead. `passed` counts lines that are not faults, by kind.
    """

    def __init__(self, *, is_strict: bool = False) -> None:
        self.is_strict = is_strict
        self.count = 0
        self.first = ""
        self.passed = Counter[str]()
        self._read: dict[str, int] = {}  # the last bad line of each file

    def __call__(self, bad: BadLine) -> None:
        if self.is_strict:
            refuse(bad)
        if bad.line <= self._read.get(bad.file, 0):
            return
        self._read[bad.file] = bad.line
        if bad.kind in PASSED_OVER:
            self.passed[bad.kind] += 1
            return
        self.count += 1
        self.first = self.first or f"{bad.file}:{bad.line}"


def refuse(bad: BadLine) -> None:
    """Raise the error of a bad line, unless it is not a fault. The default of readers."""
    if bad.kind not in PASSED_OVER:
        raise bad.error
