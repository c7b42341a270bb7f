"""A cell over time: the definition, step by step. `nn/fast/recurrent.py` is its twin."""

from __future__ import annotations

import torch

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.shapes import Bool, Float, Int, Tensor


def unroll(cell: Cell, x: Float[Tensor, "B T X"], state: CellState) -> Float[Tensor, "B T D"]:
    """h_1 … h_T from a first state."""
    hs = []
    for x_t in x.unbind(dim=1):
        state = cell(x_t, state)
        hs.append(state.h)
    return torch.stack(hs, dim=1)


def last(h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """The state after each sentence's last real token."""
    end = keep.sum(dim=1) - 1
    return h[torch.arange(h.shape[0], device=h.device), end]


def reversal(keep: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Positions that read each sentence from its last real token to its first; padding stays where it is."""
    place = torch.arange(keep.shape[1], device=keep.device).expand(keep.shape)
    return torch.where(keep, keep.sum(dim=1, keepdim=True) - 1 - place, place)


def reorder(x: Float[Tensor, "B S D"], places: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
    return x.gather(1, places.unsqueeze(2).expand(x.shape))
