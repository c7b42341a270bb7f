"""The simple recurrent cell (Elman 1990).

h' = tanh(W_x x + W_h h + b)
"""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Float, Tensor


class ElmanCell(Cell):
    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, gates=1)

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return CellState(h, h.new_empty(h.shape[0], 0))

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        return CellState((a + F.linear(state.h, self.W_h)).tanh(), state.c)
