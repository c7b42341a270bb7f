"""Lines to translate, read from a byte stream. Only "\\n" ends a line; a "\\r" before it is dropped."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, NamedTuple

from dragoman.errors import DataError

BLOCK = 1 << 16  # bytes per read: about a thousand sentences
LONGEST_LINE = 1 << 20  # bytes


class InputLine(NamedTuple):
    text: str
    end: str  # "\\n", or "" if the last line has none


def read_batches(source: BufferedReader[Any], name: str) -> Iterator[list[InputLine]]:
    """Yield the lines of each read, so that typed lines are translated before more input arrives."""
    pending, number, is_start = b"", 0, True
    while block := source.read1(BLOCK):
        if is_start:
            block, is_start = block.removeprefix(codecs.BOM_UTF8), False
        *whole, pending = (pending + block).split(b"\n")
        yield from decoded(whole, "\n", name, number)
        number += len(whole)
        if len(pending) > LONGEST_LINE:
            raise overlong(name, number + 1)
    if pending:
        yield from decoded([pending], "", name, number)


def decoded(raw: list[bytes], end: str, name: str, before: int) -> Iterator[list[InputLine]]:
    """Yield the decoded lines; those before a line that is not UTF-8 come before the error."""
    lines: list[InputLine] = []
    for number, line in enumerate(raw, start=before + 1):
        try:
            lines.append(InputLine(line.removesuffix(b"\r").decode(), end))
        except UnicodeDecodeError as error:
            yield lines
            raise undecodable(name, number, error) from None
    yield lines


def undecodable(name: str, line: int, error: UnicodeDecodeError) -> DataError:
    column = len(error.object[: error.start].decode()) + 1
    shown = error.object[error.start : max(error.end, error.start + 1)][:4].hex(" ")
    return DataError(
        f"This is not UTF-8: {shown} ({error.reason}).",
        where=f"{name}:{line}:{column}",
        expected="UTF-8",
        hint="If it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE | dragoman run MODEL",
    )


def overlong(name: str, line: int) -> DataError:
    return DataError(
        f"This line is longer than {LONGEST_LINE:,} bytes.",
        where=f"{name}:{line}",
        expected="one sentence or paragraph per line",
        hint="Split it at sentence ends.",
    )
