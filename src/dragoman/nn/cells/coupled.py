"""The LSTM cell with coupled gates, i = 1 − f (Greff et al. 2017), and a quarter fewer parameters.

f, o = σ(W_x x + W_h h + b)        ĉ = tanh(W_x x + W_h h + b)
c' = f ⊙ c + (1 − f) ⊙ ĉ           h' = o ⊙ tanh(c')
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class CoupledLSTMCell(Cell):
    """LSTM cell with coupled gates, in the order of the LSTM: f, ĉ, o."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=3)
        nn.init.ones_(self.b[:size])  # forget little at the start (Jozefowicz et al. 2015)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, torch.zeros_like(h))

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        f, g, o = (a + F.linear(state.h, self.W_h)).chunk(3, dim=1)
        return {"f": f.sigmoid(), "ĉ": g.tanh(), "o": o.sigmoid()}

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        f, g, o = self.gates(a, state).values()
        c = f * state.c + (1.0 - f) * g
        return CellState(o * c.tanh(), c)
