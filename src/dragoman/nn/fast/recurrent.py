"""torch's fused LSTM and GRU over a whole sequence: the twins of `cells.unroll`, with the same parameters."""

from __future__ import annotations

import torch

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.shapes import Float, Tensor


def run(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> Float[Tensor, "B T D"]:
    h, c = (x.unsqueeze(0).contiguous() for x in state)
    match cell:
        case LSTMCell():
            weights = [cell.W_x, cell.W_h, cell.b, torch.zeros_like(cell.b)]
            return torch.lstm(x, [h, c], weights, True, 1, 0.0, cell.training, False, True)[0]
        case GRUCell():
            b_h = torch.cat((torch.zeros_like(cell.b[: 2 * cell.size]), cell.b_h))
            weights = [cell.W_x, cell.W_h, cell.b, b_h]
            return torch.gru(x, h, weights, True, 1, 0.0, cell.training, False, True)[0]
    raise TypeError(f"{type(cell).__name__} has no fused twin")
