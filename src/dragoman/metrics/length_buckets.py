"""Scores by the length of the source, in buckets with about the same number of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.names import USUAL
from dragoman.metrics.report import ScoreReport, checked_metrics, measured

BUCKETS = 5

Unit = Literal["words", "characters"]


class LengthBucket(NamedTuple):
    shortest: int
    longest: int
    report: ScoreReport


class ByLength(NamedTuple):
    unit: Unit  # characters if most sources are one word
    buckets: list[LengthBucket]

    def asdict(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "buckets": [
                {"shortest": one.shortest, "longest": one.longest, **one.report.asdict()}
                for one in self.buckets
            ],
        }


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    *references: Sequence[str],
    lowercase: bool = False,
    metrics: Sequence[str] = USUAL,
) -> ByLength:
    names = checked_metrics(metrics, hypotheses, references, sources)
    unit, lengths = lengths_of(sources)
    buckets = []
    for ids in buckets_of(lengths):
        texts = ([side[i] for i in ids] for side in (sources, hypotheses, *references))
        report = measured(names, *texts, lowercase=lowercase)
        buckets.append(LengthBucket(int(lengths[ids].min()), int(lengths[ids].max()), report))
    return ByLength(unit, buckets)


def lengths_of(sources: Sequence[str]) -> tuple[Unit, NDArray[np.int64]]:
    words = np.array([len(source.split()) for source in sources], dtype=np.int64)
    if np.median(words) > 1:
        return "words", words
    return "characters", np.array([len(source) for source in sources], dtype=np.int64)


def buckets_of(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the sentences of each bucket. Those of one length are in the same bucket."""
    bounds = np.quantile(lengths, np.arange(1, BUCKETS) / BUCKETS, method="lower")
    number = np.searchsorted(bounds, lengths)
    return [ids for bucket in range(BUCKETS) if len(ids := np.flatnonzero(number == bucket))]
