"""A cell unrolled over time, step by step: the definition. `nn/fast/recurrent.py` is its fast equivalent."""

from __future__ import annotations

import torch

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor


def unroll(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> Float[Tensor, "B T D"]:
    """Return h_1 … h_T, given the initial state."""
    hs = []
    for x_t in x.unbind(dim=1):
        state = cell(x_t, state)
        hs.append(state.h)
    return torch.stack(hs, dim=1)


def last(h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Return the state after the last real token of each sentence."""
    end = keep.sum(dim=1) - 1
    return h[torch.arange(h.shape[0], device=h.device), end]


def reversal(keep: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Return indices that reverse the real tokens of each sentence and leave padding in place."""
    index = torch.arange(keep.shape[1], device=keep.device).expand(keep.shape)
    return torch.where(keep, keep.sum(dim=1, keepdim=True) - 1 - index, index)


def reorder(x: Shaped[Tensor, "B S D"], order: Int[Tensor, "B S"]) -> Shaped[Tensor, "B S D"]:
    return x.gather(1, order.unsqueeze(2).expand(x.shape))
