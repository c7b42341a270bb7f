"""Detection of drift: sources that fit a target a few lines above or below better than their own.

For each shift k, e_k(i) measures how much better source i fits target i + k than target i, by three cheap
features: the length ratio, words that occur on both sides (numbers, names), and the final punctuation. The
sum of e_k falls while the files are aligned and rises where they are shifted by k (Page's CUSUM test, 1954).
A rise of ALARM above the minimum is a drift, which begins at that minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.pair import Pair, excerpt

SHIFTS = (-1, 1, -2, 2, -3, 3)
REACH = 3
ALARM = 30.0
SLACK = 0.3  # subtracted from every e, so that chance alone does not raise the sum
CLIP = 3.0  # maximum contribution of one feature of one pair
ENOUGH = 1000  # pairs needed to estimate the length ratio
ENOUGH_TEXT = 1000  # characters whose words are compared
ENDINGS = {c: n for n, chars in enumerate((".。।", "?？؟", "!！", ":：", ",;", "…"), start=1) for c in chars}

Floats = NDArray[np.float64]


class Drift(NamedTuple):
    first: int  # the approximate line where it begins
    last: int | None  # the line where it ends, or None if it lasts to the end of the file
    shift: int  # the target of source line n is in line n + shift
    pair: Pair  # the pair in the first line


class Climb:
    """The cumulative evidence for one shift."""

    def __init__(self, shift: int) -> None:
        self.shift = shift
        self.height = 0.0
        self.start: Pair | None = None  # the first pair after the minimum
        self.peak = 0.0
        self.end: Pair | None = None  # the pair at the peak
        self.over = False

    @property
    def found(self) -> bool:
        return self.peak >= ALARM

    def add(self, evidence: Floats, pairs: Sequence[Pair]) -> None:
        height, peak, start, end = self.height, self.peak, self.start, self.end  # faster than attributes
        for value, pair in zip(evidence.tolist(), pairs, strict=True):
            height += value
            if height > peak:
                peak, end = height, pair
                start = start or pair
            elif peak >= ALARM:
                if height < peak - ALARM:
                    self.over = True
                    break
            elif height <= 0.0:
                height, peak, start = 0.0, 0.0, None
        self.height, self.peak, self.start, self.end = height, peak, start, end

    def drift(self) -> Drift | None:
        if self.start is None or self.end is None:
            return None
        return Drift(self.start.line, self.end.line if self.over else None, self.shift, excerpt(self.start))


class Features:
    """The features of consecutive pairs."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.src_length = np.log([len(pair.src) + 1 for pair in pairs])
        self.tgt_length = np.log([len(pair.tgt) + 1 for pair in pairs])
        self.src_end = np.array([ending(pair.src) for pair in pairs])
        self.tgt_end = np.array([ending(pair.tgt) for pair in pairs])
        self.src_words = [set(pair.src[:ENOUGH_TEXT].split()) for pair in pairs]
        self.tgt_words = [set(pair.tgt[:ENOUGH_TEXT].split()) for pair in pairs]

    def ratio(self) -> tuple[float, float]:
        """Return the median and the spread of the length ratio of the pairs as they are."""
        ratio = self.tgt_length - self.src_length
        middle = float(np.median(ratio))
        return middle, max(0.05, 1.4826 * float(np.median(np.abs(ratio - middle))))

    def fit(self, shift: int, middle: float, spread: float) -> tuple[Floats, Floats]:
        """Return how well each source between the margins fits the target `shift` lines below it."""
        size = len(self.src_words)
        src = slice(REACH, size - REACH)
        tgt = slice(REACH + shift, size - REACH + shift)
        z = (self.tgt_length[tgt] - self.src_length[src] - middle) / spread
        shared = [len(a & b) for a, b in zip(self.src_words[src], self.tgt_words[tgt], strict=True)]
        same_end = self.src_end[src] == self.tgt_end[tgt]
        return -0.5 * np.minimum(z * z, 2 * CLIP * CLIP), np.array(shared, dtype=np.float64) + same_end


class DriftDetector:
    """Detects drift in pairs that are added in order, in blocks; it keeps only a few of them."""

    def __init__(self) -> None:
        self.climbs = [Climb(shift) for shift in SHIFTS]
        self.tail: list[Pair] = []
        self.scale: tuple[float, float] | None = None

    def add(self, block: Sequence[Pair]) -> None:
        if any(climb.over for climb in self.climbs):
            return
        pairs = self.tail + list(block)
        self.tail = pairs[-2 * REACH :]
        if len(pairs) <= 2 * REACH:
            return
        features = Features(pairs)
        if self.scale is None or len(block) >= ENOUGH:
            self.scale = features.ratio()
        length, other = features.fit(0, *self.scale)
        for climb in self.climbs:
            shifted_length, shifted_other = features.fit(climb.shift, *self.scale)
            evidence = np.clip(shifted_length - length, -CLIP, CLIP) + np.clip(
                shifted_other - other, -CLIP, CLIP
            )
            climb.add(evidence - SLACK, pairs[REACH:-REACH])

    def find(self) -> Drift | None:
        """Return the first drift, if there is one."""
        drifts = [drift for climb in self.climbs if climb.found and (drift := climb.drift())]
        return min(drifts, key=lambda drift: drift.first, default=None)

    def best_guess(self, shift: int) -> Drift | None:
        """Return the most likely drift when the target file is known to have `shift` more lines."""
        guesses = [drift for climb in self.climbs if climb.shift == shift and (drift := climb.drift())]
        return self.find() or next(iter(guesses), None)


def ending(text: str) -> int:
    return ENDINGS.get(text.rstrip("\"'”“»«) ")[-1:], 0)
