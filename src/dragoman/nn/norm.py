"""Normalisation over the features of a token, in fp32 also where the model computes in bf16.

On a CPU, torch sums the gradients of the weight and the bias over all tokens in the dtype of the input. In
bf16, which has 8 bits of precision, 256 + 1 is 256.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.shapes import Float, Tensor


class LayerNorm(nn.LayerNorm):
    """g ⊙ (x − mean) / √(variance + ε) + b   (Ba et al. 2016)."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)

    def forward(self, x: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
        return super().forward(x.to(self.weight.dtype))

    if TYPE_CHECKING:
        __call__ = forward


class RMSNorm(nn.RMSNorm):
    """x ⊙ g / √(mean(x²) + ε)   (Zhang & Sennrich 2019, eq. 4), without mean subtraction and bias.

    ε is 10⁻⁵ as in LayerNorm, because CTranslate2 reads one ε for all norms of a model.
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)

    def forward(self, x: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
        return super().forward(x.to(self.weight.dtype))

    if TYPE_CHECKING:
        __call__ = forward
