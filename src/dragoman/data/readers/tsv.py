"""Reader of TSV: two columns separated by a tab. Quotes are literal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import read_lines
from dragoman.text.languages import Languages, columns_of, is_heading, language_error


def read_tsv(
    file: Path, on_bad: OnBad, languages: Languages | None = None, *, extra_columns: bool = False
) -> Iterator[Pair]:
    """Yield pairs. The first row may be a header, with two or more columns.

    With `extra_columns`, columns after the second are ignored instead of refused.
    """
    src, tgt, width = 0, 1, 2
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            columns = line.split("\t")
            if number == 1 and is_heading(columns, languages):
                (src, tgt), width = columns_of(file, columns, languages), len(columns)
                on_bad(bad_line("heading", file, number, "This row names the columns.", hint=""))
            elif number == 1 and languages:
                raise language_error(file, columns, languages)
            elif len(columns) == width or (extra_columns and len(columns) > width):
                yield Pair(columns[src], columns[tgt], number)
            else:
                on_bad(wrong_columns(file, number, len(columns)))


def wrong_columns(file: Path, line: int, found: int) -> BadLine:
    return bad_line(
        "columns",
        file,
        line,
        f"This line has {found} column{'' if found == 1 else 's'}.",
        expected="2 columns, source and target, separated by a tab",
        hint="Put a tab between source and target." if found == 1 else f"cut -f1,2 {file} > two-columns.tsv",
    )
