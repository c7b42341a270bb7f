"""The LSTM cell (Hochreiter & Schmidhuber 1997; forget gate of Gers et al. 2000).

i, f, o = σ(W_x x + W_h h + b)    ĉ = tanh(W_x x + W_h h + b)
c' = f ⊙ c + i ⊙ ĉ               h' = o ⊙ tanh(c')
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class LSTMCell(Cell):
    """LSTM cell. The gates are in torch's order, i, f, ĉ, o, with one bias each, as in the equations."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=4)
        nn.init.ones_(self.b[size : 2 * size])  # forget little at the start (Jozefowicz et al. 2015)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, torch.zeros_like(h))

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        i, f, g, o = (a + F.linear(state.h, self.W_h)).chunk(4, dim=1)
        return {"i": i.sigmoid(), "f": f.sigmoid(), "ĉ": g.tanh(), "o": o.sigmoid()}

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        i, f, g, o = self.gates(a, state).values()
        c = f * state.c + i * g
        return CellState(o * c.tanh(), c)
