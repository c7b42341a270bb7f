"""Reader of two aligned text files: line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

from dragoman.data.clean.drift import Drift, DriftDetector
from dragoman.data.pair import Pair, blocks, quoted
from dragoman.data.readers.bad_line import BadLine, OnBad
from dragoman.data.readers.lines import WHOLE, Span, read_lines
from dragoman.errors import DataError

CHEAP = 1_000_000  # lines that the drift detector reads in seconds


def read_plain(
    src: Path, tgt: Path, on_bad: OnBad, spans: tuple[Span, Span] = (WHOLE, WHOLE)
) -> Iterator[Pair]:
    """Yield pairs. Unequal numbers of lines always raise, at the end: the bad pairs are not known."""
    with closing(read_lines(src, spans[0])) as sources, closing(read_lines(tgt, spans[1])) as targets:
        sides = zip_longest(sources, targets)
        for line, (source, target) in enumerate(sides, start=spans[0].before + 1):
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
    drift = find_drift(src, tgt, tgt_count - src_count) if src_count < CHEAP else None
    about = f"; misaligned from about line {drift.first:,}: {quoted(drift.pair)}" if drift else ""
    return DataError(
        "The two files do not have the same number of lines.",
        where=f"{src} {src_count:,}   {tgt} {tgt_count:,}{about}",
        expected="line n of one file is the translation of line n of the other",
        hint=f"{'Fix the lines there' if drift else 'Align the files'}, then: dragoman check {src} {tgt}",
    )


def find_drift(src: Path, tgt: Path, shift: int) -> Drift | None:
    detector = DriftDetector()
    with closing(read_lines(src)) as sources, closing(read_lines(tgt)) as targets:
        sides = enumerate(zip(sources, targets, strict=False), start=1)
        pairs = (Pair(s, t, n) for n, (s, t) in sides if isinstance(s, str) and isinstance(t, str))
        for block in blocks(pairs):
            detector.add(block)
    return detector.best_guess(shift)
