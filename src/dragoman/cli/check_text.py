"""A CheckReport as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.cli.format import listed, plural
from dragoman.data.clean.drift import Drift
from dragoman.data.clean.leakage import Overlap
from dragoman.data.clean.report import CheckReport, Finding, LabelReport
from dragoman.data.pair import quote, quoted

KINDS = {
    "encoding": "not UTF-8",
    "too long": "too long",
    "columns": "without two columns",
    "json": "not a JSON pair",
    "po": "not part of a PO file",
    "signal": "whose source cannot be read",
}
PASSED = {
    "untranslated": "without a translation",
    "unfinished": "with an unfinished translation",
    "fuzzy": "fuzzy",
    "heading": "heading",
}


def describe(report: CheckReport, languages: str, held: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"{' ↔ '.join(report.files)}   {size(report)}    {languages}".rstrip()
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
    yield from remark(report, report.lengths, "too long, or far longer or shorter than their partner")
    yield from remark(report, report.copies, "with identical source and target")
    yield from remark(report, report.swapped, "with source and target swapped, unlike the others")
    yield from remark(report, report.controls, "with control characters")
    if report.labels and report.labels.counts:
        yield from labels(report, report.labels)
    for name in report.turned:
        yield f"  ! {name} is swapped: its sources look like the training targets"
    for name, overlap in report.leakage.items():
        yield from leaked(name, overlap, report, held[name][0])


def size(report: CheckReport) -> str:
    counted = plural(report.pairs, noun(report))
    return counted if report.characters is None else f"{counted}, {plural(report.characters, 'character')}"


def noun(report: CheckReport) -> str:
    return "pair" if report.characters is None else "line"


def kept(report: CheckReport) -> str:
    if report.characters is not None:
        repeated = plural(report.duplicates.count, "duplicate")
        return f"  {report.kept:,} different lines   {repeated}, {report.empty.count:,} empty"
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


def labels(report: CheckReport, found: LabelReport) -> Iterator[str]:
    """Describe the labels: how many there are, how rare they are, and which are missing."""
    total, (most, count) = sum(found.counts.values()), next(iter(found.counts.items()))
    share = f"{100 * count / total:.1f} % of {total:,}"
    yield f"  {plural(len(found.counts), 'label')}, most frequent: {most} ({share})"
    if single := found.single:
        verb = "occurs" if len(single) == 1 else "occur"
        yield f"  ! {plural(len(single), 'label')} {verb} once: {listed(single)}"
    yield from remark(report, found.conflicts, "with a text that occurred before with another label")
    for name, unseen in found.unseen.items():
        if unseen:
            mark, refused = ("✗", "; train refuses such labels") if found.refuses(name) else ("!", "")
            some = f"{plural(len(unseen), 'label')} not in the training data"
            yield f"  {mark} {name} has {some}{refused}: {listed(list(unseen))}"


def drifted(drift: Drift, file: str) -> str:
    span = f"lines {drift.first:,}–{drift.last:,}" if drift.last else f"lines from {drift.first:,} on"
    by = {1: "one", 2: "two", 3: "three"}[abs(drift.shift)]
    return f"  ! {span} look shifted by {by}    {file}:{drift.first} {quoted(drift.pair)}"


def remark(report: CheckReport, finding: Finding, what: str) -> Iterator[str]:
    if finding.count:
        pair = finding.examples[0]
        shown = quoted(pair) if report.characters is None else quote(pair.tgt)
        where = f"{report.files[0]}:{pair.line}"
        yield f"  ! {plural(finding.count, noun(report))} {what}    {where} {shown}"


def leaked(name: str, overlap: Overlap, report: CheckReport, file: str) -> Iterator[str]:
    what = noun(report)
    sides = shared_sides(overlap, report) if report.characters is None else ""
    if not overlap.both:
        also = f", but {sides} are" if sides and (overlap.sources or overlap.targets) else ""
        yield f"  {name}: none of its {plural(overlap.pairs, what)} is in training{also}"
        return
    share = f"{overlap.both:,} of {plural(overlap.pairs, what)} ({100 * overlap.share:.1f} %)"
    also = f", as are {sides}" if sides else ""
    yield f"  ! {name}: {share} {'is' if overlap.both == 1 else 'are'} in training{also}"
    for shared in overlap.twins:
        yield f"      {file}:{shared.line} = {report.files[0]}:{shared.train_line} {quote(shared.src)}"


def shared_sides(overlap: Overlap, report: CheckReport) -> str:
    sources = f"{overlap.sources:,} of its sources"
    return sources if report.labels else f"{sources} and {overlap.targets:,} of its targets"
