"""One layer of the Transformer's decoder: self-attention, attention to the memory, feed-forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.attention.multihead import CrossAttention, KeyValue, SelfAttention, Shape
from dragoman.nn.transformer.depth import StochasticDepth
from dragoman.nn.transformer.feedforward import FFN
from dragoman.nn.transformer.residual import Residual
from dragoman.shapes import Float, Tensor

Bias = Float[Tensor, "b t S"] | None


class DecoderLayer(nn.Module):
    def __init__(
        self,
        attention: SelfAttention,
        cross: CrossAttention,
        ffn: FFN,
        around: tuple[Residual, Residual, Residual],
        skip: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross = cross
        self.ffn = ffn
        self.around_attention, self.around_cross, self.around_ffn = around
        self.depth = StochasticDepth(skip)

    def forward(
        self,
        x: Float[Tensor, "N D"],
        shape: Shape,
        causal: Float[Tensor, "1 T T"] | None,
        kv: KeyValue,
        bias: Bias,
    ) -> Float[Tensor, "N D"]:
        x = self.around_attention(x, lambda z: self.depth(self.attention(z, shape, causal), shape))
        x = self.around_cross(x, lambda z: self.depth(self.cross(z, shape, kv, bias), shape))
        return self.around_ffn(x, lambda z: self.depth(self.ffn(z), shape))

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int, kv: KeyValue, bias: Float[Tensor, "B 1 S"]
    ) -> tuple[Float[Tensor, "N D"], KeyValue, Float[Tensor, "B H W S"]]:
        """One target step. The W hypotheses of a sentence look at its memory together, as W queries."""
        shape = len(kv.k), len(x) // len(kv.k)
        seen: list[KeyValue] = []
        weights: list[Tensor] = []

        def attend_past(z: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
            c, now = self.attention.step(z, past, place)
            seen.append(now)
            return c

        def attend_memory(z: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
            c, alpha = self.cross.look(z, shape, kv, bias)
            weights.append(alpha)
            return c

        x = self.around_attention(x, attend_past)
        x = self.around_cross(x, attend_memory)
        return self.around_ffn(x, self.ffn), seen[0], weights[0]

    if TYPE_CHECKING:
        __call__ = forward
