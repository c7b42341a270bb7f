"""Exact match: the share of outputs that are the reference, character for character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.metrics.ratio import Ratio


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Ratio:
    hits = [hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True)]
    return Ratio(np.array(hits, dtype=np.int64), np.ones(len(hits), dtype=np.int64))
