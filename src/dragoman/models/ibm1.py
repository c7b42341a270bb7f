"""IBM Model 1 (Brown et al. 1993): p(y | x) ∝ Π_j Σ_i t(y_j | x_i), learned by expectation maximisation.

The </s> of the source stands for the empty word e₀. The table holds only pairs that were seen and matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_ENTRIES = 4_000_000  # entries: 48 MB
MIN_PROBABILITY = 1e-4  # a smaller t(y | x) is as good as 0

IdMatrix = NDArray[np.int64]
Keep = NDArray[np.bool_]
Reals = NDArray[np.float64]


class PaddedPairs(NamedTuple):
    """Padded pairs, as numbers. Real source tokens include </s>; real target tokens do not."""

    src: IdMatrix  # (B, S)
    src_keep: Keep
    tgt: IdMatrix  # (B, T)
    tgt_keep: Keep


class TranslationTable(NamedTuple):
    """t(y | x). A pair is the key x · V + y; keys ascend, and those that are not there have t = 0."""

    keys: IdMatrix
    t: NDArray[np.float32]

    def places(self, keys: IdMatrix) -> tuple[IdMatrix, Keep]:
        """Where each key stands, if it does."""
        place = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return place, self.keys[place] == keys

    def __call__(self, keys: IdMatrix) -> Reals:
        place, there = self.places(keys)
        return np.where(there, self.t[place], np.float32(0)).astype(np.float64)


def pair_keys(pairs: PaddedPairs, V: int) -> IdMatrix:
    """(B, T, S): the key of each target token with each source token."""
    return pairs.src[:, None, :] * V + pairs.tgt[:, :, None]


def posterior(t: Reals, pairs: PaddedPairs) -> Reals:
    """p(a_j = i | x, y) = t(y_j | x_i) / Σ_i' t(y_j | x_i'); 0 for a token that nothing explains."""
    t = t * pairs.src_keep[:, None, :] * pairs.tgt_keep[:, :, None]
    total = t.sum(axis=2, keepdims=True)
    return np.divide(t, total, out=np.zeros_like(t), where=total > 0)


def learn(
    read: Callable[[], Iterable[PaddedPairs]], V: int, iterations: int, largest: int = MAX_ENTRIES
) -> TranslationTable:
    """`read` gives the corpus anew for each iteration; V is the size of the target vocabulary."""
    table = normalised(*first_counts(read(), V, largest), V)
    for _ in range(iterations - 1):
        counts = np.zeros(len(table.keys))
        for pairs in read():
            keys = pair_keys(pairs, V)
            place, _ = table.places(keys)
            a = posterior(table(keys), pairs)
            counts += summed(place.ravel(), a.ravel(), len(counts))
        table = normalised(table.keys, counts, V)
    return table


def first_counts(corpus: Iterable[PaddedPairs], V: int, largest: int) -> tuple[IdMatrix, Reals]:
    """Expected counts where all t are alike. Of too many pairs those with the most counts stay."""
    keys: IdMatrix = np.empty(0, np.int64)
    counts: Reals = np.empty(0)
    for pairs in corpus:
        found = pair_keys(pairs, V)
        a = posterior(np.ones(found.shape), pairs)
        new, inverse = np.unique(np.concatenate((keys, found[a > 0])), return_inverse=True)
        keys, counts = new, summed(inverse, np.concatenate((counts, a[a > 0])), len(new))
        if len(keys) > largest:
            stay = np.sort(np.argsort(-counts, kind="stable")[:largest])
            keys, counts = keys[stay], counts[stay]
    return keys, counts


def summed(places: IdMatrix, weights: Reals, size: int) -> Reals:
    """The sum of the weights at each place."""
    return np.bincount(places, weights=weights, minlength=size).astype(np.float64, copy=False)


def normalised(keys: IdMatrix, counts: Reals, V: int) -> TranslationTable:
    """t(y | x) = count(x, y) / Σ_y' count(x, y'), without what is as good as 0."""
    x = keys // V
    total = np.bincount(x, weights=counts)
    t = counts / np.maximum(total[x], np.finfo(np.float64).tiny)
    return TranslationTable(keys[t >= MIN_PROBABILITY], t[t >= MIN_PROBABILITY].astype(np.float32))
