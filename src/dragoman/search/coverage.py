"""Coverage penalty of a beam (Wu et al. 2016, equation 14)."""

from __future__ import annotations

import torch

from dragoman.shapes import Bool, Float, Tensor


def coverage_penalty(seen: Float[Tensor, "*N S"], keep: Bool[Tensor, "*b S"]) -> Float[Tensor, "*N"]:
    """Return Σ_i log min(Σ_t α_ti, 1) over the source tokens: 0 if each received at least 1 in total."""
    # Windowed attention may never reach a token; the penalty is then large but finite.
    tiny = torch.finfo(seen.dtype).tiny
    return seen.clamp(tiny, 1.0).log().masked_fill(~keep, 0.0).sum(dim=-1)
