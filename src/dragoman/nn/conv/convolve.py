"""y_i = Σ_j W_j x_{i−left+j} + b: the definition of a convolution. `gated.windows` makes it one product."""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.shapes import Float, Tensor


def convolve(
    x: Float[Tensor, "B T D"], W: Float[Tensor, "Y k D"], b: Float[Tensor, " Y"], left: int
) -> Float[Tensor, "B T Y"]:
    """Return the convolution of x, zero-padded. Each output sees k inputs, from `left` steps back."""
    k, count = W.shape[1], x.shape[1]
    padded = F.pad(x, (0, 0, left, k - 1 - left))
    return sum((F.linear(padded[:, j : j + count], W[:, j]) for j in range(k)), start=b)
