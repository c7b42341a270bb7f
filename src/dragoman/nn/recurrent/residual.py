"""What stands around a cell: functions of one token, so that a decoder can step through them.

`norm` is a layer norm (Ba et al. 2016), or nothing.
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
    """y = norm(x + h), where x and h are equally wide (Wu et al. 2016, eq. 6)."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Float[Tensor, "*N D"], h: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        return self.norm(x + h)

    if TYPE_CHECKING:
        __call__ = forward
