"""Where a system loses: the mean score of sentences that have something in common.

The score of a corpus is not the sum of its parts, so the mean of the sentences is taken: then the points that
the buckets lose add up to what the corpus loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.length_buckets import buckets_of, lengths_of
from dragoman.metrics.ratio_metric import RatioMetric

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class SentenceBucket:
    """Sentences with one label.

    `lost` is their share, in percent, of the points that all sentences lack to 100. A bucket `loses` if the
    interval of its mean is below the mean of all sentences.
    """

    label: str
    sentences: int
    mean: float
    interval: tuple[float, float]
    lost: float
    loses: bool


def sentence_buckets(scores: Scores, labels: Sequence[str], order: Sequence[str]) -> list[SentenceBucket]:
    """Return the buckets that have sentences, by the order of their labels; none if all have the same."""
    found = np.array(labels)
    all_lost = max(float((100 - scores).sum()), 1e-9)
    buckets = []
    for label in order:
        own = scores[found == label]
        if len(own):
            mean = RatioMetric(own / 100, np.ones(len(own))).score()
            loses = mean.interval[1] < scores.mean()
            lost = 100 * float((100 - own).sum()) / all_lost
            buckets.append(SentenceBucket(label, len(own), mean.value, mean.interval, lost, bool(loses)))
    return buckets if len(buckets) > 1 else []


def length_labels(sources: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the label of each source, such as "5–8 words", and all labels, the shortest first."""
    unit, lengths = lengths_of(sources)
    labels, order = [""] * len(sources), []
    for ids in buckets_of(lengths):
        low, high = int(lengths[ids].min()), int(lengths[ids].max())
        order.append(f"{low}–{high} {unit}" if low < high else f"{low} {unit}")
        for number in ids:
            labels[number] = order[-1]
    return labels, order
