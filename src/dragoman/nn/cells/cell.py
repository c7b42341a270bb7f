"""The base class of recurrent cells: W_x for the input, W_h for the previous state, b; and their state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


class CellState(NamedTuple):
    """The output h and the internal cell state c, which is empty for cells without one."""

    h: Float[Tensor, "B D"]
    c: Float[Tensor, "B C"]


class Cell(nn.Module, ABC):
    """A recurrent cell. The matrices of the gates are stacked, so each of W_x and W_h is one product."""

    def __init__(self, input_size: int, size: int, gates: int) -> None:
        super().__init__()
        self.size = size
        self.W_x = nn.Parameter(torch.empty(gates * size, input_size))
        self.W_h = nn.Parameter(torch.empty(gates * size, size))
        self.b = nn.Parameter(torch.zeros(gates * size))
        nn.init.xavier_uniform_(self.W_x)
        for W in self.W_h.chunk(gates):
            nn.init.orthogonal_(W)

    @abstractmethod
    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        """Return an initial state with output h."""

    @abstractmethod
    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        """Return the next state, given the projected input a = W_x x + b."""

    def gates(self, a: Float[Tensor, "B G"], state: CellState) -> dict[str, Float[Tensor, "B D"]]:
        """Return the gates by their letters; none for a cell that does not name them."""
        return {}

    def zero(self, rows: int) -> CellState:
        return self.begin(self.b.new_zeros(rows, self.size))

    def forward(self, x: Float[Tensor, "B X"], state: CellState) -> CellState:
        return self.gate(F.linear(x, self.W_x, self.b), state)

    if TYPE_CHECKING:
        __call__ = forward
