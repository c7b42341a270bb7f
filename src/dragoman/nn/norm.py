"""Normalisation over the features of a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.fp32_sums import layer_norm
from dragoman.shapes import Float, Tensor


class LayerNorm(nn.LayerNorm):
    """g ⊙ (x − mean) / √(variance + ε) + b   (Ba et al. 2016), with gradients summed in fp32."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)

    def forward(self, x: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
        return layer_norm(x, self.weight, self.bias, self.eps)

    if TYPE_CHECKING:
        __call__ = forward


class RMSNorm(nn.RMSNorm):
    """x ⊙ g / √(mean(x²) + ε)   (Zhang & Sennrich 2019, eq. 4), without mean subtraction and bias.

    ε is 10⁻⁵ as in LayerNorm, because CTranslate2 reads one ε for all norms of a model.
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)
