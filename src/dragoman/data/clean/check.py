"""Corpus checks: two passes over the files, with one block of pairs in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.data.clean.cleaner import Cleaner
from dragoman.data.clean.drift import DriftDetector
from dragoman.data.clean.leakage import Leakage, key
from dragoman.data.clean.length_ratio import LengthRatio
from dragoman.data.clean.report import CheckReport, Finding
from dragoman.data.clean.rules import has_control, is_copy
from dragoman.data.clean.sides import Lengths, Words, are_swapped
from dragoman.data.examples import Reader, read_pairs
from dragoman.data.pair import Pair, blocks
from dragoman.data.readers.bad_line import PASSED_OVER, BadLine
from dragoman.errors import DataError
from dragoman.text.languages import Languages

FilePaths = Sequence[str | Path]
MOST_FAULTS = 10_000  # reading stops here if there are fewer pairs: the file is not a corpus


def check(
    files: FilePaths,
    *,
    valid: FilePaths = (),
    test: FilePaths = (),
    languages: Languages | None = None,
    read: Reader = read_pairs,
) -> CheckReport:
    """Run all checks. Faults that training would refuse are collected, not raised.

    `languages` are the source and target languages, for files with several languages; `read` is the reader
    of the task.
    """
    report = CheckReport([str(file) for file in files])
    held = {"valid": valid, "test": test}
    words = {name: Words() for name in ("train", *held)}
    leakages = {
        name: Leakage(words[name].through(faulty(part, report, languages, read)))
        for name, part in held.items()
        if part
    }
    ratio = survey(faulty(files, report, languages, read), report, words["train"])
    report.turned = [
        name for name in leakages if are_swapped(held[name], files) or words[name].is_turned(words["train"])
    ]
    cleaner = Cleaner(ratio)
    findings = {"empty": report.empty, "duplicates": report.duplicates, "lengths": report.lengths}
    # The first pass has already reported the faults.
    for block in blocks(faulty(files, CheckReport([]), languages, read)):
        for pair, reason in zip(block, cleaner.reasons(block), strict=True):
            if reason:
                findings[reason].add(pair)
            if reason != "empty":
                remark(pair, report.copies, report.controls)
        if leakages:
            compare(block, list(leakages.values()))
    report.leakage = {name: leakage.overlap() for name, leakage in leakages.items()}
    return report


def survey(pairs: Iterable[Pair], report: CheckReport, words: Words) -> LengthRatio:
    """Run the first pass: count pairs, collect faults, estimate length ratio and words, detect drift."""
    ratio, detector, lengths = LengthRatio(), DriftDetector(), Lengths()
    for block in blocks(pairs):
        report.pairs += len(block)
        for pair in block:
            ratio.add(pair)
            lengths.add(pair)
            words.add(pair)
        detector.add(block)
    ratio.settle()
    report.length_ratio = ratio.usual
    report.length_correlation = lengths.correlation
    report.drift = None if report.is_shuffled else detector.find()
    return ratio


def faulty(
    files: FilePaths, report: CheckReport, languages: Languages | None, read: Reader
) -> Iterator[Pair]:
    """Yield the pairs of the files, and add their faults to the report."""
    pairs = faults = 0

    def take(bad: BadLine) -> None:
        nonlocal faults
        if bad.kind in PASSED_OVER:
            report.passed[bad.kind] = report.passed.get(bad.kind, 0) + 1
            return
        report.faults.add(bad.kind, bad.error)
        faults += 1
        if faults >= MOST_FAULTS and faults > pairs:
            raise mostly_bad(bad, faults)

    try:
        for pair in read([str(file) for file in files], take, languages):
            pairs += 1
            yield pair
    except DataError as error:
        report.faults.add("file", error)


def mostly_bad(bad: BadLine, faults: int) -> DataError:
    return DataError(
        f"{faults:,} lines are bad, more than are good; the rest of the file was not read.",
        where=f"{bad.file}:{bad.line}",
        expected="a file of the format that its name suggests",
        hint=f"Inspect it: head -c 1000 {bad.file}",
    )


def remark(pair: Pair, copies: Finding, controls: Finding) -> None:
    if is_copy(pair):
        copies.add(pair)
    if has_control(pair):
        controls.add(pair)


def compare(block: Sequence[Pair], leakages: Sequence[Leakage]) -> None:
    for pair in block:
        train = key(pair)
        for leakage in leakages:
            leakage.add(train, pair.src)
