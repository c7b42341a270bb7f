"""The Transformer's decoder (Vaswani et al. 2017, figure 1, right)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import nn

from dragoman.nn.attention.attend import has_no_padding, padding_bias
from dragoman.nn.attention.multi_head import KeyValue
from dragoman.nn.embedding import PositionedEmbedding, ScaledEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.transformer.residual import LayerDrop
from dragoman.nn.transformer.transformer_layer import DecoderLayer
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class TransformerDecoderCache(NamedTuple):
    """The number of tokens so far, the same in all rows, and their keys and values in each layer.

    `rows` are the rows of the past to continue, or None for all. The next step selects them, because it
    copies the past anyway.
    """

    place: int
    past: list[KeyValue]
    rows: Int[Tensor, " N"] | None = None

    def take_rows(self, rows: Int[Tensor, " M"]) -> TransformerDecoderCache:
        before = rows if self.rows is None else self.rows.index_select(0, rows)
        return TransformerDecoderCache(self.place, self.past, before)


class TransformerDecoder(nn.Module):
    def __init__(
        self,
        embed: PositionedEmbedding | ScaledEmbedding,
        layers: Sequence[DecoderLayer],
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
        shape, source = (tgt.shape[0], tgt.shape[1]), (memory.keep.shape[0], memory.keep.shape[1])
        x, m, causal = self.enter(memory, tgt)
        bias = None if has_no_padding(memory.keep) else padding_bias(memory.keep, x.dtype)
        for layer in self.layer_drop(self.layers):
            x = layer(x, shape, causal, layer.cross.project_memory(m, source), bias)
        return self.norm(x).unflatten(0, shape)

    def forward_with_attention(
        self, memory: Memory, tgt: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T S"]]:
        shape, source = (tgt.shape[0], tgt.shape[1]), (memory.keep.shape[0], memory.keep.shape[1])
        x, m, causal = self.enter(memory, tgt)
        bias = padding_bias(memory.keep, x.dtype)
        *layers, last = self.layers  # whose attention is trained, so it is never dropped
        for layer in self.layer_drop(layers):
            x = layer(x, shape, causal, layer.cross.project_memory(m, source), bias)
        kv = last.cross.project_memory(m, source)
        x, alpha = last.forward_with_weights(x, shape, causal, kv, self.bias_of_heads(bias))
        return self.norm(x).unflatten(0, shape), alpha.mean(dim=1)

    def enter(
        self, memory: Memory, tgt: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "M E"], Float[Tensor, "1 T T"] | None]:
        """Return the rows of the target and of the memory, and the bias that hides later steps."""
        x = self.embed(tgt).flatten(0, 1)
        return x, memory.states.flatten(0, 1), self.layers[0].attention.hide_future(x, tgt.shape[1])

    def bias_of_heads(self, bias: Float[Tensor, "B 1 S"]) -> Float[Tensor, "B H 1 S"]:
        return bias.unsqueeze(1).expand(-1, self.layers[0].cross.heads, -1, -1).contiguous()

    def start(self, memory: Memory, width: int) -> State:
        source = (memory.keep.shape[0], memory.keep.shape[1])
        m = memory.states.flatten(0, 1)
        kv = [layer.cross.project_memory(m, source) for layer in self.layers]
        bias = self.bias_of_heads(padding_bias(memory.keep, memory.states.dtype))  # once, not at each step
        rows, heads, features = memory.keep.shape[0] * width, kv[0].k.shape[1], kv[0].k.shape[3]
        empty = memory.states.new_empty(rows, heads, 0, features)
        return State((kv, bias), TransformerDecoderCache(0, [KeyValue(empty, empty) for _ in kv]))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        (kv, bias), cache = state
        x = self.embed(y.unsqueeze(1), start=cache.place).squeeze(1)
        seen = []
        for layer, (k, v, _), memory in zip(self.layers, cache.past, kv, strict=True):
            past = KeyValue(k, v, cache.rows)
            x, now, alpha = layer.step(x, past, cache.place, memory, bias)
            seen.append(now)
        attention = alpha.mean(dim=1).flatten(0, 1)  # over the heads of the last layer
        return self.norm(x), State(state.fixed, TransformerDecoderCache(cache.place + 1, seen)), attention

    if TYPE_CHECKING:
        __call__ = forward
