"""How a hypothesis is ranked: one formula each. t counts </s>."""

from __future__ import annotations

from collections.abc import Callable

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
