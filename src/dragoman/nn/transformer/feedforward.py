"""FFN(x) = W₂ · activation(W₁ x + b₁) + b₂   (Vaswani et al. 2017, eq. 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor

Activation = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    def __init__(self, size: int, inner: int, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.W_1 = nn.Linear(size, inner)
        self.W_2 = nn.Linear(inner, size)
        self.activation = activation
        self.dropout = Dropout(dropout)
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W.weight)
            nn.init.zeros_(W.bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.W_2(self.dropout(self.activation(self.W_1(x))))

    if TYPE_CHECKING:
        __call__ = forward
