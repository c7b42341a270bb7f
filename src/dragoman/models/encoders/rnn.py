"""Recurrent encoders: a stack of layers, left to right, bidirectional, or right to left."""

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
from dragoman.shapes import Bool, Shaped, Tensor


class RNNEncoder(nn.Module):
    """y_1 … y_S of the top layer, and its final h, of both directions if it is bidirectional."""

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

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.dropout(self.embed(src))
        for layer in self.layers:
            x, summary = layer.over(x, keep)
        return Memory(x, keep, summary)

    if TYPE_CHECKING:
        __call__ = forward


class FinalStatesRNNEncoder(nn.Module):
    """Left-to-right encoder that also returns the full final state of each layer, at a higher cost."""

    def __init__(self, embed: PlainEmbedding, dropout: Dropout, layers: Sequence[RecurrentLayer]) -> None:
        super().__init__()
        self.embed = embed
        self.dropout = dropout
        self.layers = TypedModuleList(layers)

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.dropout(self.embed(src))
        ends = []
        for layer in self.layers:
            x, end = layer.to_end(x, keep)
            ends.append(end)
        return Memory(x, keep, ends[-1].h, ends)

    if TYPE_CHECKING:
        __call__ = forward


class ReversedEncoder(nn.Module):
    """Encoder of the reversed source x_S … x_1   (Sutskever et al. 2014, section 3.3).

    The first words of both sides are then close to each other.
    """

    def __init__(self, reader: RNNEncoder | FinalStatesRNNEncoder) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        order = reversal(keep)
        turned = src.gather(1, order) if src.dim() == 2 else reorder(src, order)
        memory = self.reader(turned, keep)
        return memory._replace(states=reorder(memory.states, order))

    if TYPE_CHECKING:
        __call__ = forward
