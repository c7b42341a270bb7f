"""Several corpora as one endless stream: the corpus and the row of the n-th example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dragoman.data.permutation import KeyPurpose, permute
from dragoman.errors import DataError
from dragoman.hashing import hash64, hash64_each

BLOCK = 1024

Rows = NDArray[np.int64]


class ExampleOrder:
    """The order of the examples of a run, computed for any n without state.

    In every block of 1024 examples, each corpus has its exact share, at positions permuted by the key of the
    block. Each corpus is read once, in an order permuted by the key of the epoch, before a row is repeated.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[float], seed: int) -> None:
        if not sizes or min(sizes) < 1:
            raise DataError(
                "A corpus has no pairs to train on.",
                expected="at least one pair in each corpus of the mixture",
                hint="Remove the empty corpus from data.train.",
            )
        if len(weights) != len(sizes) or min(weights) <= 0 or not all(map(math.isfinite, weights)):
            raise ValueError("each corpus needs one positive, finite weight")
        self.sizes = tuple(sizes)
        self.total = sum(sizes)
        self.seed = seed
        self.shares = whole_shares(weights)

    def rows(self, start: int, count: int) -> tuple[Rows, Rows]:
        """Return the corpus and the row of each of the examples start … start + count − 1."""
        first, last = start // BLOCK, -(-(start + count) // BLOCK)
        corpus, draw = self.draws(first, last)
        wanted = slice(start - first * BLOCK, start - first * BLOCK + count)
        corpus, draw = corpus[wanted], draw[wanted]
        row = np.empty_like(draw)
        for c, size in enumerate(self.sizes):
            mine = corpus == c
            epoch, index = np.divmod(draw[mine], size)
            row[mine] = permute(
                index, size, hash64_each(hash64(self.seed, KeyPurpose.EPOCH, c), epoch.astype(np.uint64))
            )
        return corpus, row

    def draws(self, first: int, last: int) -> tuple[Rows, Rows]:
        """Return, for the blocks first … last − 1, each example's corpus and its draw number there."""
        blocks = np.arange(first, last, dtype=np.uint64)
        keys = np.repeat(hash64_each(hash64(self.seed, KeyPurpose.PLACES), blocks), BLOCK)
        slots = permute(np.tile(np.arange(BLOCK), blocks.size), BLOCK, keys).reshape(-1, BLOCK)
        corpus = np.empty_like(slots)
        draw = np.empty_like(slots)
        before = self.drawn(first * BLOCK)
        for b, block in enumerate(range(first, last)):
            after = self.drawn((block + 1) * BLOCK)
            quotas = np.subtract(after, before)
            corpus[b] = np.searchsorted(np.cumsum(quotas), slots[b], side="right")
            for c in np.flatnonzero(quotas):
                draw[b, corpus[b] == c] = np.arange(before[c], after[c])
            before = after
        return corpus.ravel(), draw.ravel()

    def drawn(self, count: int) -> list[int]:
        """Return how many of the first `count` examples come from each corpus.

        Each corpus takes its share, rounded down, of what the previous corpora have left. So the numbers
        add up, never decrease with `count`, and are off by less than the number of corpora.
        """
        out = []
        rest = sum(self.shares)
        for share in self.shares:
            taken = count * share // rest
            out.append(taken)
            count -= taken
            rest -= share
        return out


def whole_shares(weights: Sequence[float]) -> list[int]:
    """Return integers in the same proportion as the weights, read as the decimals that the user typed."""
    exact = [Fraction(repr(float(weight))) for weight in weights]
    scale = math.lcm(*(x.denominator for x in exact))
    return [int(x * scale) for x in exact]
