"""Exact match: the share of outputs that are identical to the reference, or to one of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.metrics.ratio_metric import RatioMetric


def exact_match(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    hits = [output in choices for output, *choices in zip(hypotheses, *references, strict=True)]
    return RatioMetric(np.array(hits, dtype=np.int64), np.ones(len(hits), dtype=np.int64))
