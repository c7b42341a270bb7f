"""Sums in a fixed order.

Floating-point addition depends on its order. Micro-batches are summed as the leaves of a balanced tree,
and a rank holds a whole branch of it, so the same micro-batches give the same bits on 1, 2, 4 … ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from dragoman.shapes import Float, Tensor

NORM_CHUNK = 4096  # elements whose squares are summed in fp32


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


def norm_in_chunks(x: Float[Tensor, " P"]) -> float:
    """Return √Σ x², summing the squares of chunks in fp64. On a CPU, torch sums a long vector in fp32, where
    the sum soon outgrows its terms: with 60 million elements, the norm is 0.5 % too small."""
    whole = len(x) // NORM_CHUNK * NORM_CHUNK
    chunks = torch.linalg.vector_norm(x[:whole].view(-1, NORM_CHUNK), dim=1).double()
    rest = torch.linalg.vector_norm(x[whole:]).double()
    return math.sqrt(float(chunks.square().sum() + rest.square()))
