"""Ratio: a metric that is Σ hits / Σ units over sentences, from its counts per sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.bootstrap import interval, resampled
from dragoman.metrics.corpus_score import CorpusScore

Counts = NDArray[np.int64]


class Ratio(NamedTuple):
    hits: Counts
    units: Counts

    @property
    def value(self) -> float:
        return float(self.hits.sum() / max(self.units.sum(), 1))

    def samples(self) -> NDArray[np.float64]:
        """The value on each resampled corpus: the same sentences for every metric of as many sentences."""
        return np.array(
            [self.hits[ids].sum() / max(self.units[ids].sum(), 1) for ids in resampled(len(self.hits))]
        )

    def score(self) -> CorpusScore:
        return CorpusScore(self.value, interval(self.samples()))
