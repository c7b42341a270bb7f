"""Where a token stands: added to it (sinusoidal, learned), or known to attention (rotary, relative)."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from dragoman.nn.fp32_sums import embedding
from dragoman.shapes import Float, Int, Tensor


def sinusoids(count: int, size: int) -> Float[Tensor, "T D"]:
    """PE(pos, i) = sin(pos / 10000^{2i/d}), PE(pos, d/2 + i) = cos(…)   (Vaswani et al. 2017, section 3.5).

    Sine and cosine stand in halves, from position 0: the order that CTranslate2 and Pegasus read.
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
    """One trained vector a position (Gehring et al. 2017)."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(count, size) * size**-0.5)

    def forward(self, start: int, count: int) -> Float[Tensor, "T D"]:
        return self.table[start : start + count]


@runtime_checkable
class RelativePositions(Protocol):
    """How the scores of self-attention know where query and key stand."""

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        """Queries or keys of the places from `start`, before they are multiplied."""

    def bias(self, queries: int, keys: int, first: int) -> Float[Tensor, "H T S"] | None:
        """What is added to the scores; the first query stands at the place of key number `first`."""


class NoRelativePositions(nn.Module):
    """Scores know no places: positions were added to the tokens."""

    def turn(self, x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
        return x

    def bias(self, queries: int, keys: int, first: int) -> None:
        return None


class Rotary(nn.Module):
    """Features i and K/2 + i of place t turn by the angle t · 10000^{−2i/K}   (Su et al. 2021, eq. 15).

    qᵀk then depends on the distance alone. The paper turns neighbours 2i and 2i + 1; halves are the same
    up to the order of the learned features, and the order that CTranslate2 reads.
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
    """A learned number a head and distance, one table for all layers (Raffel et al. 2020, section 2.1).

    Near distances have a bucket each, far ones share buckets that widen as the logarithm. A decoder
    never looks ahead, so all its buckets are for the past.
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
        return embedding(self._bucket(distance), self.table).permute(2, 0, 1)

    def _bucket(self, distance: Int[Tensor, "T S"]) -> Int[Tensor, "T S"]:
        buckets = len(self.table) // 2 if self.ahead else len(self.table)
        size = distance.abs() if self.ahead else -distance.clamp(max=0)
        near = buckets // 2
        share = torch.log(size.clamp(min=near) / near) / math.log(self.farthest / near)
        far = near + (share * (buckets - near)).long()
        bucket = torch.where(size < near, size, far.clamp(max=buckets - 1))
        return bucket + buckets * (distance > 0) if self.ahead else bucket


def distances(queries: int, keys: int, first: int, device: torch.device) -> Int[Tensor, "T S"]:
    """How far each key stands behind each query (negative: before it)."""
    t = torch.arange(first, first + queries, device=device)
    return torch.arange(keys, device=device) - t.unsqueeze(1)
