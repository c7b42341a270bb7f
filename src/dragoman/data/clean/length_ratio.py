"""The usual length ratio of target to source in a corpus, and the outliers."""

from __future__ import annotations

from math import exp, log

from dragoman.data.pair import Pair

BIN = 0.02  # bin width of the histogram of log ratios
FAR = 6.0  # spreads from the median
LEAST = log(3.0)  # a ratio within 3 times the usual is never an outlier
SHORT = 12  # characters on both sides below which a ratio means nothing: "OK" and "Einverstanden."


class LengthRatio:
    """Median and spread (median absolute deviation) of log(target characters / source characters)."""

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}
        self.middle = 0.0
        self.limit = LEAST

    def add(self, pair: Pair) -> None:
        index = round(log_ratio(pair) / BIN)
        self.bins[index] = self.bins.get(index, 0) + 1

    def settle(self) -> None:
        """Compute the limits after all pairs were added."""
        self.middle = weighted_median(self.bins) * BIN
        gaps: dict[int, int] = {}
        for index, count in self.bins.items():
            gap = abs(round(index - self.middle / BIN))
            gaps[gap] = gaps.get(gap, 0) + count
        self.limit = max(LEAST, FAR * 1.4826 * weighted_median(gaps) * BIN)

    def is_outlier(self, pair: Pair) -> bool:
        if len(pair.src) < SHORT and len(pair.tgt) < SHORT:
            return False
        return abs(log_ratio(pair) - self.middle) > self.limit

    @property
    def usual(self) -> float:
        return exp(self.middle)


def log_ratio(pair: Pair) -> float:
    return log((len(pair.tgt) + 1) / (len(pair.src) + 1))


def weighted_median(bins: dict[int, int]) -> int:
    half = sum(bins.values()) / 2
    passed = 0
    for index in sorted(bins):
        passed += bins[index]
        if passed >= half:
            return index
    return 0
