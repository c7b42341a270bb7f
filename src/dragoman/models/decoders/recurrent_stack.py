"""The common part of all recurrent decoders: target embedding, recurrent layers, and initial state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import nn
from torch.nn import functional as F

from dragoman.nn.bridge import LastStateBridge, ProjectedBridge, ZeroBridge
from dragoman.nn.cells.cell import CellState
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import PlainEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import Memory
from dragoman.shapes import Float, Int, Tensor


class StepInput(NamedTuple):
    """One target step: its embedding x, its projection a in the first cell, the matrix that the first cell
    has for an extra input, and the dropout mask of each layer."""

    x: Float[Tensor, "N E"]
    a: Float[Tensor, "N G"]
    W_extra: Float[Tensor, "G Z"]
    masks: Sequence[Float[Tensor, "N D"] | None]


class RecurrentStack(nn.Module):
    def __init__(
        self,
        embed: PlainEmbedding,
        dropout: Dropout,
        layers: Sequence[RecurrentLayer],
        bridge: LastStateBridge | ProjectedBridge | ZeroBridge,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.dropout = dropout
        self.layers = TypedModuleList(layers)
        self.bridge = bridge

    def tokens(self, y: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return self.dropout(self.embed(y))

    def begin(self, memory: Memory, width: int) -> list[CellState]:
        """Return the initial state of each layer, repeated for every hypothesis."""
        states = self.bridge(memory, [layer.cell for layer in self.layers])
        return [CellState(*(x.repeat_interleave(width, dim=0) for x in state)) for state in states]

    def run(
        self,
        x: Float[Tensor, "B T E"],
        states: Sequence[CellState],
        extra_input: Float[Tensor, "B T Z"] | None,
    ) -> Float[Tensor, "B T Q"]:
        """Return the outputs of the whole target; `extra_input` enters the first layer with the tokens."""
        for layer, state in zip(self.layers, states, strict=True):
            x, extra_input = layer(x, state, extra_input), None
        return x

    def one_by_one(self, x: Float[Tensor, "B T E"]) -> Iterator[StepInput]:
        """Yield the target step by step, for decoders whose next step depends on the result of this one."""
        a, W_extra = self.layers[0].read(x), self.layers[0].extra_weight(x)
        drawn = [layer.masks(x.shape[0], x.shape[1]) for layer in self.layers]
        # The gradient of a slice is as large as the whole: so unbind, and W_extra is sliced only once.
        for x_t, a_t, *masks in zip(*(each.unbind(dim=1) for each in (x, a, *drawn)), strict=True):
            yield StepInput(x_t, a_t, W_extra, masks)

    def token(self, y: Int[Tensor, " N"]) -> StepInput:
        x = self.tokens(y.unsqueeze(1)).squeeze(1)
        first = self.layers[0]
        return StepInput(x, first.read(x), first.extra_weight(x), [None] * len(self.layers))

    def step(
        self, token: StepInput, states: Sequence[CellState], extra_input: Float[Tensor, "N Z"] | None
    ) -> tuple[Float[Tensor, "N Q"], list[CellState]]:
        """Do one step through all layers."""
        first, *rest = self.layers
        a = token.a if extra_input is None else token.a + F.linear(extra_input, token.W_extra)
        x, state = first.step(token.x, a, states[0], token.masks[0])
        new = [state]
        for layer, state, mask in zip(rest, states[1:], token.masks[1:], strict=True):
            x, state = layer.step(x, layer.read(x), state, mask)
            new.append(state)
        return x, new
