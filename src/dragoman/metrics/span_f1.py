"""Span F₁ as conlleval counts it (Tjong Kim Sang & Buchholz 2000): a span is right if its ends and type are.

A tag is O, or a prefix and a type such as B-LOC. One rule reads the spans of IOB1, IOB2 and IOBES tags, and
of sequences that are not well-formed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dragoman.errors import DataError
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.metrics.tags import tag_pairs

OUTSIDE = "O"
PREFIXES = ("B", "I", "E", "S")


class Span(NamedTuple):
    type: str
    start: int
    end: int  # after its last token


class SpanCounts(NamedTuple):
    """How many spans are right, how many the outputs have, and how many the references."""

    correct: int
    predicted: int
    wanted: int

    @property
    def precision(self) -> float:
        return 100 * self.correct / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        return 100 * self.correct / max(self.wanted, 1)

    @property
    def f1(self) -> float:
        return 200 * self.correct / max(self.predicted + self.wanted, 1)


def spans(tags: Sequence[str]) -> Iterator[Span]:
    """Yield the spans in order.

    B and S begin a span, as do I and E after O, after the end of a span and after another type. E and S end
    one. A tag without one of these prefixes is outside.
    """
    start, inside = 0, None
    for position, tag in enumerate((*tags, OUTSIDE)):
        prefix, _, kind = tag.partition("-")
        continues = prefix in ("I", "E") and kind == inside
        if inside is not None and not continues:
            yield Span(inside, start, position)
            inside = None
        if prefix in PREFIXES and not continues:
            start, inside = position, kind
        if inside is not None and prefix in ("E", "S"):
            yield Span(inside, start, position + 1)
            inside = None


def span_f1(hypotheses: Sequence[str], references: Sequence[str]) -> RatioMetric:
    """Return 2 · correct / (predicted + wanted) over the spans of all types."""
    pairs = list(span_pairs(hypotheses, references))
    return RatioMetric(
        np.array([2 * len(ours & theirs) for ours, theirs in pairs], dtype=np.int64),
        np.array([len(ours) + len(theirs) for ours, theirs in pairs], dtype=np.int64),
    )


def by_type(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, SpanCounts]:
    """Return the counts of each type, by name."""
    correct, predicted, wanted = Counter[str](), Counter[str](), Counter[str]()
    for ours, theirs in span_pairs(hypotheses, references):
        for counter, found in ((correct, ours & theirs), (predicted, ours), (wanted, theirs)):
            counter.update(span.type for span in found)
    return {
        kind: SpanCounts(correct[kind], predicted[kind], wanted[kind]) for kind in sorted(predicted | wanted)
    }


def span_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[tuple[set[Span], set[Span]]]:
    for line, (output, reference) in enumerate(tag_pairs(hypotheses, references), start=1):
        for tag in reference:
            if tag != OUTSIDE and tag.partition("-")[0] not in PREFIXES:
                raise DataError(
                    f'"{tag}" is no tag of a span.',
                    where=f"line {line:,} of the reference",
                    expected="O, or B, I, E or S with a type, such as B-LOC",
                    hint="Use tag_accuracy for tags without spans.",
                )
        yield set(spans(output)), set(spans(reference))
