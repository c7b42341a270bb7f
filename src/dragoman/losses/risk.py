"""Minimum risk: the expected cost of outputs under the model (Shen et al. 2016)."""

from __future__ import annotations

import torch

from dragoman.shapes import Float, Tensor


def expected_risk(
    log_p: Float[Tensor, "B C"], delta: Float[Tensor, "B C"], alpha: float
) -> Float[Tensor, " B"]:
    """Return Σ_y q(y) Δ(y), with q(y) = p(y)^α / Σ_y' p(y')^α over the candidates (eq. 12 and 13).

    log p is −∞ for padding, if a sentence has fewer candidates than others.
    """
    return (torch.softmax(alpha * log_p, dim=1) * delta).sum(dim=1)
