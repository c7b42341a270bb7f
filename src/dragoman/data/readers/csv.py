"""Reader of CSV files, with an optional header row that names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import LIMIT, MOST_BETWEEN, Lines, read_lines
from dragoman.errors import DataError
from dragoman.text.languages import Languages, columns_of, is_heading, language_error

DELIMITERS = ",;\t|"


def read_csv(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs. Without a header row, there must be two columns: source and target."""
    columns: tuple[int, int] | None = None
    with closing(read_lines(file)) as lines:
        for line, row in rows(file, lines, on_bad):
            if columns is None:
                is_named = is_heading(row, languages)
                if languages and not is_named:
                    raise language_error(file, row, languages)
                columns = columns_of(file, row, languages) if is_named else (0, 1)
                width = len(row) if is_named else 2
                if is_named:
                    on_bad(bad_line("heading", file, line, "This row names the columns.", hint=""))
                    continue
            if len(row) != width:
                on_bad(wrong_width(file, line, len(row), width))
            else:
                yield Pair(row[columns[0]], row[columns[1]], line)


def rows(file: Path, lines: Lines, on_bad: OnBad) -> Iterator[tuple[int, list[str]]]:
    """Yield each non-empty row with the number of its first line."""
    # Lines read, first line of the row, characters of the row, consecutive empty rows.
    number = begin = size = empty = 0

    def readable() -> Iterator[str]:
        nonlocal number, size
        for line in lines:
            number += 1
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            size += len(line)
            if size > LIMIT or number - begin > MOST_BETWEEN:
                raise csv.Error("a row does not end")
            yield line + "\n"

    texts = readable()
    try:
        first = next(texts, "")
        begin = number
        for row in csv.reader(chain([first], texts), delimiter=max(DELIMITERS, key=first.count)):
            empty = 0 if row else empty + 1
            if empty > MOST_BETWEEN:
                raise csv.Error(f"more than {MOST_BETWEEN:,} lines are empty")
            if row:
                yield begin, row
            begin, size = number + 1, 0
    except csv.Error as error:
        raise DataError(
            f"This CSV cannot be read: {error}.",
            where=f"{file}:{begin}",
            expected="a closing quote for every opening quote",
            hint=f"Check the quotes from this line on: sed -n {begin},{begin + 5}p {file}",
        ) from None


def wrong_width(file: Path, line: int, found: int, width: int) -> BadLine:
    return bad_line(
        "columns",
        file,
        line,
        f"This row has {found} column{'' if found == 1 else 's'}, not {width}.",
        expected="as many as the first row"
        if width != 2
        else "source and target, or a header row that names them",
        hint="Quote cells that contain commas or line breaks. If the first row names the columns: "
        "--languages SOURCE TARGET, with two of its names",
    )
