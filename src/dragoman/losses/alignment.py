"""Guided alignment: the attention should look where a word aligner says (Chen et al. 2016)."""

from __future__ import annotations

from dragoman.shapes import Float, Tensor

SMALLEST = 1e-9  # of an α whose logarithm is taken


def guided_alignment(alpha: Float[Tensor, "B T S"], A: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
    """−Σ_t Σ_i A_ti log α_ti: the cross-entropy of the attention α with the given alignment A."""
    return -(A * alpha.clamp_min(SMALLEST).log()).sum()
