"""The layers of the Transformer's encoder and decoder: attention, then feed-forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.attention.multi_head import CrossAttention, KeyValue, SelfAttention, Shape
from dragoman.nn.transformer.feedforward import FFN
from dragoman.nn.transformer.residual import Residual, StochasticDepth
from dragoman.shapes import Float, Tensor

Bias = Float[Tensor, "b t S"] | None


class EncoderLayer(nn.Module):
    def __init__(
        self,
        attention: SelfAttention,
        ffn: FFN,
        around_attention: Residual,
        around_ffn: Residual,
        skip: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.ffn = ffn
        self.around_attention = around_attention
        self.around_ffn = around_ffn
        self.depth = StochasticDepth(skip)

    def forward(self, x: Float[Tensor, "N D"], shape: Shape, bias: Bias) -> Float[Tensor, "N D"]:
        x = self.around_attention(x, lambda z: self.depth(self.attention(z, shape, bias), shape))
        return self.around_ffn(x, lambda z: self.depth(self.ffn(z), shape))

    if TYPE_CHECKING:
        __call__ = forward


class CausalLayer(EncoderLayer):
    """The layer of a decoder without a source: self-attention to itself and the past, then feed-forward."""

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int
    ) -> tuple[Float[Tensor, "N D"], KeyValue]:
        c, seen = self.attention.step(self.around_attention.before(x), past, place)
        x = self.around_attention.after(x, c)
        return self.around_ffn(x, self.ffn), seen


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

    def forward_with_weights(
        self,
        x: Float[Tensor, "N D"],
        shape: Shape,
        causal: Float[Tensor, "1 T T"] | None,
        kv: KeyValue,
        bias: Float[Tensor, "B H 1 S"],
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B H T S"]]:
        """Return the output and the weights of the attention to the memory."""
        x = self.around_attention(x, lambda z: self.depth(self.attention(z, shape, causal), shape))
        c, alpha = self.cross.forward_with_weights(self.around_cross.before(x), shape, kv, bias)
        x = self.around_cross.after(x, self.depth(c, shape))
        return self.around_ffn(x, lambda z: self.depth(self.ffn(z), shape)), alpha

    def step(
        self,
        x: Float[Tensor, "N D"],
        past: KeyValue,
        place: int,
        kv: KeyValue,
        bias: Float[Tensor, "B H 1 S"],
    ) -> tuple[Float[Tensor, "N D"], KeyValue, Float[Tensor, "B H W S"]]:
        """Do one target step. The W hypotheses of a sentence attend to its memory together, as W queries."""
        shape = len(kv.k), len(x) // len(kv.k)
        c, seen = self.attention.step(self.around_attention.before(x), past, place)
        x = self.around_attention.after(x, c)
        c, alpha = self.cross.forward_with_weights(self.around_cross.before(x), shape, kv, bias)
        x = self.around_cross.after(x, c)
        return self.around_ffn(x, self.ffn), seen, alpha

    if TYPE_CHECKING:
        __call__ = forward
