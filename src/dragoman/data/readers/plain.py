"""Two aligned text files: line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import BadLine, OnBad
from dragoman.data.readers.lines import read_lines
from dragoman.errors import DataError


def read_plain(src: Path, tgt: Path, on_bad: OnBad) -> Iterator[Pair]:
    """Unequal counts always raise, at the end: which pairs are wrong is not known line by line."""
    sides = zip_longest(read_lines(src), read_lines(tgt))
    for line, (source, target) in enumerate(sides, start=1):
        if isinstance(source, str) and isinstance(target, str):
            yield Pair(source, target, line)
            continue
        if source is None or target is None:
            more = line + sum(1 for _ in sides)
            raise unequal(src, tgt, *((line - 1, more) if source is None else (more, line - 1)))
        for bad in (source, target):
            if isinstance(bad, BadLine):
                on_bad(bad)


def unequal(src: Path, tgt: Path, src_count: int, tgt_count: int) -> DataError:
    return DataError(
        "The two files do not have the same number of lines.",
        where=f"{src} {src_count:,}   {tgt} {tgt_count:,}",
        expected="line n of one file is the translation of line n of the other",
        hint=f"dragoman check {src} {tgt} says where they drift apart; add or take out a line there.",
    )
