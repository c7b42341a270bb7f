"""Sums in a fixed order.

Floating-point addition depends on its order. Micro-batches are summed as the leaves of a balanced tree,
and a rank holds a whole branch of it, so the same micro-batches give the same bits on 1, 2, 4 … ranks.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from dragoman.device import widest_float
from dragoman.shapes import Float, Tensor

CHUNK = 4096  # elements whose squares are summed in fp32


def tree_sum(parts: Iterable[Float[Tensor, " Q"]]) -> Float[Tensor, " Q"]:
    """Return ((a + b) + (c + d)) + …, holding at most one part per level."""
    branches: list[tuple[int, Tensor]] = []
    for part in parts:
        height = 0
        while branches and branches[-1][0] == height:
            part = branches.pop()[1].add_(part)
            height += 1
        branches.append((height, part))
    _, total = branches.pop()
    while branches:
        total = branches.pop()[1].add_(total)
    return total


def chunk_norms(x: Float[Tensor, " N"]) -> Float[Tensor, " C"]:
    """Return √Σ x² of each chunk of x; the last one may be incomplete."""
    whole = len(x) // CHUNK * CHUNK
    chunks = torch.linalg.vector_norm(x[:whole].view(-1, CHUNK), dim=1)
    rest = [torch.linalg.vector_norm(x[whole:]).view(1)] if len(x) > whole else []
    return torch.cat([chunks, *rest])


def norm_of(chunks: Float[Tensor, " C"], whole: int) -> Float[Tensor, ""]:
    """Return √Σ x² from the norms of chunks, of which the first `whole` are complete.

    Their squares are summed in fp64, if the device has it. On a CPU, torch sums a long vector in fp32, where
    the sum soon outgrows its terms: with 60 million elements, the norm is 0.5 % too small.
    """
    squares = chunks.to(widest_float(chunks.device)).square()
    return (squares[:whole].sum() + squares[whole:].sum()).sqrt()
