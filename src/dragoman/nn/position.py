"""Positions: added to the embeddings (sinusoidal, learned), or used in attention (rotary, relative)."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Float, Int, Tensor


def sinusoids(count: int, size: int) -> Float[Tensor, "T D"]:
    """Return sinusoidal positions (Vaswani et al. 2017, section 3.5).

    PE(pos, i) = sin(pos / 10000^{2i/d})    PE(pos, d/2 + i) = cos(…)

    All sines come before all cosines, from position 0: the layout of CTranslate2 and Pegasus.
    """
    pos = torch.arange(count, dtype=torch.float64).unsqueeze(1)
    i = torch.arange((size + 1) // 2, dtype=torch.float64)
    angle = pos * 10000.0 ** (-2.0 * i / size)
    return torch.cat((angle.sin(), angle.cos()), dim=1)[:, :size].to(torch.get_default_dtype())


class Sinusoidal(nn.Module):
    table: Tensor

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(count, size), persistent=False)

    def forward(self, start: int, count: int) -> Float[Tensor, "T D"]:
        return self.table[start : start + count]


class Learned(nn.Module):
    """One trained vector per position (Gehring et al. 2017)."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(count, size) * size**-0.5)

    def forward(self, start: int, count: int) -> Float[Tensor, "T D"]:
        return self.table[start : start + count]


@runtime_checkable
class RelativePositions(Protocol):
    """The interface of positions in the scores of self-attention."""

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        """Return queries or keys, of the positions from `start` on, transformed before their product."""

    def bias(self, queries: int, keys: int, first: int) -> Float[Tensor, "H T S"] | None:
        """Return a bias for the scores, or None; `first` is the key index of the first query."""


class NoRelativePositions(nn.Module):
    """Scores without positions, which were added to the embeddings."""

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        return x

    def bias(self, queries: int, keys: int, first: int) -> None:
        return None


class Rotary(nn.Module):
    """Features i and K/2 + i of position t, rotated by t · 10000^{−2i/K}   (Su et al. 2021, eq. 15).

    qᵀk then depends on the distance alone. The paper rotates the pairs 2i and 2i + 1; halves are equivalent
    up to the order of the learned features, and are the layout of CTranslate2.
    """

    table: Tensor

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(count, size), persistent=False)

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        sin, cos = self.table[start : start + x.shape[2]].chunk(2, dim=1)
        a, b = x.chunk(2, dim=3)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=3)

    def bias(self, queries: int, keys: int, first: int) -> None:
        return None


class RelativeBias(nn.Module):
    """A learned bias per head and distance, in one table for all layers (Raffel et al. 2020, section 2.1).

    Short distances have one bucket each, long ones share buckets of logarithmic width. A decoder never
    attends to later positions, so all its buckets are for the past.
    """

    def __init__(self, heads: int, *, ahead: bool, buckets: int = 32, farthest: int = 128) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(buckets, heads) * 0.02)
        self.ahead = ahead
        self.farthest = farthest

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        return x

    def bias(self, queries: int, keys: int, first: int) -> Float[Tensor, "H T S"]:
        distance = distances(queries, keys, first, self.table.device)
        return F.embedding(self._bucket(distance), self.table).permute(2, 0, 1)

    def _bucket(self, distance: Int[Tensor, "T S"]) -> Int[Tensor, "T S"]:
        buckets = len(self.table) // 2 if self.ahead else len(self.table)
        size = distance.abs() if self.ahead else -distance.clamp(max=0)
        near = buckets // 2
        share = torch.log(size.clamp(min=near) / near) / math.log(self.farthest / near)
        far = near + (share * (buckets - near)).long()
        bucket = torch.where(size < near, size, far.clamp(max=buckets - 1))
        return bucket + buckets * (distance > 0) if self.ahead else bucket


def distances(queries: int, keys: int, first: int, device: torch.device) -> Int[Tensor, "T S"]:
    """Return the distance of each key from each query (negative if the key comes before the query)."""
    t = torch.arange(first, first + queries, device=device)
    return torch.arange(keys, device=device) - t.unsqueeze(1)
