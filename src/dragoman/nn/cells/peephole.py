"""The LSTM cell with peephole connections (Gers & Schmidhuber 2000): p has one weight per feature.

i, f = σ(W_x x + W_h h + p ⊙ c + b)    ĉ = tanh(W_x x + W_h h + b)
c' = f ⊙ c + i ⊙ ĉ
o = σ(W_x x + W_h h + p ⊙ c' + b)      h' = o ⊙ tanh(c')
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class PeepholeLSTMCell(Cell):
    """Peephole LSTM cell. Gates in the LSTM's order, i, f, ĉ, o. The rows of p (i, f, o) start at 0."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=4)
        self.p = nn.Parameter(torch.zeros(3, size))
        nn.init.ones_(self.b[size : 2 * size])  # forget little at the start (Jozefowicz et al. 2015)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, torch.zeros_like(h))

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        """Return i, f, ĉ and o, and before o the c' that it reads."""
        i, f, g, o = (a + F.linear(state.h, self.W_h)).chunk(4, dim=1)
        p_i, p_f, p_o = self.p.unbind()
        i, f, g = (i + p_i * state.c).sigmoid(), (f + p_f * state.c).sigmoid(), g.tanh()
        c = f * state.c + i * g
        return {"i": i, "f": f, "ĉ": g, "c": c, "o": (o + p_o * c).sigmoid()}

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        *_, c, o = self.gates(a, state).values()
        return CellState(o * c.tanh(), c)
