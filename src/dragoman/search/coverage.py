"""What a beam takes off for source tokens that were not looked at."""

from __future__ import annotations

import torch

from dragoman.shapes import Bool, Float, Tensor


def coverage_penalty(seen: Float[Tensor, "N S"], keep: Bool[Tensor, "N S"]) -> Float[Tensor, " N"]:
    """Σ_i log min(Σ_t α_ti, 1) over the source tokens: 0 where each was looked at (Wu et al. 2016)."""
    tiny = torch.finfo(
        seen.dtype
    ).tiny  # a window may never look at a token: a large penalty, not an endless one
    return seen.clamp(tiny, 1.0).log().masked_fill(~keep, 0.0).sum(dim=-1)
