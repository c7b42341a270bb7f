"""A line that cannot be a training example, and what readers do with one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.errors import DataError

Kind = Literal[
    "encoding", "too long", "columns", "json", "po", "untranslated", "unfinished", "fuzzy", "heading"
]
# Left out by every reader, and no fault of the file.
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
    """Passes bad lines over and counts each once, however often its file is read.

    A strict one raises what is a fault of the file. `passed` counts the others by their kind.
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
    """What a reader does with a bad line when nobody asked to go on."""
    if bad.kind not in PASSED_OVER:
        raise bad.error
