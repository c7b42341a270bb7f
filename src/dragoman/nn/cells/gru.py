"""The GRU cell (Cho et al. 2014), in the form that applies r after W_h, as torch and cuDNN do.

u, r = σ(W_x x + W_h h + b)    ĥ = tanh(W_x x + b + r ⊙ W_h h)    h' = u ⊙ h + (1 − u) ⊙ ĥ
"""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class GRUCell(Cell):
    """The gates stand in torch's order: r, u, ĥ. One bias a gate, as in the equations."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=3)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, h.new_empty(h.shape[0], 0))

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        r_x, u_x, n_x = a.chunk(3, dim=1)
        r_h, u_h, n_h = F.linear(state.h, self.W_h).chunk(3, dim=1)
        r, u = (r_x + r_h).sigmoid(), (u_x + u_h).sigmoid()
        candidate = (n_x + r * n_h).tanh()
        return CellState(u * state.h + (1.0 - u) * candidate, state.c)
