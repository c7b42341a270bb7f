"""A linear layer with weight normalisation (Salimans & Kingma 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


class WeightNormed(nn.Module):
    """W x + b with W = g v / ‖v‖ for each row: v is the direction, g the length.

    W is initialised from N(0, √(p γ / n)), where the dropout before it retains each of the n inputs with
    probability p. The gain γ is 4 before a gated linear unit, which quarters the variance, and 1 otherwise
    (Gehring et al. 2017, section 3.5). g starts as ‖v‖, so that the initial v is W.
    """

    def __init__(self, input_size: int, size: int, *, retain: float = 1.0, gain: float = 1.0) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.randn(size, input_size) * (gain * retain / input_size) ** 0.5)
        self.g = nn.Parameter(self.v.detach().norm(dim=1))
        self.b = nn.Parameter(torch.zeros(size))

    def matrix(self) -> Float[Tensor, "Y X"]:
        return self.v * (self.g / self.v.norm(dim=1)).unsqueeze(1)

    def forward(self, x: Float[Tensor, "*n X"]) -> Float[Tensor, "*n Y"]:
        return F.linear(x, self.matrix(), self.b)

    if TYPE_CHECKING:
        __call__ = forward
