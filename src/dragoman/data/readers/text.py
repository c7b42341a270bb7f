"""One text file, for models of a language itself: each line is an example of its own, without a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad
from dragoman.data.readers.lines import WHOLE, Span, read_lines


def read_text(file: Path, on_bad: OnBad, span: Span = WHOLE) -> Iterator[Pair]:
    """Yield each line as both sides of a pair, so that all rules about pairs apply to it.

    Only the target is stored: see `LineFilter` and `BlockCutter`.
    """
    with closing(read_lines(file, span)) as lines:
        for number, line in enumerate(lines, start=span.before + 1):
            if isinstance(line, BadLine):
                on_bad(line)
            else:
                yield Pair(line, line, number)
