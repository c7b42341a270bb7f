"""A product whose rows have a length and a direction of their own (Salimans & Kingma 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


class WeightNormed(nn.Module):
    """W x + b with W = g v / ‖v‖ row by row: v is a direction, g its length.

    W starts with rows of N(0, √(p γ / n)), where n inputs are retained with probability p by the dropout in
    front; the gain γ is 4 where a gated linear unit follows, which quarters the variance, and else 1
    (Gehring et al. 2017, section 3.5). g starts as ‖v‖, so that v is drawn as W.
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
