"""The median of ratios that were measured by turns, with its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Median(NamedTuple):
    median: float
    low: float
    high: float


def median_of(values: Sequence[float]) -> Median:
    """Return the median and its 95 % interval by order statistics: the true one is below the k-th of n values
    with the probability of fewer than k heads in n throws of a coin."""
    ordered, n = sorted(values), len(values)
    below = [sum(math.comb(n, heads) for heads in range(k + 1)) / 2**n for k in range(n)]
    k = max((k for k in range(n // 2) if below[k] <= 0.025), default=0)
    return Median(*(round(x, 4) for x in (statistics.median(ordered), ordered[k], ordered[n - 1 - k])))
