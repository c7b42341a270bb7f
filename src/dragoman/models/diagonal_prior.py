"""The prior of fast_align (Dyer et al. 2013), a log-linear IBM Model 2: aligned words are near the diagonal.

p(a_j = 0) = p₀ for the empty word, and p(a_j = i) = (1 − p₀) exp(−λ |i/S − j/T|) / Z_j for the S words.
"""

from __future__ import annotations

import math
from typing import Any

from dragoman.models.ibm1 import PaddedPairs, Reals

LAMBDA, P_0 = 4.0, 0.08  # what fast_align begins with

Array = Any  # of numpy or torch


def diagonal_prior(src_keep: Array, tgt_keep: Array) -> Array:
    """Return p(a_j = i), (B, T, S), from the masks of the words; that of the source includes </s>, or e₀."""
    i, j = src_keep.cumsum(1)[:, None, :], tgt_keep.cumsum(1)[:, :, None]
    S, T = src_keep.sum(1)[:, None, None] - 1, tgt_keep.sum(1)[:, None, None]
    S, T = S + (S == 0), T + (T == 0)  # no division by 0
    near = math.e ** (-LAMBDA * abs(i / S - j / T)) * (i <= S)
    return (1 - P_0) * near / near.sum(2)[:, :, None] + P_0 * (i == S + 1)


def diagonal_prior_of(pairs: PaddedPairs) -> Reals:
    return diagonal_prior(pairs.src_keep, pairs.tgt_keep)
