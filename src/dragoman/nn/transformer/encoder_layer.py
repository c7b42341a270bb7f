"""One layer of the Transformer's encoder: self-attention, then feed-forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.attention.multi_head import SelfAttention, Shape
from dragoman.nn.transformer.depth import StochasticDepth
from dragoman.nn.transformer.feedforward import FFN
from dragoman.nn.transformer.residual import Residual
from dragoman.shapes import Float, Tensor


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

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, bias: Float[Tensor, "b t S"] | None
    ) -> Float[Tensor, "N D"]:
        x = self.around_attention(x, lambda z: self.depth(self.attention(z, shape, bias), shape))
        return self.around_ffn(x, lambda z: self.depth(self.ffn(z), shape))

    if TYPE_CHECKING:
        __call__ = forward
