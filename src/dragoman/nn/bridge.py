"""From the encoder's summary to the decoder's first state: h⁰ = tanh(W z + b), one for each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.shapes import Float, Tensor


class ProjectedBridge(nn.Module):
    """Bahdanau et al. 2015, appendix A.2.2: a projection, so widths may differ."""

    def __init__(self, summary_size: int, size: int, layers: int) -> None:
        super().__init__()
        self.W = nn.Linear(summary_size, layers * size)
        self.layers = layers

    def forward(self, z: Float[Tensor, "B Z"]) -> list[Float[Tensor, "B D"]]:
        return list(torch.tanh(self.W(z)).chunk(self.layers, dim=1))

    if TYPE_CHECKING:
        __call__ = forward
