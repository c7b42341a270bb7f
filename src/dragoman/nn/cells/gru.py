"""The GRU cell (Cho et al. 2014), in the form that applies r after W_hh, as torch and cuDNN do.

u, r = σ(W_x x + W_h h + b)    ĥ = tanh(W_x x + b_x + r ⊙ (W_h h + b_h))    h' = u ⊙ h + (1 − u) ⊙ ĥ
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


class GRUState(NamedTuple):
    h: Float[Tensor, "B D"]


class GRUCell(nn.Module):
    """The gates stand in torch's order: r, u, ĥ. `b_h` is the bias that the reset gate closes."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.W_x = nn.Parameter(torch.empty(3 * size, input_size))
        self.W_h = nn.Parameter(torch.empty(3 * size, size))
        self.b = nn.Parameter(torch.zeros(3 * size))
        self.b_h = nn.Parameter(torch.zeros(size))
        nn.init.xavier_uniform_(self.W_x)
        for W in self.W_h.chunk(3):
            nn.init.orthogonal_(W)

    def zero(self, rows: int) -> GRUState:
        return GRUState(self.b.new_zeros(rows, self.size))

    def begin(self, h: Float[Tensor, "B D"]) -> GRUState:
        return GRUState(h)

    def forward(self, x: Float[Tensor, "B X"], state: GRUState) -> GRUState:
        return self.gate(F.linear(x, self.W_x, self.b), state)

    def gate(self, a: Float[Tensor, "B G"], state: GRUState) -> GRUState:
        """The step for an input that has already been multiplied: a = W_x x + b."""
        r_x, u_x, n_x = a.chunk(3, dim=1)
        r_h, u_h, n_h = F.linear(state.h, self.W_h).chunk(3, dim=1)
        r, u = (r_x + r_h).sigmoid(), (u_x + u_h).sigmoid()
        candidate = (n_x + r * (n_h + self.b_h)).tanh()
        return GRUState(u * state.h + (1.0 - u) * candidate)

    if TYPE_CHECKING:
        __call__ = forward
