"""Bootstrap over sentences (Koehn 2004), seeded: a score always has the same interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1000
SEED = 12345


def resampled(sentences: int) -> Iterator[NDArray[np.int64]]:
    """The sentences of each resampled corpus, drawn with replacement."""
    rng = np.random.default_rng(SEED)
    for _ in range(SAMPLES):
        yield rng.integers(sentences, size=sentences)


def interval(samples: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 %."""
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(low), float(high)


def p_value(differences: NDArray[np.float64], observed: float) -> float:
    """Two-sided: how often resampling alone moves the difference by as much as the one observed."""
    moved = np.abs(differences - differences.mean())
    return float((np.sum(moved >= abs(observed)) + 1) / (len(moved) + 1))
