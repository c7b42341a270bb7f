"""Error rates: Levenshtein distance (1966) divided by reference length, both summed over the corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from dragoman.metrics.ratio_metric import RatioMetric


def wer(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    """Return the word error rate; words are separated by whitespace.

    Of several references the nearest counts, and their mean length, as in TER (Snover et al. 2006).
    """
    return _rate([h.split() for h in hypotheses], [[r.split() for r in one] for one in references])


def cer(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    """Return the character error rate; characters are code points, including spaces."""
    return _rate(hypotheses, references)


def _rate(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> RatioMetric:
    edits = [[Levenshtein.distance(h, r) for h, r in zip(hypotheses, one, strict=True)] for one in references]
    lengths = [[len(r) for r in one] for one in references]
    return RatioMetric(np.array(edits).min(axis=0), np.array(lengths).mean(axis=0))
