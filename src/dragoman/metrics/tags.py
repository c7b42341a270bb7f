"""Lines of tags, separated by spaces: as many as the reference has. A tag may have a no-break space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dragoman.errors import DataError
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.text.running_words import words_of


def tag_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the tags of the output and of the reference, which have the same number."""
    for line, (output, reference) in enumerate(zip(hypotheses, references, strict=True), start=1):
        ours, theirs = words_of(output), words_of(reference)
        if len(ours) != len(theirs):
            raise DataError(
                f"The output has {len(ours):,} tags and the reference {len(theirs):,}.",
                where=f"line {line:,}",
                expected="one tag for each token",
                hint="Leave tag_accuracy and span_f1 out for outputs that are not tags.",
            )
        yield ours, theirs


def tag_accuracy(hypotheses: Sequence[str], references: Sequence[str]) -> RatioMetric:
    """Return the share of tags that are right."""
    pairs = list(tag_pairs(hypotheses, references))
    hits = [sum(a == b for a, b in zip(ours, theirs, strict=True)) for ours, theirs in pairs]
    return RatioMetric(
        np.array(hits, dtype=np.int64), np.array([len(theirs) for _, theirs in pairs], dtype=np.int64)
    )
