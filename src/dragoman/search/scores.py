"""Ranking scores of hypotheses. The length t includes </s>."""

from __future__ import annotations

import math
from collections.abc import Callable

from dragoman.errors import ModelError

Normalise = Callable[[float, int], float]  # (Σ log p, t) → score; never decreases with t


def length_normalised(log_p: float, length: int, alpha: float = 1.0) -> float:
    """Return Σ log p / tᵅ: the mean with α = 1 (Jean et al. 2015), the sum with α = 0."""
    return log_p / float(length**alpha)


def gnmt_normalised(log_p: float, length: int, alpha: float = 1.0) -> float:
    """Return Σ log p / ((5 + t) / 6)ᵅ, which penalises short outputs less (Wu et al. 2016, equation 14)."""
    return log_p / float(((5 + length) / 6) ** alpha)


def best_possible(log_p: float, max_length: int, normalise: Normalise) -> float:
    """Return the score of an open hypothesis if every further token had probability 1, up to `max_length`.

    This is an upper bound, since log p ≤ 0; a coverage penalty can only lower the score.
    """
    return normalise(log_p, max_length)


def refuse_nan(log_p: float) -> None:
    """Raise ModelError if log p is NaN: NaN cannot be compared, so a search would pick arbitrary tokens."""
    if math.isnan(log_p):
        raise ModelError(
            "The model returns NaN (not a number) as the probability of a token.",
            where="log p of an output",
            expected="weights whose products are finite numbers",
            hint="dragoman check MODEL checks every weight; if all are finite, some are far too large.",
        )
