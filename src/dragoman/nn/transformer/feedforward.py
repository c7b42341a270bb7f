"""FFN(x) = W₂ · activation(W₁ x + b₁) + b₂   (Vaswani et al. 2017, eq. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor


class FeedForward(nn.Module):
    """With ReLU, as in the paper."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.W_1, self.W_2 = projections(size, inner)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.W_2(self.dropout(F.relu(self.W_1(x))))

    if TYPE_CHECKING:
        __call__ = forward


class GELUFeedForward(nn.Module):
    """With GELU (Hendrycks & Gimpel 2016)."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.W_1, self.W_2 = projections(size, inner)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.W_2(self.dropout(F.gelu(self.W_1(x))))

    if TYPE_CHECKING:
        __call__ = forward


class SwishFeedForward(nn.Module):
    """With swish, x σ(x)   (Ramachandran et al. 2017)."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.W_1, self.W_2 = projections(size, inner)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.W_2(self.dropout(F.silu(self.W_1(x))))

    if TYPE_CHECKING:
        __call__ = forward


class SwiGLUFeedForward(nn.Module):
    """W₂ (swish(W₁ x) ⊙ V x), without biases   (Shazeer 2020, eq. 6)."""

    def __init__(self, size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.W_1 = nn.Linear(size, inner, bias=False)
        self.V = nn.Linear(size, inner, bias=False)
        self.W_2 = nn.Linear(inner, size, bias=False)
        for W in (self.W_1, self.V, self.W_2):
            nn.init.xavier_uniform_(W.weight)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.W_2(self.dropout(F.silu(self.W_1(x)) * self.V(x)))

    if TYPE_CHECKING:
        __call__ = forward


def projections(size: int, inner: int) -> tuple[nn.Linear, nn.Linear]:
    pair = nn.Linear(size, inner), nn.Linear(inner, size)
    for W in pair:
        nn.init.xavier_uniform_(W.weight)
        nn.init.zeros_(W.bias)
    return pair


FFN = FeedForward | GELUFeedForward | SwishFeedForward | SwiGLUFeedForward
