"""How a hypothesis is ranked: one formula each. t counts </s>."""

from __future__ import annotations

import math
from collections.abc import Callable

from dragoman.errors import ModelError

Normalise = Callable[[float, int], float]  # (Σ log p, t) → what ranks; never less for a longer t


def length_normalised(log_p: float, length: int, alpha: float = 1.0) -> float:
    """Σ log p / tᵅ: with α = 1 the mean (Jean et al. 2015), with 0 the plain sum."""
    return log_p / float(length**alpha)


def gnmt_normalised(log_p: float, length: int, alpha: float = 1.0) -> float:
    """Σ log p / ((5 + t) / 6)ᵅ: gentler to short outputs (Wu et al. 2016, equation 14)."""
    return log_p / float(((5 + length) / 6) ** alpha)


def best_possible(log_p: float, max_length: int, normalise: Normalise) -> float:
    """What an open hypothesis scores if all that follows is certain: log p ≤ 0 gains from every step left.

    A coverage penalty can only take from that.
    """
    return normalise(log_p, max_length)


def refuse_nan(log_p: float) -> None:
    """NaN compares with nothing: a search would go on with any token, as if it were the best."""
    if math.isnan(log_p):
        raise ModelError(
            "The model gives NaN (not a number) where it should give the probability of a token.",
            where="log p of an output",
            expected="weights whose products are finite numbers",
            hint="dragoman check MODEL looks at every weight; if they are finite, some are far too large.",
        )
