"""Recurrent layers as the ONNX operators LSTM, GRU and RNN.

ONNX expects time as the first axis, has a second bias for W_h h, reverses each sentence within its length
itself, and orders gates differently: i, o, f, ĉ in an LSTM and u, r, ĥ in a GRU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.shapes import Bool, Float, Tensor


class Ran(NamedTuple):
    """h of all tokens in each direction, and the state of each direction after its last real token."""

    h: list[Float[Tensor, "B S D"]]
    ends: list[CellState]


class Recurrence(nn.Module):
    """A forward cell, or a forward and a backward cell of the same kind, starting from zero states.

    It can be traced for ONNX, but not run by PyTorch.
    """

    W: Tensor
    R: Tensor
    B: Tensor
    P: Tensor

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__()
        self.size, self.count = cells[0].size, len(cells)
        self.operator, self.attributes = operator_of(cells[0])
        for name, rows in zip("WRBP", zip(*map(weights_of, cells), strict=True), strict=True):
            self.register_buffer(name, torch.stack(rows).contiguous())

    def forward(self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]) -> Ran:
        B, S = x.shape[:2]
        inputs: list[Tensor | None] = [x.transpose(0, 1), self.W, self.R, self.B, keep.sum(1).int()]
        is_lstm = self.operator == "LSTM"
        if self.P.numel():
            inputs += [None, None, self.P]
        end = (self.count, B, self.size)
        shapes = [(S, self.count, B, self.size), *[end] * (1 + is_lstm)]
        direction = "bidirectional" if self.count == 2 else "forward"
        attributes: dict[str, Any] = {"hidden_size": self.size, "direction": direction, **self.attributes}
        h, *last = torch.onnx.ops.symbolic_multi_out(
            self.operator, inputs, attributes, dtypes=[x.dtype] * len(shapes), shapes=shapes
        )
        ends = [state.unbind(0) for state in last]
        cs = ends[1] if is_lstm else [x.new_empty(B, 0)] * self.count
        hs = [each.transpose(0, 1) for each in h.unbind(1)]
        return Ran(hs, [CellState(*state) for state in zip(ends[0], cs, strict=True)])

    if TYPE_CHECKING:
        __call__ = forward


def operator_of(cell: Cell) -> tuple[str, dict[str, int]]:
    match cell:
        case LSTMCell() | PeepholeLSTMCell() | CoupledLSTMCell():
            return "LSTM", {}
        case GRUCell():
            return "GRU", {"linear_before_reset": 1}
        case ResetFirstGRUCell():
            return "GRU", {"linear_before_reset": 0}
        case ElmanCell():
            return "RNN", {}
    raise TypeError(f"ONNX has no operator for {type(cell).__name__}")


def weights_of(cell: Cell) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return W_x, W_h, both biases and the peepholes, in the gate order of ONNX."""
    W, R, b = (in_order(cell, x.detach()) for x in (cell.W_x, cell.W_h, cell.b))
    p = cell.p.detach()[[0, 2, 1]].flatten() if isinstance(cell, PeepholeLSTMCell) else b.new_empty(0)
    return W, R, torch.cat((b, torch.zeros_like(b))), p


def in_order(cell: Cell, x: Tensor) -> Tensor:
    match cell:
        case LSTMCell() | PeepholeLSTMCell():
            i, f, g, o = x.chunk(4)
            return torch.cat((i, o, f, g))
        case CoupledLSTMCell():
            f, g, o = x.chunk(3)
            return torch.cat((-f, o, f, g))  # i = 1 − σ(f) = σ(−f)
        case GRUCell() | ResetFirstGRUCell():
            r, u, n = x.chunk(3)
            return torch.cat((u, r, n))
    return x
