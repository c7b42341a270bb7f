"""Where a token stands: sinusoidal and learned positions."""

from __future__ import annotations

import torch
from torch import nn

from dragoman.shapes import Float, Tensor


def sinusoids(count: int, size: int) -> Float[Tensor, "T D"]:
    """PE(pos, i) = sin(pos / 10000^{2i/d}), PE(pos, d/2 + i) = cos(…)   (Vaswani et al. 2017, section 3.5).

    Sine and cosine stand in halves, from position 0: the order that CTranslate2 and Pegasus read.
    """
    pos = torch.arange(count, dtype=torch.float64).unsqueeze(1)
    i = torch.arange((size + 1) // 2, dtype=torch.float64)
    angle = pos * 10000.0 ** (-2.0 * i / size)
    return torch.cat((angle.sin(), angle.cos()), dim=1)[:, :size].float()


class Sinusoidal(nn.Module):
    table: Tensor

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(count, size), persistent=False)

    def forward(self, start: int, count: int) -> Float[Tensor, "T D"]:
        return self.table[start : start + count]


class Learned(nn.Module):
    """One trained vector a position (Gehring et al. 2017)."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(count, size) * size**-0.5)

    def forward(self, start: int, count: int) -> Float[Tensor, "T D"]:
        return self.table[start : start + count]
