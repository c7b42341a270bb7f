"""Bootstrap over sentences (Koehn 2004), with a fixed seed so that intervals are reproducible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1000
SEED = 12345


def resampled(sentences: int) -> Iterator[NDArray[np.int64]]:
    """Yield the sentence indices of each resampled corpus, drawn with replacement."""
    rng = np.random.default_rng(SEED)
    for _ in range(SAMPLES):
        yield rng.integers(sentences, size=sentences)


def interval(samples: NDArray[np.float64]) -> tuple[float, float]:
    """Return the central 95 % interval."""
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(low), float(high)


def p_value(differences: NDArray[np.float64], observed: float) -> float:
    """Return the two-sided p-value: how often resampling alone shifts the difference as far as observed."""
    moved = np.abs(differences - differences.mean())
    return float((np.sum(moved >= abs(observed)) + 1) / (len(moved) + 1))
