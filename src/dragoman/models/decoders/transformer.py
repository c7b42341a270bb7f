"""The Transformer's decoder (Vaswani et al. 2017, figure 1, right)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.attention.attend import causal_bias, padding_bias
from dragoman.nn.attention.multihead import KeyValue
from dragoman.nn.embedding import PositionedEmbedding
from dragoman.nn.flat import lay_flat, sentences
from dragoman.nn.stack import Stack
from dragoman.nn.transformer.decoder_layer import DecoderLayer
from dragoman.protocols import Memory, State
from dragoman.shapes import Bool, Float, Int, Tensor


class TransformerDecoder(nn.Module):
    def __init__(self, embed: PositionedEmbedding, layers: Sequence[DecoderLayer], norm: nn.Module) -> None:
        super().__init__()
        self.embed = embed
        self.layers = Stack(layers)
        self.norm = norm

    def forward(
        self, memory: Memory, tgt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        # Padding stands behind the real tokens, where the causal mask already hides it.
        shape, source = (tgt.shape[0], tgt.shape[1]), (memory.keep.shape[0], memory.keep.shape[1])
        x, m = lay_flat(self.embed(tgt)), lay_flat(memory.states)
        causal = causal_bias(tgt.shape[1], x.dtype, x.device)
        bias = None if bool(memory.keep.all()) else padding_bias(memory.keep, x.dtype)
        for layer in self.layers:
            x = layer(x, shape, causal, layer.cross.remember(m, source), bias)
        return sentences(self.norm(x), shape)

    def start(self, memory: Memory, width: int) -> State:
        source = (memory.keep.shape[0], memory.keep.shape[1])
        m = lay_flat(memory.states)
        kv = [layer.cross.remember(m, source) for layer in self.layers]
        bias = padding_bias(memory.keep, memory.states.dtype)
        rows, heads, features = memory.keep.shape[0] * width, kv[0].k.shape[1], kv[0].k.shape[3]
        empty = memory.states.new_empty(rows, heads, 0, features)
        return State((kv, bias), [KeyValue(empty, empty) for _ in kv])

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        kv, bias = state.fixed
        x = self.embed(y.unsqueeze(1), start=state.moving[0].k.shape[2]).squeeze(1)
        seen = []
        for layer, past, memory in zip(self.layers, state.moving, kv, strict=True):
            x, now, alpha = layer.step(x, past, memory, bias)
            seen.append(now)
        return self.norm(x), State(state.fixed, seen), alpha

    if TYPE_CHECKING:
        __call__ = forward
