"""Corpus checks: two passes over the files, with one block of pairs in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.data.clean.cleaner import Cleaner
from dragoman.data.clean.leakage import Leakage, key
from dragoman.data.clean.report import CheckReport
from dragoman.data.clean.rules import has_control
from dragoman.data.clean.survey import SURVEYS, Survey
from dragoman.data.examples import PAIRS, Examples, Reader
from dragoman.data.pair import Pair, blocks
from dragoman.data.readers.bad_line import PASSED_OVER, BadLine
from dragoman.data.readers.file_languages import are_swapped
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
    examples: Examples = PAIRS,
) -> CheckReport:
    """Run all checks. Faults that training would refuse are collected, not raised.

    `languages` are the source and target languages, for files with several languages; `examples` say how the
    task reads the files, and what its two sides are.
    """
    report, survey = CheckReport([str(file) for file in files]), SURVEYS[examples.sides]()
    held = {"valid": valid, "test": test}
    leakages = {
        name: Leakage(survey.through(name, faulty(part, report, languages, examples.inspect)))
        for name, part in held.items()
        if part
    }
    for block in blocks(faulty(files, report, languages, examples.inspect)):
        report.pairs += len(block)
        survey.add(block)
    report.turned = [name for name in leakages if are_swapped(held[name], files)]
    survey.settle(report)
    cleaner = Cleaner(survey.ratio)
    findings = {"empty": report.empty, "duplicates": report.duplicates, "lengths": report.lengths}
    # The first pass has already reported the faults.
    for block in blocks(faulty(files, CheckReport([]), languages, examples.read)):
        for pair, reason in zip(block, cleaner.reasons(block), strict=True):
            if reason:
                findings[reason].add(pair)
            if reason != "empty":
                remark(pair, survey, report)
        if leakages:
            compare(block, list(leakages.values()))
    report.leakage = {name: leakage.overlap() for name, leakage in leakages.items()}
    return report


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


def remark(pair: Pair, survey: Survey, report: CheckReport) -> None:
    if survey.is_copy(pair):
        report.copies.add(pair)
    if survey.is_swapped(pair):
        report.swapped.add(pair)
    if has_control(pair):
        report.controls.add(pair)


def compare(block: Sequence[Pair], leakages: Sequence[Leakage]) -> None:
    for pair in block:
        train = key(pair)
        for leakage in leakages:
            leakage.add(train, pair.src)
