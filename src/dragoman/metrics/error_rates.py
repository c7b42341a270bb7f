"""Error rates: Levenshtein distance (1966) divided by reference length, both summed over the corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from dragoman.metrics.ratio_metric import RatioMetric


def wer(hypotheses: Sequence[str], references: Sequence[str]) -> RatioMetric:
    """Return the word error rate; words are separated by whitespace."""
    return _rate([h.split() for h in hypotheses], [r.split() for r in references])


def cer(hypotheses: Sequence[str], references: Sequence[str]) -> RatioMetric:
    """Return the character error rate; characters are code points, including spaces."""
    return _rate(hypotheses, references)


def _rate(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> RatioMetric:
    edits = [Levenshtein.distance(h, r) for h, r in zip(hypotheses, references, strict=True)]
    return RatioMetric(
        np.array(edits, dtype=np.int64), np.array([len(r) for r in references], dtype=np.int64)
    )
