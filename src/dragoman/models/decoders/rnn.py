"""Recurrent decoders with attention after Luong et al. 2015.

s_t = cell([y_{t−1}; h̃_{t−1}], s_{t−1})    α = softmax(score(s_t, h_i))
c_t = Σ α_i h_i    h̃_t = tanh(W_c [c_t; s_t])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.attention.attend import attend, padding_bias
from dragoman.nn.attention.scores import Score
from dragoman.nn.bridge import ProjectedBridge
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import PlainEmbedding
from dragoman.nn.fast.recurrent import run
from dragoman.nn.stack import Stack
from dragoman.protocols import Memory, State
from dragoman.shapes import Bool, Float, Int, Tensor


class Looked(NamedTuple):
    """What stays the same while a sentence is decoded."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S M"]
    bias: Float[Tensor, "B 1 S"]


class AttentionalVector(nn.Module):
    """h̃ = tanh(W_c [c; s])   (Luong et al. 2015, eq. 5)."""

    def __init__(self, score: Score, memory_size: int, query_size: int, size: int) -> None:
        super().__init__()
        self.score = score
        self.W_c = nn.Linear(memory_size + query_size, size, bias=False)

    def look_at(self, memory: Memory) -> Looked:
        return Looked(
            self.score.keys(memory.states), memory.states, padding_bias(memory.keep, memory.states.dtype)
        )

    def forward(
        self, s: Float[Tensor, "B T Q"], looked: Looked
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        c, alpha = attend(self.score.score(s, looked.keys) + looked.bias, looked.values)
        return torch.tanh(self.W_c(torch.cat((c, s), dim=2))), alpha

    if TYPE_CHECKING:
        __call__ = forward


class PlainRNNDecoder(nn.Module):
    """Nothing feeds back, so a whole target runs through the fused cell and attends in one product."""

    def __init__(
        self,
        embed: PlainEmbedding,
        cells: Sequence[Cell],
        bridge: ProjectedBridge,
        attentional: AttentionalVector,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.cells = Stack(cells)
        self.bridge = bridge
        self.attentional = attentional
        self.dropout = Dropout(dropout)

    def forward(
        self, memory: Memory, tgt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        x = self.embed(tgt)
        for cell, h in zip(self.cells, self.bridge(memory.summary), strict=True):
            x = self.dropout(run(cell, x, cell.begin(h)))
        return self.dropout(self.attentional(x, self.attentional.look_at(memory))[0])

    def start(self, memory: Memory, width: int) -> State:
        states = begin(self.cells, self.bridge, memory, width)
        return State(self.attentional.look_at(memory), states)

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        x, states = climb(self.cells, self.embed(y.unsqueeze(1)).squeeze(1), state.moving, self.dropout)
        h, alpha = look_together(self.attentional, x, state.fixed)
        return h, State(state.fixed, states), alpha

    if TYPE_CHECKING:
        __call__ = forward


class InputFeedingRNNDecoder(nn.Module):
    """h̃_{t−1} enters the first cell beside the token (Luong et al. 2015, section 3.3)."""

    def __init__(
        self,
        embed: PlainEmbedding,
        cells: Sequence[Cell],
        bridge: ProjectedBridge,
        attentional: AttentionalVector,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.cells = Stack(cells)
        self.bridge = bridge
        self.attentional = attentional
        self.dropout = Dropout(dropout)

    def forward(
        self, memory: Memory, tgt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        looked, states, h = self._begin(memory, 1)
        hs = []
        for a in self._tokens(self.embed(tgt)).unbind(dim=1):
            x, states = self._climb(a, h, states)
            h = self.dropout(self.attentional(x.unsqueeze(1), looked)[0].squeeze(1))
            hs.append(h)
        return torch.stack(hs, dim=1)

    def start(self, memory: Memory, width: int) -> State:
        looked, states, h = self._begin(memory, width)
        return State(looked, (states, h))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        states, h = state.moving
        x, states = self._climb(self._tokens(self.embed(y.unsqueeze(1))).squeeze(1), h, states)
        h, alpha = look_together(self.attentional, x, state.fixed)
        return h, State(state.fixed, (states, h)), alpha

    def _begin(self, memory: Memory, width: int) -> tuple[Looked, list[CellState], Float[Tensor, "N E"]]:
        states = begin(self.cells, self.bridge, memory, width)
        h = memory.states.new_zeros(states[0].h.shape[0], self.attentional.W_c.out_features)
        return self.attentional.look_at(memory), states, h

    def _tokens(self, x: Float[Tensor, "B T E"]) -> Float[Tensor, "B T G"]:
        """The part of W_x [y; h̃] + b that is known beforehand: all the target's tokens in one product."""
        cell = self.cells[0]
        return F.linear(x, cell.W_x[:, : x.shape[2]], cell.b)

    def _climb(
        self, a: Float[Tensor, "N G"], h: Float[Tensor, "N E"], states: list[CellState]
    ) -> tuple[Float[Tensor, "N Q"], list[CellState]]:
        cell = self.cells[0]
        first = cell.gate(a + F.linear(h, cell.W_x[:, -h.shape[1] :]), states[0])
        x, rest = climb(list(self.cells)[1:], self.dropout(first.h), states[1:], self.dropout)
        return x, [first, *rest]

    if TYPE_CHECKING:
        __call__ = forward


def begin(cells: Iterable[Cell], bridge: ProjectedBridge, memory: Memory, width: int) -> list[CellState]:
    """Each layer's first state, once for every hypothesis."""
    states = bridge(memory.summary.repeat_interleave(width, dim=0))
    return [cell.begin(h) for cell, h in zip(cells, states, strict=True)]


def climb(
    cells: Iterable[Cell], x: Float[Tensor, "N X"], states: Sequence[CellState], dropout: Dropout
) -> tuple[Float[Tensor, "N Q"], list[CellState]]:
    """One step up through the layers."""
    new = []
    for cell, state in zip(cells, states, strict=True):
        new.append(cell(x, state))
        x = dropout(new[-1].h)
    return x, new


def look_together(
    attentional: AttentionalVector, x: Float[Tensor, "N Q"], looked: Looked
) -> tuple[Float[Tensor, "N E"], Float[Tensor, "N S"]]:
    """The W hypotheses of a sentence look at its memory as W queries."""
    h, alpha = attentional(x.view(looked.keys.shape[0], -1, x.shape[1]), looked)
    return h.flatten(0, 1), alpha.flatten(0, 1)
