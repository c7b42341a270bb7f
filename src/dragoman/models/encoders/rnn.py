"""Recurrent encoders: a stack of layers read from the left, or from both sides (Schuster & Paliwal 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.unroll import last, reorder, reversal
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import PlainEmbedding
from dragoman.nn.fast.recurrent import run
from dragoman.nn.stack import Stack
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Int, Tensor


class RNNEncoder(nn.Module):
    """h_1 … h_S of the top layer; the summary is the state after the last real token."""

    def __init__(self, embed: PlainEmbedding, cells: Sequence[Cell], dropout: float) -> None:
        super().__init__()
        self.embed = embed
        self.cells = Stack(cells)
        self.dropout = Dropout(dropout)

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.embed(src)
        for cell in self.cells:
            x = self.dropout(run(cell, x, cell.zero(x.shape[0])))
        return Memory(x, keep, last(x, keep))

    if TYPE_CHECKING:
        __call__ = forward


class BidirectionalRNNEncoder(nn.Module):
    """Two independent cells a layer, joined by concatenation: [h→; h←].

    The second reads each sentence reversed within its own length, so padding never enters a state.
    """

    def __init__(
        self, embed: PlainEmbedding, forwards: Sequence[Cell], backwards: Sequence[Cell], dropout: float
    ) -> None:
        super().__init__()
        self.embed = embed
        self.forwards = Stack(forwards)
        self.backwards = Stack(backwards)
        self.dropout = Dropout(dropout)

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.embed(src)
        places = reversal(keep)
        for right, left in zip(self.forwards, self.backwards, strict=True):
            h_right = run(right, x, right.zero(x.shape[0]))
            h_left = run(left, reorder(x, places), left.zero(x.shape[0]))
            summary = torch.cat((last(h_right, keep), last(h_left, keep)), dim=1)
            x = self.dropout(torch.cat((h_right, reorder(h_left, places)), dim=2))
        return Memory(x, keep, summary)

    if TYPE_CHECKING:
        __call__ = forward
