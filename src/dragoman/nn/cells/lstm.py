"""The LSTM cell (Hochreiter & Schmidhuber 1997; forget gate of Gers et al. 2000).

i, f, o = σ(W_x x + W_h h + b)    ĉ = tanh(W_x x + W_h h + b)
c' = f ⊙ c + i ⊙ ĉ               h' = o ⊙ tanh(c')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


class LSTMState(NamedTuple):
    h: Float[Tensor, "B D"]
    c: Float[Tensor, "B D"]


class LSTMCell(nn.Module):
    """The gates stand in torch's order: i, f, ĉ, o. One bias a gate, as in the equations."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.W_x = nn.Parameter(torch.empty(4 * size, input_size))
        self.W_h = nn.Parameter(torch.empty(4 * size, size))
        self.b = nn.Parameter(torch.zeros(4 * size))
        nn.init.xavier_uniform_(self.W_x)
        for W in self.W_h.chunk(4):
            nn.init.orthogonal_(W)
        nn.init.ones_(self.b[size : 2 * size])  # start by remembering (Jozefowicz et al. 2015)

    def zero(self, rows: int) -> LSTMState:
        return LSTMState(self.b.new_zeros(rows, self.size), self.b.new_zeros(rows, self.size))

    def begin(self, h: Float[Tensor, "B D"]) -> LSTMState:
        return LSTMState(h, torch.zeros_like(h))

    def forward(self, x: Float[Tensor, "B X"], state: LSTMState) -> LSTMState:
        return self.gate(F.linear(x, self.W_x, self.b), state)

    def gate(self, a: Float[Tensor, "B G"], state: LSTMState) -> LSTMState:
        """The step for an input that has already been multiplied: a = W_x x + b."""
        i, f, g, o = (a + F.linear(state.h, self.W_h)).chunk(4, dim=1)
        c = f.sigmoid() * state.c + i.sigmoid() * g.tanh()
        return LSTMState(o.sigmoid() * c.tanh(), c)

    if TYPE_CHECKING:
        __call__ = forward
