"""Cross-entropy with label smoothing (Szegedy et al. 2016, section 7)."""

from __future__ import annotations

import torch

from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor


def cross_entropy(log_p: Float[Tensor, "N V"], y: Int[Tensor, " N"], smoothing: float) -> LossSum:
    """Return Σ (1 − ε)(−log p_y) + ε (−1/V Σ_v log p_v), summed over the rows."""
    nll = -log_p.gather(1, y.unsqueeze(1)).sum()
    return LossSum((1.0 - smoothing) * nll - smoothing * log_p.mean(dim=1).sum(), nll)


def output_loss(
    h: Float[Tensor, "N D"],
    W: Float[Tensor, "V D"],
    b: Float[Tensor, " V"],
    y: Int[Tensor, " N"],
    smoothing: float,
) -> LossSum:
    """Return the cross-entropy of log p = log_softmax(W h + b): the reference implementation."""
    log_p = torch.log_softmax(torch.nn.functional.linear(h, W, b).float(), dim=1)
    return cross_entropy(log_p, y, smoothing)
