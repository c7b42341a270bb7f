"""Dropout that is the same at every step of a sentence (Gal & Ghahramani 2016).

It applies to the input of a stack and the output of each layer; the fused kernels allow no mask on h_{t−1}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor


class VariationalDropout(Dropout):
    """x_t ⊙ m with one m per sentence. A single step, without its sentence, draws its own m."""

    def forward(self, x: Float[Tensor, "B *T D"]) -> Float[Tensor, "B *T D"]:
        if not self.active:
            return x
        return x * self.mask(x[:, :1] if x.dim() == 3 else x)

    if TYPE_CHECKING:
        __call__ = forward
