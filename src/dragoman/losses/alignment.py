"""Guided alignment: a loss that trains attention to follow a word alignment (Chen et al. 2016)."""

from __future__ import annotations

from dragoman.shapes import Float, Tensor

SMALLEST = 1e-9  # lower bound of α before the logarithm


def guided_alignment(alpha: Float[Tensor, "B T S"], A: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
    """Return −Σ_t Σ_i A_ti log α_ti, the cross-entropy of the attention α with the alignment A."""
    return -(A * alpha.clamp_min(SMALLEST).log()).sum()
