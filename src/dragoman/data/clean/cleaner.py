"""Cleaning: pairs to drop from training. Each is dropped for the first reason that applies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from dragoman.data.clean.length_ratio import LengthRatio
from dragoman.data.clean.normalise import hash64
from dragoman.data.clean.rules import is_empty, is_too_long
from dragoman.data.clean.seen_hashes import SeenHashes
from dragoman.data.pair import Pair, blocks

Reason = Literal["empty", "duplicates", "lengths"]


class Cleaner:
    """Reasons to drop pairs. Takes the pairs in order, in blocks, once the usual length ratio is known.

    Without a ratio, the lengths of a pair are no reason.
    """

    def __init__(self, ratio: LengthRatio | None) -> None:
        self.ratio = ratio
        self.seen = SeenHashes()

    def reasons(self, block: Sequence[Pair]) -> list[Reason | None]:
        hashes = [hash64(f"{len(pair.src)} {pair.src}{pair.tgt}") for pair in block]
        repeated = self.seen.add(np.array(hashes, dtype=np.uint64)).tolist()
        return [self.reason(pair, again) for pair, again in zip(block, repeated, strict=True)]

    def reason(self, pair: Pair, again: bool) -> Reason | None:
        if is_empty(pair):
            return "empty"
        if again:
            return "duplicates"
        if self.ratio and (is_too_long(pair) or self.ratio.is_outlier(pair)):
            return "lengths"
        return None


def clean(pairs: Callable[[], Iterator[Pair]], ratio: LengthRatio | None) -> Iterator[Pair]:
    """Yield the pairs that `check` counts as kept. Reads the pairs twice, if their lengths are compared."""
    if ratio:
        for pair in pairs():
            ratio.add(pair)
        ratio.settle()
    cleaner = Cleaner(ratio)
    for block in blocks(pairs()):
        for pair, reason in zip(block, cleaner.reasons(block), strict=True):
            if reason is None:
                yield pair
