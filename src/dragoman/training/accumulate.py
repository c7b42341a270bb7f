"""A sum in the order of one fixed binary tree.

Floating-point addition depends on its order. Micro-batches are summed as the leaves of a balanced tree,
and a rank holds a whole branch of it, so the same micro-batches give the same bits on 1, 2, 4 … ranks.
"""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.shapes import Float, Tensor


def tree_sum(parts: Iterable[Float[Tensor, " Q"]]) -> Float[Tensor, " Q"]:
    """((a + b) + (c + d)) + …, holding no more than one part a level."""
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
