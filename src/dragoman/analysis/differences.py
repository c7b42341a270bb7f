"""Comparison of outputs: the sentences that differ most, and the words that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from dragoman.metrics.sentence_distance import chrf_distance

Part = tuple[str, bool]  # words, and whether the other output differs here


class Difference(NamedTuple):
    line: int
    source: str  # "" if only references are given
    reference: str
    this: str
    other: str
    this_chrf: float
    other_chrf: float


def differences(
    sources: Sequence[str], references: Sequence[str], these: Sequence[str], others: Sequence[str]
) -> list[Difference]:
    """Return the outputs that differ, by decreasing difference of their scores."""
    distance = chrf_distance()
    found = []
    for number, (reference, this, other) in enumerate(zip(references, these, others, strict=True)):
        if this != other:
            scores = (100 * (1 - distance(output, reference)) for output in (this, other))
            source = sources[number] if sources else ""
            found.append(Difference(number + 1, source, reference, this, other, *scores))
    return sorted(found, key=lambda one: -abs(one.this_chrf - one.other_chrf))


def marked(text: str, other: str) -> Iterator[Part]:
    """Yield the words of a text; those that the other lacks, or has elsewhere, are marked."""
    mine, theirs = text.split(), other.split()
    first = True
    for kind, start, end, _, _ in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if start < end:
            if not first:
                yield " ", False
            yield " ".join(mine[start:end]), kind != "equal"
            first = False
