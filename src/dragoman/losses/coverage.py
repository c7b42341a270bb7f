"""Coverage loss: penalises repeated attention to a source token (Tu et al. 2016; See et al. 2017)."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.shapes import Bool, Float, Tensor


def coverage(alpha: Float[Tensor, "B T S"], keep: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Return Σ_t Σ_i min(α_ti, cov_ti) over real steps, with cov_t = Σ_{t'<t} α_t' (See et al., eq. 12)."""
    cov = F.pad(alpha[:, :-1].cumsum(dim=1), (0, 0, 1, 0))
    return torch.minimum(alpha, cov)[keep].sum()
