"""torch's fused LSTM and GRU over a whole sequence: the twins of `cells.unroll`, with the same parameters."""

from __future__ import annotations

import torch

from dragoman.nn.cells.gru import GRUCell, GRUState
from dragoman.nn.cells.lstm import LSTMCell, LSTMState
from dragoman.nn.cells.unroll import Cell, CellState
from dragoman.shapes import Float, Tensor


def run(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> Float[Tensor, "B T D"]:
    match cell, state:
        case LSTMCell(), LSTMState(h, c):
            weights = [cell.W_x, cell.W_h, cell.b, torch.zeros_like(cell.b)]
            start = [h.unsqueeze(0).contiguous(), c.unsqueeze(0).contiguous()]
            return torch.lstm(x, start, weights, True, 1, 0.0, cell.training, False, True)[0]
        case GRUCell(), GRUState(h):
            b_h = torch.cat((torch.zeros_like(cell.b[: 2 * cell.size]), cell.b_h))
            weights = [cell.W_x, cell.W_h, cell.b, b_h]
            return torch.gru(
                x, h.unsqueeze(0).contiguous(), weights, True, 1, 0.0, cell.training, False, True
            )[0]
    raise TypeError(f"{type(state).__name__} is not a state of {type(cell).__name__}")
