"""Word alignments without a neural network: the diagonal, IBM Model 1 and fast_align."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.analysis.lexicon import Lexicon, Words
from dragoman.metrics.alignment_error_rate import Link
from dragoman.models.diagonal_prior import diagonal_prior


def diagonal(S: int, T: int) -> list[Link]:
    """Link each of T target words to the source word at the same relative position."""
    return [(int((2 * j + 1) * S // (2 * T)), j) for j in range(T)] if S else []


def ibm1_links(src: Words, tgt: Words, lexicon: Lexicon) -> list[Link]:
    """Link each target word to argmax_i t(y | x_i), or to none if that is the empty word or 0 for all."""
    return best_links(lexicon.t(src, tgt))


def fast_align_links(src: Words, tgt: Words, lexicon: Lexicon) -> list[Link]:
    """Link each target word to argmax_i p(a_j = i) t(y_j | x_i): a lexicon learned with the same prior."""
    keep = np.ones((1, len(src) + 1), bool), np.ones((1, len(tgt)), bool)
    return best_links(lexicon.t(src, tgt) * diagonal_prior(*keep)[0])


def best_links(weights: NDArray[np.float64]) -> list[Link]:
    """Link each row to its greatest column; the last column is that of no link."""
    best = weights.argmax(axis=1)
    nothing = weights.shape[1] - 1
    return [(int(i), j) for j, i in enumerate(best) if i != nothing and weights[j, i] > 0]
