"""A CheckReport as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.cli.format import plural
from dragoman.data.clean.drift import Drift
from dragoman.data.clean.leakage import Overlap
from dragoman.data.clean.report import CheckReport, Finding
from dragoman.data.pair import quote, quoted

KINDS = {
    "encoding": "not UTF-8",
    "too long": "too long",
    "columns": "without two columns",
    "json": "not a JSON pair",
    "po": "not part of a PO file",
}
PASSED = {
    "untranslated": "without a translation",
    "unfinished": "with an unfinished translation",
    "fuzzy": "fuzzy",
    "heading": "a heading",
}


def describe(report: CheckReport, languages: str, held: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"{' ↔ '.join(report.files)}   {report.pairs:,} pairs    {languages}".rstrip()
    if report.pairs:
        yield kept(report)
    if report.passed:
        yield f"  left out: {passed_over(report.passed)}"
    yield from faults(report)
    first = report.files[0]
    if report.is_shuffled:
        shown = f"correlation {report.length_correlation:.2f}"
        yield f"  ! source and target lengths do not correlate ({shown}): is one side in a different order?"
    if report.drift:
        yield drifted(report.drift, first)
    yield from remark(report.lengths, "too long, or far longer or shorter than their partner", first)
    yield from remark(report.copies, "with identical source and target", first)
    yield from remark(report.controls, "with control characters", first)
    for name in report.turned:
        yield f"  ! {name} is swapped: its sources look like the training targets"
    for name, overlap in report.leakage.items():
        yield from leaked(name, overlap, held[name][0], first)


def kept(report: CheckReport) -> str:
    reasons = (
        (report.duplicates.count, plural(report.duplicates.count, "duplicate")),
        (report.empty.count, f"{report.empty.count:,} empty"),
        (report.lengths.count, f"{report.lengths.count:,} too long/short for their partner"),
    )
    dropped = " · ".join(text for count, text in reasons if count)
    if not dropped:
        return f"  kept {report.kept:,}   dropped: none"
    return f"  data.clean=true would keep {report.kept:,} and drop: {dropped}"


def passed_over(counts: Mapping[str, int]) -> str:
    """Describe what readers leave out although it is not an error in the file."""
    return " · ".join(f"{count:,} {PASSED[kind]}" for kind, count in counts.items())


def faults(report: CheckReport) -> Iterator[str]:
    for kind, count in report.faults.counts.items():
        if kind in KINDS:
            yield f"  ✗ {plural(count, 'line')} {KINDS[kind]}; train --skip-bad leaves such lines out"
    for error in report.faults.errors:
        lines = str(error).split("\n")
        yield f"  ✗ {lines[0]}"
        yield from ("  " + line for line in lines[1:])


def drifted(drift: Drift, file: str) -> str:
    span = f"lines {drift.first:,}–{drift.last:,}" if drift.last else f"lines from {drift.first:,} on"
    by = {1: "one", 2: "two", 3: "three"}[abs(drift.shift)]
    return f"  ! {span} look shifted by {by}    {file}:{drift.first} {quoted(drift.pair)}"


def remark(finding: Finding, what: str, file: str) -> Iterator[str]:
    if finding.count:
        pair = finding.examples[0]
        yield f"  ! {plural(finding.count, 'pair')} {what}    {file}:{pair.line} {quoted(pair)}"


def leaked(name: str, overlap: Overlap, file: str, train: str) -> Iterator[str]:
    sides = f"in training: {overlap.sources:,} of its sources, {overlap.targets:,} of its targets"
    if not overlap.both:
        yield f"  {name}: no pair of {overlap.pairs:,} is in training    ({sides})"
        return
    share = f"{overlap.both:,} of {overlap.pairs:,} pairs ({overlap.share:.1%})"
    yield f"  ! {name}: {share} are in training    ({sides})"
    for shared in overlap.twins:
        yield f"      {file}:{shared.line} = {train}:{shared.train_line} {quote(shared.src)}"
