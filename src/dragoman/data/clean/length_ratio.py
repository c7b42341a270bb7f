"""How long a target is for its source, in this corpus, and which pairs are far from that."""

from __future__ import annotations

from math import exp, log

from dragoman.data.pair import Pair

BIN = 0.02  # of the log ratio; a histogram of bins is all that is kept
FAR = 6.0  # spreads from the middle
LEAST = log(3.0)  # a ratio less than 3 times the usual is never far
SHORT = 12  # characters on both sides below which a ratio says nothing: "OK" and "Einverstanden."


class LengthRatio:
    """Median and spread (median absolute deviation) of log(target characters / source characters)."""

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}
        self.middle = 0.0
        self.limit = LEAST

    def add(self, pair: Pair) -> None:
        place = round(log_ratio(pair) / BIN)
        self.bins[place] = self.bins.get(place, 0) + 1

    def settle(self) -> None:
        """Fix the limits once every pair was seen."""
        self.middle = weighted_median(self.bins) * BIN
        gaps: dict[int, int] = {}
        for place, count in self.bins.items():
            gap = abs(round(place - self.middle / BIN))
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
    for place in sorted(bins):
        passed += bins[place]
        if passed >= half:
            return place
    return 0
