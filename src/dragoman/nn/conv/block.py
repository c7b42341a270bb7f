"""The blocks of a convolutional encoder and decoder (Gehring et al. 2017, section 3.2).

`carry` is the residual path around a block: the identity, or a projection where the width changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.conv.attention import MultiStepAttention, Source
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.conv.scaling import scaled_sum
from dragoman.shapes import Float, Tensor


class EncoderBlock(nn.Module):
    """h^l = v(W [h^{l−1} around i] + b) + h^{l−1}, where padding counts as zero."""

    def __init__(self, convolution: GatedConvolution, carry: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution
        self.carry = carry

    def forward(
        self, x: Float[Tensor, "N X"], shape: tuple[int, int], real: Float[Tensor, "N 1"] | None
    ) -> Float[Tensor, "N D"]:
        """Return h^l. `real` is 1 at tokens and 0 at padding, or None if nothing is padded."""
        return scaled_sum(self.convolution(x if real is None else x * real, shape), self.carry(x))

    if TYPE_CHECKING:
        __call__ = forward


class DecoderBlock(nn.Module):
    """h^l = v(W [h^{l−1} up to i] + b) + c + h^{l−1}: the convolution gives the query of the attention."""

    def __init__(
        self, convolution: GatedConvolution, attention: MultiStepAttention, carry: nn.Module
    ) -> None:
        super().__init__()
        self.convolution = convolution
        self.attention = attention
        self.carry = carry

    def forward(
        self, x: Float[Tensor, "N X"], g: Float[Tensor, "N E"], shape: tuple[int, int], source: Source
    ) -> Float[Tensor, "N D"]:
        h, _ = self.attention(self.convolution(x, shape), g, shape, source)
        return scaled_sum(h, self.carry(x))

    def step(
        self, x: Float[Tensor, "N X"], g: Float[Tensor, "N E"], past: Float[Tensor, "N P X"], source: Source
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N P X"], Float[Tensor, "N S"]]:
        """Do one target step. The W hypotheses of a sentence attend to its memory together, as W queries."""
        h, past = self.convolution.step(x, past)
        sentences = source.keys.shape[0]
        h, a = self.attention(h, g, (sentences, x.shape[0] // sentences), source)
        return scaled_sum(h, self.carry(x)), past, a.flatten(0, 1)

    if TYPE_CHECKING:
        __call__ = forward
