"""The GRU cell (Cho et al. 2014) in its two forms: the reset gate r is applied after W_h, or before it.

u, r = σ(W_x x + W_h h + b)    ĥ = tanh(W_x x + b + r ⊙ W_h h), or tanh(W_x x + b + W_h (r ⊙ h))
h' = u ⊙ h + (1 − u) ⊙ ĥ
"""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class GRUCell(Cell):
    """GRU cell with r after W_h, as in torch and cuDNN. Gates in their order, r, u, ĥ, with one bias each."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=3)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, h.new_empty(h.shape[0], 0))

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        r_x, u_x, n_x = a.chunk(3, dim=1)
        r_h, u_h, n_h = F.linear(state.h, self.W_h).chunk(3, dim=1)
        r, u = (r_x + r_h).sigmoid(), (u_x + u_h).sigmoid()
        return {"r": r, "u": u, "ĥ": (n_x + r * n_h).tanh()}

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        _, u, candidate = self.gates(a, state).values()
        return CellState(u * state.h + (1.0 - u) * candidate, state.c)


class ResetFirstGRUCell(Cell):
    """GRU cell with r before W_h, as in Cho et al. The gates are in the same order: r, u, ĥ."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=3)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, h.new_empty(h.shape[0], 0))

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        r_x, u_x, n_x = a.chunk(3, dim=1)
        W_ru, W_n = self.W_h[: 2 * self.size], self.W_h[2 * self.size :]
        r_h, u_h = F.linear(state.h, W_ru).chunk(2, dim=1)
        r, u = (r_x + r_h).sigmoid(), (u_x + u_h).sigmoid()
        return {"r": r, "u": u, "ĥ": (n_x + F.linear(r * state.h, W_n)).tanh()}

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        _, u, candidate = self.gates(a, state).values()
        return CellState(u * state.h + (1.0 - u) * candidate, state.c)
