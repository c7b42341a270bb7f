"""RatioMetric: Σ hits / Σ units over sentences, from the counts of each sentence.

Reports show it in percent, so that all metrics have the same scale.
"""

from __future__ import annotations

import math
from statistics import NormalDist
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
        """Return the percentage with its interval; Wilson's (1927) where each sentence is right or wrong.

        A bootstrap of sentences that are all right would say that the next one cannot be wrong.
        """
        is_proportion = bool((self.units == 1).all() and np.isin(self.hits, (0, 1)).all())
        found = wilson(self.value, len(self.hits)) if is_proportion else interval(self.samples())
        return CorpusScore(self.percent, found, self.signature)


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion, in percent."""
    n, z = max(count, 1), NormalDist().inv_cdf(0.975)
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (100 * (middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return round(max(low, 0.0), 9), round(min(high, 100.0), 9)
