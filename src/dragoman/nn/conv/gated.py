"""Gated convolutions (Dauphin et al. 2017): the output of a convolution times a learned gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor


def glu(y: Float[Tensor, "N X"]) -> Float[Tensor, "N D"]:
    """Return v([A B]) = A ⊗ σ(B)."""
    return F.glu(y, dim=1)


def windows(x: Float[Tensor, "N D"], shape: tuple[int, int], kernel: int, left: int) -> Float[Tensor, "N X"]:
    """Return [x_{i−left}; …; x_{i−left+k−1}] for each token i of B zero-padded sentences of T tokens.

    One product with them is the convolution; torch's conv1d compiles a kernel for every new shape on a CPU.
    """
    tokens = F.pad(x.view(*shape, -1), (0, 0, left, kernel - 1 - left))
    return torch.cat([tokens[:, j : j + shape[1]] for j in range(kernel)], dim=2).flatten(0, 1)


class GatedConvolution(nn.Module):
    """v(W [x_{i−left}, …, x_{i−left+k−1}] + b)   (Gehring et al. 2017, section 3.2).

    The window is centred if left = (k − 1) / 2, and causal if left = k − 1.
    """

    def __init__(self, input_size: int, size: int, kernel: int, left: int, dropout: float) -> None:
        super().__init__()
        self.kernel = kernel
        self.left = left
        self.input_size = input_size
        self.W = WeightNormed(kernel * input_size, 2 * size, retain=1.0 - dropout, gain=4.0)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N X"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        return glu(self.W(windows(self.dropout(x), shape, self.kernel, self.left)))

    def before(self, rows: int) -> Float[Tensor, "N P X"]:
        """Return the k − 1 inputs before the first one, which are zeros."""
        return self.W.b.new_zeros(rows, self.kernel - 1, self.input_size)

    def step(
        self, x: Float[Tensor, "N X"], past: Float[Tensor, "N P X"]
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N P X"]]:
        """Return the output of a causal window for one input of N sequences, and the last k − 1 inputs."""
        seen = torch.cat((past, self.dropout(x).unsqueeze(1)), dim=1)
        return glu(self.W(seen.flatten(1))), seen[:, 1:]

    if TYPE_CHECKING:
        __call__ = forward
