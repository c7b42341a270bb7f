"""Measured: a metric on one corpus, with its value on each resampled corpus."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.corpus_score import CorpusScore


class Measured(Protocol):
    def samples(self) -> NDArray[np.float64]:
        """Return the value on each resampled corpus; metrics of the same corpus share the samples."""

    def score(self) -> CorpusScore:
        """Return the value on the corpus, and its interval."""
