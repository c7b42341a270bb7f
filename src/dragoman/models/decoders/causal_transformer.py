"""A Transformer decoder without a source: causal self-attention only (Liu et al. 2018, section 4.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from dragoman.models.decoders.transformer import TransformerDecoderCache
from dragoman.nn.attention.multi_head import KeyValue
from dragoman.nn.embedding import PositionedEmbedding, ScaledEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.transformer.residual import LayerDrop
from dragoman.nn.transformer.transformer_layer import CausalLayer
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class CausalTransformer(nn.Module):
    def __init__(
        self,
        embed: PositionedEmbedding | ScaledEmbedding,
        layers: Sequence[CausalLayer],
        norm: nn.Module,
        layer_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.layers = TypedModuleList(layers)
        self.norm = norm
        self.layer_drop = LayerDrop(layer_drop)

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        # Padding comes after the real tokens, so the causal mask already hides it.
        shape = (tgt.shape[0], tgt.shape[1])
        x = self.embed(tgt).flatten(0, 1)
        causal = self.layers[0].attention.hide_future(x, tgt.shape[1])
        for layer in self.layer_drop(self.layers):
            x = layer(x, shape, causal)
        return self.norm(x).unflatten(0, shape)

    def start(self, memory: Memory, width: int) -> State:
        attention = self.layers[0].attention
        features = attention.W_o.in_features // attention.heads
        empty = attention.W_o.weight.new_empty(memory.keep.shape[0] * width, attention.kv_heads, 0, features)
        return State((), TransformerDecoderCache(0, [KeyValue(empty, empty) for _ in self.layers]))

    def step(self, y: Int[Tensor, " N"], state: State) -> tuple[Float[Tensor, "N D"], State, None]:
        cache = state.moving
        x = self.embed(y.unsqueeze(1), start=cache.place).squeeze(1)
        seen = []
        for layer, (k, v, _) in zip(self.layers, cache.past, strict=True):
            x, now = layer.step(x, KeyValue(k, v, cache.rows), cache.place)
            seen.append(now)
        return self.norm(x), State((), TransformerDecoderCache(cache.place + 1, seen)), None

    if TYPE_CHECKING:
        __call__ = forward
