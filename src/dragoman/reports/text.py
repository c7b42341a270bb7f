"""A report as text for a terminal: the verdict, the scores, where it loses, and the worst sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.analysis.reasons import REASONS, Reason
from dragoman.inspection.pictures.labels import safe
from dragoman.inspection.pictures.text import aligned
from dragoman.reports.verdict import EDITING_RULE, PERFECT, editing_text, p_text

if TYPE_CHECKING:
    from dragoman.reports.report import Comparison, Report, Score

WORST = 5
LONGEST, LONGEST_NOTE = 200, 600  # characters of a sentence and of a note
REASON_WORDS = 5
GROUPS = 3  # buckets that lose most, and reasons


def report_text(report: Report) -> str:
    return "\n".join(lines_of(report))


def lines_of(report: Report) -> Iterator[str]:
    yield f"{cut(report.name)}: {report.verdict}"
    if report.editing:
        yield ""
        yield editing_text(report.editing)
        yield EDITING_RULE
    yield ""
    yield from score_table(report.scores)
    yield ""
    yield report.test.described
    yield from losses(report)
    for one in [one for one in report.sentences if one.score < PERFECT][:WORST]:
        yield ""
        why = "; ".join(map(reason_text, one.reasons))
        yield f"line {one.line:,}  {report.sentence_score} {one.score:.0f}" + (f": {why}" if why else "")
        yield f"  source     {cut(one.source)}"
        if one.reference:
            yield f"  reference  {cut(one.reference)}"
            yield f"  output     {cut(one.output)}"
    for note in report.notes:
        yield ""
        yield cut(note, LONGEST_NOTE)


def score_table(scores: Sequence[Score]) -> list[str]:
    names = baseline_names(scores)
    head = ("metric", "value", "95 % interval", *names)
    rows = [
        (
            one.title,
            score_figure(one, one.value),
            " to ".join(score_figure(one, end) for end in one.interval) if one.has_interval else "",
            *(score_figure(one, one.baselines[name]) if name in one.baselines else "" for name in names),
        )
        for one in scores
    ]
    return aligned([head, *rows], to_right=(1, *range(3, 3 + len(names))))


def baseline_names(scores: Sequence[Score]) -> list[str]:
    return list(dict.fromkeys(name for one in scores for name in one.baselines))


def score_figure(score: Score, value: float) -> str:
    return f"{value:.2f}{score.unit and ' ' + score.unit}"


def losses(report: Report) -> Iterator[str]:
    """Yield the buckets that lose most, and the most frequent reasons."""
    if report.errors is None:
        return
    below = [
        (
            bucket.lost,
            f"  {bucket.label}, {name}: {bucket.sentences:,} {report.test.items}, chrF {bucket.mean:.1f}",
        )
        for name, buckets in report.errors.sentence_buckets.items()
        for bucket in buckets
        if bucket.loses
    ]
    if below:
        yield ""
        yield "below the mean"
        for _, line in sorted(below, reverse=True)[:GROUPS]:
            yield line
    if report.errors.reasons:
        yield ""
        yield "reasons"
        for one in report.errors.reasons[:GROUPS]:
            yield f"  {REASONS[one.tag]}: {one.sentences:,} {report.test.items}, {one.lost:.0f} % of the loss"


def comparison_text(found: Comparison) -> str:
    return "\n".join(comparison_lines(found))


def comparison_lines(found: Comparison) -> Iterator[str]:
    yield safe(found.verdict)
    yield ""
    first, *others = found.systems
    against = {(one.system, one.metric): one for one in found.contrasts}
    head = ["metric", cut(first.name, 24)]
    for system in others:
        head += [cut(system.name, 24), "difference", "p"]
    rows = []
    for place, score in enumerate(first.scores):
        row = [score.title, score_figure(score, score.value)]
        for system in others:
            one = against.get((system.name, score.metric))
            row.append(score_figure(score, system.scores[place].value))
            row += [f"{one.difference:+.2f}", p_text(one.p_value)] if one else ["", ""]
        rows.append(row)
    yield from aligned([head, *rows], to_right=range(1, len(head)))
    yield ""
    yield f"{len(found.sentences):,} of {found.test.described} differ"
    for sentence in found.sentences[:WORST]:
        yield ""
        yield f"line {sentence.line:,}  {cut(sentence.source)}"
        yield f"  {'reference':<12}{'':>5}{cut(sentence.reference)}"
        for system, output, value in zip(found.systems, sentence.outputs, sentence.scores, strict=True):
            yield f"  {cut(system.name, 11):<12}{value:>3.0f}  {cut(output)}"


def reason_text(reason: Reason) -> str:
    words = [*map(cut, reason.words[:REASON_WORDS]), *(["…"] if len(reason.words) > REASON_WORDS else [])]
    return reason.tag.replace("_", " ") + (f" ({', '.join(words)})" if words else "")


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text that may hold anything: safe to show, and not longer than this."""
    shown = safe(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
