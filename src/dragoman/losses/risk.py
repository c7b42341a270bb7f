"""Minimum risk: how wrong outputs are, weighted by how probable the model finds them (Shen et al. 2016)."""

from __future__ import annotations

import torch

from dragoman.shapes import Float, Tensor


def expected_risk(
    log_p: Float[Tensor, "B C"], delta: Float[Tensor, "B C"], alpha: float
) -> Float[Tensor, " B"]:
    """Σ_y q(y) Δ(y) with q(y) = p(y)^α / Σ_y' p(y')^α over the candidates of a sentence (their eq. 12, 13).

    Where a sentence has fewer candidates than others, log p is −∞.
    """
    return (torch.softmax(alpha * log_p, dim=1) * delta).sum(dim=1)
