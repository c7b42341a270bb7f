"""The deep output of the first encoder–decoders (Bahdanau et al. 2015, appendix A.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.shapes import Float, Tensor


class MaxoutOutput(nn.Module):
    """t̃ = U_o s + V_o y + C_o c + b    t_j = max(t̃_{2j−1}, t̃_{2j})

    The appendix has s of the previous step; this is g(y_{t−1}, s_t, c_t) of equation 4 of the paper.
    """

    def __init__(self, state: int, token: int, context: int, size: int) -> None:
        super().__init__()
        self.UVC = nn.Linear(state + token + context, 2 * size)

    def forward(
        self, s: Float[Tensor, "*N Q"], y: Float[Tensor, "*N E"], c: Float[Tensor, "*N M"]
    ) -> Float[Tensor, "*N D"]:
        return self.UVC(torch.cat((s, y, c), dim=-1)).unflatten(-1, (-1, 2)).amax(dim=-1)

    if TYPE_CHECKING:
        __call__ = forward
