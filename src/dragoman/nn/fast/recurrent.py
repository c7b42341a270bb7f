"""A cell over a whole sequence: fast equivalents of `cells.unroll`, with the same parameters.

torch has fused kernels for the Elman cell, the LSTM and the GRU. `sweep` computes the variants of the LSTM,
and the LSTM under autocast on a CPU. For the reset-first GRU, W_x x + b is one product.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.nn.attention.attend import has_no_padding
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.cells.unroll import last
from dragoman.nn.fast.lstm_scan import sweep
from dragoman.shapes import Bool, Float, Tensor

_SATURATED = 1e4  # σ(−10⁴) is 0 and σ(10⁴) is 1 in every floating-point format


def run(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> Float[Tensor, "B T D"]:
    """Return h_1 … h_T."""
    match cell:
        case LSTMCell() if has_fast_kernel(x):
            return _lstm(cell, x, cell.W_x, state)[0]
        case GRUCell():
            return torch.gru(x, _layered(state.h), _weights(cell, cell.W_x), *_one_layer(cell))[0]
        case ElmanCell():
            return torch.rnn_tanh(x, _layered(state.h), _weights(cell, cell.W_x), *_one_layer(cell))[0]
        case LSTMCell() | PeepholeLSTMCell() | CoupledLSTMCell():
            return sweep(cell, x, state)[0]
        case _:
            return torch.stack([state.h for state in _unrolled(cell, x, state)], dim=1)


def run_to_ends(
    cell: Cell, x: Float[Tensor, "B T X"], state: CellState, keep: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, "B T D"], CellState]:
    """Return h_1 … h_T, and the full state after the last real token of each sentence."""
    match cell:
        case LSTMCell() if has_fast_kernel(x):
            h, c = _lstm_to_ends(cell, x, state, keep)
        case LSTMCell() | PeepholeLSTMCell() | CoupledLSTMCell():
            h, cs = sweep(cell, x, state)
            c = last(cs, keep)
        case GRUCell() | ElmanCell():
            h, c = run(cell, x, state), state.c
        case _:
            states = _unrolled(cell, x, state)
            h = torch.stack([state.h for state in states], dim=1)
            c = last(torch.stack([state.c for state in states], dim=1), keep)
    return h, CellState(last(h, keep), c)


def has_fast_kernel(x: Float[Tensor, "*N X"]) -> bool:
    """Return False under autocast on a CPU.

    There, oneDNN's LSTM takes 1.3 to 3 times as long as `sweep` on batches of irregular sizes.
    """
    return x.device.type != "cpu" or not torch.is_autocast_enabled("cpu")


def _unrolled(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> list[CellState]:
    states = []
    for a in F.linear(x, cell.W_x, cell.b).unbind(dim=1):
        state = cell.gate(a, state)
        states.append(state)
    return states


def _lstm_to_ends(
    cell: LSTMCell, x: Float[Tensor, "B T X"], state: CellState, keep: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
    """Return h_1 … h_T, and c after the last real token of each sentence.

    The kernel returns only the last c. An extra input, 1 at padding, closes i and opens f, so that padding
    leaves c unchanged.
    """
    if cell.training and has_no_padding(keep):  # in inference, outputs must not depend on the batch
        return _lstm(cell, x, cell.W_x, state)
    column = F.pad(cell.b.new_full((2, cell.size), _SATURATED), (0, 0, 0, 2))  # rows i, f, ĉ, o
    column[0].neg_()
    padded = torch.cat((x, (~keep).unsqueeze(2).to(x.dtype)), dim=2)
    return _lstm(cell, padded, torch.cat((cell.W_x, column.view(-1, 1)), dim=1), state)


def _lstm(
    cell: LSTMCell, x: Float[Tensor, "B T X"], W_x: Float[Tensor, "G X"], state: CellState
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
    first = [_layered(state.h), _layered(state.c)]
    h, _, c = torch.lstm(x, first, _weights(cell, W_x), *_one_layer(cell))
    return h, c.squeeze(0)


def _weights(cell: Cell, W_x: Float[Tensor, "G X"]) -> list[Tensor]:
    """Return the weights of torch's kernel, which has a second bias, for W_h h; it is 0 here."""
    return [W_x, cell.W_h, cell.b, torch.zeros_like(cell.b)]


def _layered(h: Float[Tensor, "B D"]) -> Float[Tensor, "1 B D"]:
    return h.unsqueeze(0).contiguous()


def _one_layer(cell: Cell) -> tuple[bool, int, float, bool, bool, bool]:
    """Return has_biases, num_layers, dropout, train, bidirectional, batch_first."""
    return True, 1, 0.0, cell.training, False, True
