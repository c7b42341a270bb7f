"""Recurrent encoders: a stack of layers read from the left, from both sides, or from the right alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.cells.unroll import reorder, reversal
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import PlainEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Int, Tensor


class RNNEncoder(nn.Module):
    """y_1 … y_S of the top layer, and its h after the last real token, of both sides where it reads both."""

    def __init__(
        self,
        embed: PlainEmbedding,
        dropout: Dropout,
        layers: Sequence[BidirectionalLayer | RecurrentLayer],
    ) -> None:
        super().__init__()
        self.embed = embed
        self.dropout = dropout
        self.layers = TypedModuleList(layers)

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.dropout(self.embed(src))
        for layer in self.layers:
            x, summary = layer.over(x, keep)
        return Memory(x, keep, summary)

    if TYPE_CHECKING:
        __call__ = forward


class FinalStatesRNNEncoder(nn.Module):
    """All layers read from the left, and each hands on the whole state that it ends in, which costs more."""

    def __init__(self, embed: PlainEmbedding, dropout: Dropout, layers: Sequence[RecurrentLayer]) -> None:
        super().__init__()
        self.embed = embed
        self.dropout = dropout
        self.layers = TypedModuleList(layers)

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.dropout(self.embed(src))
        ends = []
        for layer in self.layers:
            x, end = layer.to_end(x, keep)
            ends.append(end)
        return Memory(x, keep, ends[-1].h, ends)

    if TYPE_CHECKING:
        __call__ = forward


class ReversedEncoder(nn.Module):
    """Reads x_S … x_1, so that the first words of both sides meet (Sutskever et al. 2014, section 3.3)."""

    def __init__(self, reader: RNNEncoder | FinalStatesRNNEncoder) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        places = reversal(keep)
        memory = self.reader(src.gather(1, places), keep)
        return memory._replace(states=reorder(memory.states, places))

    if TYPE_CHECKING:
        __call__ = forward
