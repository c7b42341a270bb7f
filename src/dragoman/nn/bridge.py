"""Bridges: the initial state of each decoder layer, computed from the encoder output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.protocols import Memory


class LastStateBridge(nn.Module):
    """s⁰ = h_S, layer by layer, including the cell states c (Sutskever et al. 2014)."""

    def forward(self, memory: Memory, cells: Sequence[Cell]) -> list[CellState]:
        return [CellState(*end) for end in memory.ends]

    if TYPE_CHECKING:
        __call__ = forward


class ProjectedBridge(nn.Module):
    """s⁰ = tanh(W z + b) of the summary z; widths may differ (Bahdanau et al. 2015, appendix A.2.2)."""

    def __init__(self, summary_size: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.W = nn.Linear(summary_size, sum(sizes))

    def forward(self, memory: Memory, cells: Sequence[Cell]) -> list[CellState]:
        hs = torch.tanh(self.W(memory.summary)).split([cell.size for cell in cells], dim=1)
        return [cell.begin(h) for cell, h in zip(cells, hs, strict=True)]

    if TYPE_CHECKING:
        __call__ = forward


class ZeroBridge(nn.Module):
    """s⁰ = 0: the decoder sees the source through attention only."""

    def forward(self, memory: Memory, cells: Sequence[Cell]) -> list[CellState]:
        return [cell.zero(memory.summary.shape[0]) for cell in cells]

    if TYPE_CHECKING:
        __call__ = forward
