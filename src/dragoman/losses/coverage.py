"""Coverage loss: penalises repeated attention to a source token (Tu et al. 2016; See et al. 2017)."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


def coverage(alpha: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
    """Return min(α_ti, cov_ti), with cov_t = Σ_{t'<t} α_t'; the loss is their sum (See et al., eq. 12)."""
    cov = F.pad(alpha[:, :-1].cumsum(dim=1), (0, 0, 1, 0))
    return torch.minimum(alpha, cov)
