"""Error rates: edits (Levenshtein 1966) over the length of the reference, summed over the corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from dragoman.metrics.ratio import Ratio


def wer(hypotheses: Sequence[str], references: Sequence[str]) -> Ratio:
    """Word error rate: words are what stands between spaces."""
    return _rate([h.split() for h in hypotheses], [r.split() for r in references])


def cer(hypotheses: Sequence[str], references: Sequence[str]) -> Ratio:
    """Character error rate: characters are code points, spaces among them."""
    return _rate(hypotheses, references)


def _rate(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> Ratio:
    edits = [Levenshtein.distance(h, r) for h, r in zip(hypotheses, references, strict=True)]
    return Ratio(np.array(edits, dtype=np.int64), np.array([len(r) for r in references], dtype=np.int64))
