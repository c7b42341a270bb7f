"""y_i = Σ_j W_j x_{i−left+j} + b: a convolution written out. `nn/fast/im2col.py` makes one product of it."""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


def convolve(
    x: Float[Tensor, "B T D"], W: Float[Tensor, "Y k D"], b: Float[Tensor, " Y"], left: int
) -> Float[Tensor, "B T Y"]:
    """Each output sees k inputs, the first of them `left` steps back; beyond the ends there are zeros."""
    k, count = W.shape[1], x.shape[1]
    padded = F.pad(x, (0, 0, left, k - 1 - left))
    return sum((F.linear(padded[:, j : j + count], W[:, j]) for j in range(k)), start=b)
