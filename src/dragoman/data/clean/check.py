"""Files → CheckReport, in two passes over them and with a block of pairs in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from dragoman.data.clean.drift import BLOCK, DriftDetector
from dragoman.data.clean.leakage import Leakage, key
from dragoman.data.clean.normal import hash64
from dragoman.data.clean.ratio import Ratio
from dragoman.data.clean.report import CheckReport
from dragoman.data.clean.rules import has_control, is_copy, is_empty, is_too_long
from dragoman.data.clean.seen import Seen
from dragoman.data.pair import Pair
from dragoman.data.readers.bad import BadLine
from dragoman.data.readers.build import open_pairs
from dragoman.errors import DataError

Files = Sequence[str | Path]


def check(files: Files, *, valid: Files = (), test: Files = ()) -> CheckReport:
    """Look at everything; faults that training would refuse are collected, not raised."""
    report = CheckReport([str(file) for file in files])
    leakages = {
        name: Leakage(whole(held, report)) for name, held in (("valid", valid), ("test", test)) if held
    }
    ratio, detector = survey(files, report)
    seen = Seen()
    for block in blocks(good(files)):
        judge(block, report, ratio, seen)
        for pair in block if leakages else ():
            train = key(pair)
            for leakage in leakages.values():
                leakage.add(train, pair.src)
    report.length_ratio = ratio.usual
    report.drift = detector.find()
    report.leakage = {name: leakage.overlap() for name, leakage in leakages.items()}
    return report


def survey(files: Files, report: CheckReport) -> tuple[Ratio, DriftDetector]:
    """The first pass: count, gather the faults, learn the usual length ratio, look for drift."""
    ratio, detector = Ratio(), DriftDetector()
    for block in blocks(whole(files, report)):
        report.pairs += len(block)
        for pair in block:
            ratio.add(pair)
        detector.add(block)
    ratio.settle()
    return ratio, detector


def whole(files: Files, report: CheckReport) -> Iterator[Pair]:
    """The pairs of some files, their faults put into the report."""

    def take(bad: BadLine) -> None:
        report.faults.add(bad.kind, bad.error)

    try:
        yield from open_pairs(files, on_bad=take)
    except DataError as error:
        report.faults.add("file", error)


def good(files: Files) -> Iterator[Pair]:
    """The pairs again, after the faults were told."""
    try:
        yield from open_pairs(files, on_bad=lambda bad: None)
    except DataError:
        return


def blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    pairs = iter(pairs)
    while block := list(islice(pairs, BLOCK)):
        yield block


def judge(block: Sequence[Pair], report: CheckReport, ratio: Ratio, seen: Seen) -> None:
    """Each pair is dropped for the first reason that fits; copies and controls are only told."""
    hashes = [hash64(f"{len(pair.src)} {pair.src}{pair.tgt}") for pair in block]
    repeated = seen.add(np.array(hashes, dtype=np.uint64))
    for pair, again in zip(block, repeated.tolist(), strict=True):
        if is_empty(pair):
            report.empty.add(pair)
            continue
        if again:
            report.duplicates.add(pair)
        elif is_too_long(pair) or ratio.is_outlier(pair):
            report.lengths.add(pair)
        if is_copy(pair):
            report.copies.add(pair)
        if has_control(pair):
            report.controls.add(pair)
