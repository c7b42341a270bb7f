"""Tokens → vectors. One matrix may be shared by source, target and output (Press & Wolf 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.nn.position import Learned, Sinusoidal
from dragoman.shapes import Float, Int, Tensor


def embedding_matrix(vocabulary: int, size: int) -> nn.Parameter:
    """Rows of length about 1, so that √d · row is as large as a position."""
    return nn.Parameter(torch.randn(vocabulary, size) * size**-0.5)


class PlainEmbedding(nn.Module):
    """The row of each token: what recurrent networks read, whose order gives the position."""

    def __init__(self, matrix: nn.Parameter, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.dropout = Dropout(dropout)

    def forward(self, y: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return self.dropout(F.embedding(y, self.matrix))

    if TYPE_CHECKING:
        __call__ = forward


class PositionedEmbedding(nn.Module):
    """√d · row + position   (Vaswani et al. 2017, sections 3.4 and 3.5)."""

    def __init__(self, matrix: nn.Parameter, positions: Sinusoidal | Learned, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, y: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T E"]:
        x = F.embedding(y, self.matrix) * self.matrix.shape[1] ** 0.5
        return self.dropout(x + self.positions(start, y.shape[1]))

    if TYPE_CHECKING:
        __call__ = forward


class ScaledEmbedding(nn.Module):
    """√d · row: for layers whose attention knows by itself how far apart tokens stand."""

    def __init__(self, matrix: nn.Parameter, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.dropout = Dropout(dropout)

    def forward(self, y: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T E"]:
        return self.dropout(F.embedding(y, self.matrix) * self.matrix.shape[1] ** 0.5)

    if TYPE_CHECKING:
        __call__ = forward
