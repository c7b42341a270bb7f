"""The tables that `score` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.metrics.names import ALL_TITLES, ERRORS, PERCENT, SMALL

if TYPE_CHECKING:
    from dragoman.inference.runtimes.runtime import RuntimeName
    from dragoman.metrics.corpus_score import CorpusScore
    from dragoman.metrics.length_buckets import ByLength
    from dragoman.metrics.report import ScoreReport
    from dragoman.metrics.significance import Comparison
    from dragoman.metrics.span_f1 import SpanCounts

LEAST_P = 0.001  # the smallest that a thousand resamples can show
MOST_CONFUSIONS = 10


def table(report: ScoreReport, runtime: RuntimeName | None = None) -> Iterator[str]:
    yield f"{'metric':<13}{'value':>8}   95 % interval"
    for name, score in report.scores.items():
        yield f"{ALL_TITLES[name]:<13}{figures(name, score)}"
    yield ""
    yield f"{report.sentences:,} sentences" + (f", run by {runtime}" if runtime else "")


def figures(name: str, score: CorpusScore) -> str:
    low, high = score.interval
    digits = 4 if name in SMALL else 2
    unit = " %" if name in PERCENT else ""
    return f"{score.value:>8.{digits}f}   {low:.{digits}f} to {high:.{digits}f}{unit}"


def versus(rows: Sequence[Comparison], other: Path) -> list[str]:
    lines = ["", f"against {other} (paired bootstrap)", f"{'metric':<13}{'this':>8}{'other':>9}{'p':>9}"]
    for row in rows:
        is_better = (row.system < row.baseline) == (row.metric in ERRORS)
        verdict = (
            "could be chance" if row.p_value >= 0.05 else "this is better" if is_better else "other is better"
        )
        p = f"≤ {LEAST_P}" if row.p_value <= LEAST_P else f"{row.p_value:.3f}"
        lines.append(f"{ALL_TITLES[row.metric]:<13}{row.system:>8.2f}{row.baseline:>9.2f}{p:>9}   {verdict}")
    return lines


def length_table(lengths: ByLength) -> Iterator[str]:
    yield ""
    yield f"by {lengths.unit} of the source"
    for name in lengths.buckets[0].report.scores:
        yield f"{ALL_TITLES[name]:<13}{'sentences':>9}{'value':>8}   95 % interval"
        for shortest, longest, report in lengths.buckets:
            span = f"{shortest}" if shortest == longest else f"{shortest}–{longest}"
            yield f"  {span:<11}{report.sentences:>9,}{figures(name, report.scores[name])}"


def type_table(types: dict[str, SpanCounts]) -> Iterator[str]:
    yield ""
    size = max(map(len, types), default=0) + 2
    yield f"{'span':<{size}}{'precision':>11}{'recall':>9}{'F1':>9}{'wanted':>9}{'found':>9}"
    for name, one in types.items():
        yield (
            f"{name:<{size}}{one.precision:>11.2f}{one.recall:>9.2f}{one.f1:>9.2f}"
            f"{one.wanted:>9,}{one.predicted:>9,}"
        )


def confusion_table(confused: Sequence[tuple[str, str, int]]) -> Iterator[str]:
    if confused:
        yield ""
        yield "most frequent confusions: label, output, count"
    for label, predicted, count in confused[:MOST_CONFUSIONS]:
        yield f"  {label}  →  {predicted}  {count:,}"
