"""The residual connection with the norm before or after the sub-layer.

For a sub-layer that returns more than its output, call the two parts, `before` and `after`, separately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor

Sublayer = Callable[[Tensor], Tensor]


class PreNorm(nn.Module):
    """x + dropout(f(norm(x)))   (Xiong et al. 2020)."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"], f: Sublayer) -> Float[Tensor, "N D"]:
        return self.after(x, f(self.before(x)))

    def before(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.norm(x)

    def after(self, x: Float[Tensor, "N D"], y: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.dropout.add(x, y)

    if TYPE_CHECKING:
        __call__ = forward


class PostNorm(nn.Module):
    """norm(x + dropout(f(x)))   (Vaswani et al. 2017, section 5.4)."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"], f: Sublayer) -> Float[Tensor, "N D"]:
        return self.after(x, f(self.before(x)))

    def before(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return x

    def after(self, x: Float[Tensor, "N D"], y: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.norm(self.dropout.add(x, y))

    if TYPE_CHECKING:
        __call__ = forward


Residual = PreNorm | PostNorm
