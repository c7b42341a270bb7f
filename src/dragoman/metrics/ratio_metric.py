"""RatioMetric: Σ hits / Σ units over sentences, from the counts of each sentence.

Reports show it in percent, so that all metrics have the same scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.bootstrap import interval, resampled
from dragoman.metrics.corpus_score import CorpusScore

Counts = NDArray[np.int64] | NDArray[np.float64]


class RatioMetric(NamedTuple):
    hits: Counts
    units: Counts
    signature: str = ""

    @property
    def value(self) -> float:
        return float(self.hits.sum() / max(self.units.sum(), 1))

    @property
    def percent(self) -> float:
        return 100 * self.value

    def samples(self) -> NDArray[np.float64]:
        """Return the percentage on each resampled corpus; metrics of the same corpus share the samples."""
        return np.array(
            [100 * self.hits[ids].sum() / max(self.units[ids].sum(), 1) for ids in resampled(len(self.hits))]
        )

    def score(self) -> CorpusScore:
        return CorpusScore(self.percent, interval(self.samples()), self.signature)
