"""One left-to-right layer of a recurrent network.

h_t = cell([x_t; b_t], h_{t−1})    y_t = around(x_t, dropout(h_t)), where b_t is an extra input of decoders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.unroll import last
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.recurrent import run, run_to_ends
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.shapes import Bool, Float, Tensor


class RecurrentLayer(nn.Module):
    def __init__(self, cell: Cell, around: Plain | Residual, dropout: Dropout) -> None:
        super().__init__()
        self.cell = cell
        self.around = around
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "B T X"], state: CellState, extra_input: Float[Tensor, "B T Z"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Return the outputs of the sequence, given the initial state; `extra_input` is the extra input b."""
        seen = x if extra_input is None else torch.cat((x, extra_input), dim=2)
        return self.around(x, self.dropout(run(self.cell, seen, state)))

    def over(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B D"]]:
        """Return the outputs from a zero state, and h after the last real token of each sentence."""
        h = run(self.cell, x, self.cell.zero(x.shape[0]))
        return self.around(x, self.dropout(h)), last(h, keep)

    def to_end(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], CellState]:
        """Return the outputs from a zero state, and the full state after each last real token."""
        h, end = run_to_ends(self.cell, x, self.cell.zero(x.shape[0]), keep)
        return self.around(x, self.dropout(h)), end

    def read(self, x: Float[Tensor, "*N X"]) -> Float[Tensor, "*N G"]:
        """Return the part of W_x [x; b] + bias that depends on x: one product for a whole target."""
        return F.linear(x, self.cell.W_x[:, : x.shape[-1]], self.cell.b)

    def extra_weight(self, x: Float[Tensor, "*N X"]) -> Float[Tensor, "G Z"]:
        """Return the columns of W_x that belong to b."""
        return self.cell.W_x[:, x.shape[-1] :]

    def step(
        self,
        x: Float[Tensor, "N X"],
        a: Float[Tensor, "N G"],
        state: CellState,
        mask: Float[Tensor, "N D"] | None,
    ) -> tuple[Float[Tensor, "N D"], CellState]:
        """Do one step, where `a` is W_x [x; b] + bias, and `mask` the dropout mask if it is drawn already."""
        state = self.cell.gate(a, state)
        return self.around(x, self.dropout(state.h) if mask is None else state.h * mask), state

    def masks(self, rows: int, steps: int) -> Float[Tensor, "B T D"]:
        """Return the dropout masks of a whole target, for decoders that run step by step."""
        return self.dropout(self.cell.b.new_ones(rows, steps, self.cell.size))

    if TYPE_CHECKING:
        __call__ = forward
