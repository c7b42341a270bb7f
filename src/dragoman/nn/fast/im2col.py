"""im2col: the k inputs of each output of a convolution, concatenated, so that one product computes it.

The fast equivalent of `conv.convolve`. torch's conv1d expects features before time and, on a CPU, compiles a
kernel for every new batch shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from dragoman.shapes import Float, Tensor


def windows(x: Float[Tensor, "N D"], shape: tuple[int, int], kernel: int, left: int) -> Float[Tensor, "N X"]:
    """Return [x_{i−left}; …; x_{i−left+k−1}] for each token i of B zero-padded sentences of T tokens."""
    return x if kernel == 1 else _Windows.apply(x, shape, kernel, left)  # type: ignore[no-untyped-call]


class _Windows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, int], kernel: int, left: int) -> Tensor:
        ctx.shape, ctx.kernel, ctx.left = shape, kernel, left
        seen = x.new_zeros(x.shape[0], kernel * x.shape[1])
        tokens, columns = x.view(*shape, -1), seen.view(*shape, kernel, -1)
        for j, here, there in overlaps(shape[1], kernel, left):
            columns[:, here, j] = tokens[:, there]
        return seen

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        columns = grad.reshape(*ctx.shape, ctx.kernel, -1)
        total = grad.new_zeros(grad.shape[0], columns.shape[3])
        tokens = total.view(*ctx.shape, -1)
        for j, here, there in overlaps(ctx.shape[1], ctx.kernel, ctx.left):
            tokens[:, there] += columns[:, here, j]
        return total, None, None, None


def overlaps(count: int, kernel: int, left: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield each index j in a window, the outputs that see a token there, and these tokens."""
    for j in range(kernel):
        shift = j - left
        first, last = max(0, -shift), min(count, count - shift)
        if first < last:
            yield j, slice(first, last), slice(first + shift, last + shift)
