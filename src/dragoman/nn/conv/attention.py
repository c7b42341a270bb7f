"""Multi-step attention: one attention step in every decoder layer (Gehring et al. 2017, section 3.3).

d_i = W_d h_i + b_d + g_i    a_i = softmax(d_i · z_j)    c_i = Σ_j a_ij (z_j + e_j)    h_i + c_i
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import nn

from dragoman.nn.attention.attend import attend
from dragoman.nn.conv.scaling import scaled_sum
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.shapes import Float, Tensor


class Source(NamedTuple):
    """What all layers attend to: keys z, values z + e, the padding bias, and √m for m real tokens."""

    keys: Float[Tensor, "B S E"]
    values: Float[Tensor, "B S E"]
    bias: Float[Tensor, "B 1 S"]
    root: Float[Tensor, "B 1 1"]


class MultiStepAttention(nn.Module):
    """Attention with sums scaled by √0.5, and c by √m = m √(1/m), as if a were uniform (section 3.4)."""

    def __init__(self, size: int, embedding: int) -> None:
        super().__init__()
        self.W_d = WeightNormed(size, embedding)
        self.W_c = WeightNormed(embedding, size)

    def forward(
        self, h: Float[Tensor, "N D"], g: Float[Tensor, "N E"], shape: tuple[int, int], source: Source
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B T S"]]:
        d = scaled_sum(self.W_d(h), g).unflatten(0, shape)
        c, a = attend(d @ source.keys.transpose(1, 2) + source.bias, source.values)
        return scaled_sum(self.W_c((c * source.root).flatten(0, 1)), h), a

    if TYPE_CHECKING:
        __call__ = forward
