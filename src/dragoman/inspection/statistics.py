"""Plain data of charts about many sentences, from what `metrics` has measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.inspection.data import ConfusionCounts, Curve, Reliability
from dragoman.metrics.calibration import BINS, calibration_error
from dragoman.metrics.confusion import Confusion
from dragoman.metrics.length_buckets import ByLength


def reliability_of(confidence: Sequence[float], correct: Sequence[bool], bins: int = BINS) -> Reliability:
    """Return the mean confidence and the accuracy of answers in bins of equal width; 0 for an empty one."""
    p, hit = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    index = np.minimum((p * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    means = [np.bincount(index, x, minlength=bins) / np.maximum(count, 1) for x in (p, hit)]
    mean, accuracy = (tuple(x.tolist()) for x in means)
    return Reliability(mean, accuracy, tuple(count.tolist()), calibration_error(p, hit, bins))


def confusion_of(found: Confusion, most: int = 20) -> ConfusionCounts:
    """Return the counts of the labels with the most examples."""
    counts = found.counts()
    order = np.argsort(-(counts.sum(axis=0) + counts.sum(axis=1)), kind="stable")[:most]
    rows = counts[np.ix_(order, order)].tolist()
    return ConfusionCounts(tuple(found.labels[n] for n in order), tuple(map(tuple, rows)))


def curve_by_length(name: str, found: ByLength, metric: str) -> Curve:
    """Return the scores of one system: a point in the middle of each bucket, and its 95 % interval."""
    points, band = [], []
    for bucket in found.buckets:
        score = bucket.report.scores[metric]
        points.append(((bucket.shortest + bucket.longest) / 2, score.value))
        band.append(score.interval)
    return Curve(name, tuple(points), tuple(band) if all(band) else ())
