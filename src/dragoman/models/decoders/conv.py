"""The decoder of ConvS2S (Gehring et al. 2017): causal convolutions, and attention in each block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from dragoman.nn.attention.attend import padding_bias
from dragoman.nn.conv.attention import Source
from dragoman.nn.conv.block import DecoderBlock
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.conv.scaling import scale_gradient, scaled_sum
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.dropout import Dropout
from dragoman.nn.module_list import TypedModuleList
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class ConvDecoderCache(NamedTuple):
    """The number of tokens of each hypothesis, and the last k − 1 inputs of each block."""

    place: Int[Tensor, " N"]
    windows: list[Float[Tensor, "N P X"]]


class ConvDecoder(nn.Module):
    def __init__(
        self,
        embed: PositionalEmbedding,
        enter: WeightNormed,
        blocks: Sequence[DecoderBlock],
        leave: WeightNormed,
        fit: nn.Module,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.enter = enter
        self.blocks = TypedModuleList(blocks)
        self.leave = leave
        self.fit = fit  # projects the memory to the width of the embeddings, if they differ
        self.dropout = Dropout(dropout)

    def look_at(self, memory: Memory) -> Source:
        """Return keys z and values z + e.

        z receives two gradients per block, as key and as value, and takes their mean; otherwise the encoder
        learns too fast. The gradient of e is not scaled, as in section 3.4. Outside of training, where a
        gradient explains an output, it is the true one.
        """
        states = memory.states
        z = self.fit(scale_gradient(states, 1.0 / (2 * len(self.blocks))) if self.training else states)
        values = z if memory.embedded is None else scaled_sum(z, self.fit(memory.embedded))
        root = memory.keep.sum(dim=1).to(z.dtype).sqrt().view(-1, 1, 1)
        return Source(z, values, padding_bias(memory.keep, z.dtype), root)

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        # Padding comes after the real tokens, whose causal windows do not reach it.
        shape = (tgt.shape[0], tgt.shape[1])
        source, g = self.look_at(memory), self.embed(tgt).flatten(0, 1)
        x = self.enter(g)
        for block in self.blocks:
            x = block(x, g, shape, source)
        return self.dropout(self.leave(x)).unflatten(0, shape)

    def start(self, memory: Memory, width: int) -> State:
        rows = memory.keep.shape[0] * width
        place = memory.keep.new_zeros(rows, dtype=torch.long)
        windows = [block.convolution.before(rows) for block in self.blocks]
        return State(self.look_at(memory), ConvDecoderCache(place, windows))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        """Do one step; the attention weights are the mean over all blocks (section 4.3)."""
        g = self.embed.at(y, state.moving.place)
        x = self.enter(g)
        windows, weights = [], []
        for block, past in zip(self.blocks, state.moving.windows, strict=True):
            x, past, a = block.step(x, g, past, state.fixed)
            windows.append(past)
            weights.append(a)
        moved = ConvDecoderCache(state.moving.place + 1, windows)
        h = self.dropout(self.leave(x))
        return h, State(state.fixed, moved), torch.stack(weights).mean(dim=0)

    if TYPE_CHECKING:
        __call__ = forward
