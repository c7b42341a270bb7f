"""e = w + p: a word and its place, both looked up (Gehring et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Int, Tensor

STD = 0.1  # of every embedding at the start (section 3.5)


class PlacedEmbedding(nn.Module):
    def __init__(self, matrix: nn.Parameter, count: int, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.places = nn.Parameter(torch.randn(count, matrix.shape[1]) * STD)
        self.dropout = Dropout(dropout)

    def forward(self, y: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return self.dropout(F.embedding(y, self.matrix) + self.places[: y.shape[1]])

    def at(self, y: Int[Tensor, " N"], place: Int[Tensor, " N"]) -> Float[Tensor, "N E"]:
        """One token each, at the place where each stands."""
        return self.dropout(F.embedding(y, self.matrix) + F.embedding(place, self.places))

    if TYPE_CHECKING:
        __call__ = forward
