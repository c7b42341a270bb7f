"""IBM Model 1 (Brown et al. 1993): p(y | x) ∝ Π_j Σ_i t(y_j | x_i), trained by expectation maximisation.

With a prior of the alignments, p(y | x) ∝ Π_j Σ_i p(a_j = i) t(y_j | x_i), it is IBM Model 2. The </s> of the
source is the empty word e₀. The table holds only pairs that occur and are not negligible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_ENTRIES = 4_000_000  # 48 MB
SORTED_TOGETHER = 1 << 20  # pairs of words, at least
MIN_PROBABILITY = 1e-4  # a smaller t(y | x) counts as 0

IdMatrix = NDArray[np.int64]
Keep = NDArray[np.bool_]
Reals = NDArray[np.float64]


class PaddedPairs(NamedTuple):
    """Padded pairs of token ids. Real source tokens include </s>; real target tokens do not."""

    src: IdMatrix  # (B, S)
    src_keep: Keep
    tgt: IdMatrix  # (B, T)
    tgt_keep: Keep


Prior = Callable[[PaddedPairs], Reals | float]  # p(a_j = i), (B, T, S), up to a factor for each j


class TranslationTable(NamedTuple):
    """t(y | x). The key of a pair is x · V + y; keys are sorted, and missing keys have t = 0."""

    keys: IdMatrix
    t: NDArray[np.float32]

    def indices(self, keys: IdMatrix) -> tuple[IdMatrix, Keep]:
        """Return the index of each key, and whether the table has it."""
        positions = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return positions, self.keys[positions] == keys

    def __call__(self, keys: IdMatrix) -> Reals:
        positions, is_known = self.indices(keys)
        return np.where(is_known, self.t[positions], np.float32(0)).astype(np.float64)


def pair_keys(pairs: PaddedPairs, V: int) -> IdMatrix:
    """Return the key of each target token with each source token, (B, T, S)."""
    return pairs.src[:, None, :] * V + pairs.tgt[:, :, None]


def uniform(pairs: PaddedPairs) -> float:
    """Return the prior of IBM Model 1, which cancels out of the posterior."""
    return 1.0


def posterior(t: Reals, pairs: PaddedPairs) -> Reals:
    """Return p(a_j = i | x, y) = t(y_j | x_i) / Σ_i' t(y_j | x_i'); 0 if all t are 0."""
    t = t * pairs.src_keep[:, None, :] * pairs.tgt_keep[:, :, None]
    total = t.sum(axis=2, keepdims=True)
    return np.divide(t, total, out=np.zeros_like(t), where=total > 0)


def learn(
    read: Callable[[], Iterable[PaddedPairs]],
    V: int,
    iterations: int,
    largest: int = MAX_ENTRIES,
    prior: Prior = uniform,
) -> TranslationTable:
    """Train a table. `read` returns the corpus, once per iteration; V is the target vocabulary size."""
    table = normalised(*first_counts(read(), V, largest, prior), V)
    for _ in range(iterations - 1):
        counts = np.zeros(len(table.keys))
        for pairs in read():
            keys = pair_keys(pairs, V)
            positions, _ = table.indices(keys)
            a = posterior(table(keys) * prior(pairs), pairs)
            counts += summed(positions.ravel(), a.ravel(), len(counts))
        table = normalised(table.keys, counts, V)
    return table


def first_counts(corpus: Iterable[PaddedPairs], V: int, largest: int, prior: Prior) -> tuple[IdMatrix, Reals]:
    """Return the expected counts under uniform t, of the `largest` pairs with the highest counts at most."""
    keys: list[IdMatrix] = [np.empty(0, np.int64)]
    counts: list[Reals] = [np.empty(0)]
    waiting = 0
    for pairs in corpus:
        batch_keys = pair_keys(pairs, V)
        a = posterior(np.ones(batch_keys.shape) * prior(pairs), pairs)
        keys.append(batch_keys[a > 0])
        counts.append(a[a > 0])
        waiting += len(keys[-1])
        if waiting > max(len(keys[0]), SORTED_TOGETHER):  # sorting all for each batch would take too long
            all_keys, all_counts = merged(keys, counts, largest)
            keys, counts, waiting = [all_keys], [all_counts], 0
    return merged(keys, counts, largest)


def merged(keys: list[IdMatrix], counts: list[Reals], largest: int) -> tuple[IdMatrix, Reals]:
    """Return each key once, with the sum of its counts; the `largest` sums at most."""
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total = summed(inverse, np.concatenate(counts), len(found))
    if len(found) <= largest:
        return found, total
    kept = np.sort(np.argsort(-total, kind="stable")[:largest])
    return found[kept], total[kept]


def summed(indices: IdMatrix, weights: Reals, size: int) -> Reals:
    """Return the sum of the weights at each index."""
    return np.bincount(indices, weights=weights, minlength=size).astype(np.float64, copy=False)


def normalised(keys: IdMatrix, counts: Reals, V: int) -> TranslationTable:
    """Return t(y | x) = count(x, y) / Σ_y' count(x, y'), without negligible entries."""
    x = keys // V
    total = np.bincount(x, weights=counts)
    t = counts / np.maximum(total[x], np.finfo(np.float64).tiny)
    return TranslationTable(keys[t >= MIN_PROBABILITY], t[t >= MIN_PROBABILITY].astype(np.float32))
