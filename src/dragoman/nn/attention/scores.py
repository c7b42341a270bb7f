"""e(s, h): how well a source state h answers a query s. One class a formula, on one screen.

Each is used in two halves, because keys stay the same while a sentence is decoded:
`keys(h)` once, then `score(s, keys)` at each step.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.shapes import Float, Tensor


class Additive(nn.Module):
    """e = vᵀ tanh(W₁ h + W₂ s)   (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, query_size: int, key_size: int, size: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(key_size, size, bias=False)
        self.W_2 = nn.Linear(query_size, size, bias=False)
        self.v = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        return self.W_1(h)

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.tanh(keys.unsqueeze(1) + self.W_2(s).unsqueeze(2)) @ self.v


class Multiplicative(nn.Module):
    """e = sᵀ W h   (Luong et al. 2015, "general")."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.W = nn.Linear(key_size, query_size, bias=False)

    def keys(self, h: Float[Tensor, "B S D"]) -> Float[Tensor, "B S Q"]:
        return self.W(h)

    def score(self, s: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return s @ keys.transpose(1, 2)  # (B T Q) @ (B Q S) = (B T S)
