"""Ways to merge the two states h→ and h← of a token in a bidirectional layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.shapes import Float, Tensor


class ConcatDirections(nn.Module):
    """[h→; h←]"""

    def forward(self, right: Float[Tensor, "*N D"], left: Float[Tensor, "*N D"]) -> Float[Tensor, "*N J"]:
        return torch.cat((right, left), dim=-1)

    if TYPE_CHECKING:
        __call__ = forward


class MeanDirections(nn.Module):
    """½ (h→ + h←)"""

    def forward(self, right: Float[Tensor, "*N D"], left: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        return 0.5 * (right + left)

    if TYPE_CHECKING:
        __call__ = forward


class ProjectedDirections(nn.Module):
    """W [h→; h←] + b"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.W = nn.Linear(2 * size, size)

    def forward(self, right: Float[Tensor, "*N D"], left: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        return self.W(torch.cat((right, left), dim=-1))

    if TYPE_CHECKING:
        __call__ = forward
