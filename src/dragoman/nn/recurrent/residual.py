"""Norm and residual connection around a cell, applied per token, so that a decoder can run step by step.

`norm` is layer normalisation (Ba et al. 2016), or the identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.shapes import Float, Tensor


class Plain(nn.Module):
    """y = norm(h)"""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Float[Tensor, "*N X"], h: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        return self.norm(h)

    if TYPE_CHECKING:
        __call__ = forward


class Residual(nn.Module):
    """y = norm(x + h), where x and h have the same width (Wu et al. 2016, eq. 6)."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Float[Tensor, "*N D"], h: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        return self.norm(x + h)

    if TYPE_CHECKING:
        __call__ = forward
