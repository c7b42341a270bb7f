"""How a hypothesis is ranked: one formula each."""

from __future__ import annotations


def length_normalised(log_p: float, length: int, alpha: float) -> float:
    """Σ log p / tᵅ, with </s> counted in t (Jean et al. 2015 with α = 1)."""
    return log_p / float(length**alpha)


def best_possible(log_p: float, max_length: int, alpha: float) -> float:
    """What an open hypothesis scores if all that follows is certain: log p ≤ 0 gains from every step left."""
    return length_normalised(log_p, max_length, alpha)
