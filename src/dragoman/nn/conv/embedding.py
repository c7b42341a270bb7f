"""e = w + p: the embeddings of a word and of its position (Gehring et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import Matrix, rows
from dragoman.shapes import Float, Int, Shaped, Tensor

STD = 0.1  # standard deviation of every embedding at initialisation (section 3.5)


class PositionalEmbedding(nn.Module):
    def __init__(self, matrix: Matrix, count: int, size: int, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.places = nn.Parameter(torch.randn(count, size) * STD)
        self.dropout = Dropout(dropout)

    def forward(self, y: Shaped[Tensor, "B T *f"]) -> Float[Tensor, "B T E"]:
        return self.dropout(rows(self.matrix, y) + self.places[: y.shape[1]])

    def at(self, y: Int[Tensor, " N"], place: Int[Tensor, " N"]) -> Float[Tensor, "N E"]:
        """Return the embeddings of single tokens at the given positions."""
        return self.dropout(rows(self.matrix, y.unsqueeze(1)).squeeze(1) + F.embedding(place, self.places))

    if TYPE_CHECKING:
        __call__ = forward
