"""One file, two columns with one tab between them. No quoting: a quote is a quote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import read_lines


def read_tsv(file: Path, on_bad: OnBad, *, extra_columns: bool = False) -> Iterator[Pair]:
    """With `extra_columns`, what follows a second tab is left out instead of refused."""
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            columns = line.split("\t")
            if len(columns) == 2 or (extra_columns and len(columns) > 2):
                yield Pair(columns[0], columns[1], number)
            else:
                on_bad(wrong_columns(file, number, len(columns)))


def wrong_columns(file: Path, line: int, found: int) -> BadLine:
    return bad_line(
        "columns",
        file,
        line,
        f"This line has {found} column{'' if found == 1 else 's'}.",
        expected="2 columns, source and target, with one tab between them",
        hint="Put one tab between the two." if found == 1 else f"cut -f1,2 {file} > two-columns.tsv",
    )
