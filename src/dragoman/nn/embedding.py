"""Token embeddings. One matrix may be shared by source, target and output (Press & Wolf 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.characters import CharacterCNN, SpelledWords
from dragoman.nn.dropout import Dropout
from dragoman.nn.position import Learned, Sinusoidal
from dragoman.shapes import Float, Shaped, Tensor


def embedding_matrix(vocabulary: int, size: int) -> nn.Parameter:
    """Return a matrix with rows of norm about 1, so that √d · row is as large as a position vector."""
    return nn.Parameter(torch.randn(vocabulary, size) * size**-0.5)


# The last if vectors are given instead of tokens.
Matrix = nn.Parameter | CharacterCNN | SpelledWords | nn.Identity


def rows(matrix: Matrix, y: Shaped[Tensor, "B T *f"]) -> Float[Tensor, "B T E"]:
    """Return the row of each token, stored or computed from its spelling."""
    return F.embedding(y, matrix) if isinstance(matrix, nn.Parameter) else matrix(y)


def scaled_rows(matrix: Matrix, y: Shaped[Tensor, "B T *f"]) -> Float[Tensor, "B T E"]:
    """Return √d · row of each token. Vectors that are given are as large as that already."""
    x = rows(matrix, y)
    return x if isinstance(matrix, nn.Identity) else x * x.shape[2] ** 0.5


class PlainEmbedding(nn.Module):
    """The row of each token, for recurrent networks, which need no positions."""

    def __init__(self, matrix: Matrix, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.dropout = Dropout(dropout)

    def forward(self, y: Shaped[Tensor, "B T *f"]) -> Float[Tensor, "B T E"]:
        return self.dropout(rows(self.matrix, y))

    if TYPE_CHECKING:
        __call__ = forward


class PositionedEmbedding(nn.Module):
    """√d · row + position   (Vaswani et al. 2017, sections 3.4 and 3.5)."""

    def __init__(self, matrix: Matrix, positions: Sinusoidal | Learned, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, y: Shaped[Tensor, "B T *f"], start: int = 0) -> Float[Tensor, "B T E"]:
        return self.dropout(scaled_rows(self.matrix, y) + self.positions(start, y.shape[1]))

    if TYPE_CHECKING:
        __call__ = forward


class ScaledEmbedding(nn.Module):
    """√d · row, for layers whose attention uses relative positions."""

    def __init__(self, matrix: Matrix, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.dropout = Dropout(dropout)

    def forward(self, y: Shaped[Tensor, "B T *f"], start: int = 0) -> Float[Tensor, "B T E"]:
        return self.dropout(scaled_rows(self.matrix, y))

    if TYPE_CHECKING:
        __call__ = forward
