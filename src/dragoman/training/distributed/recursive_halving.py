"""Sums over ranks by recursive halving and doubling (Thakur et al. 2005, §4), in the order of `tree_sum`.

On the way up (reduce-scatter), partners at distance 1, 2, 4 … exchange half of what each still holds and add
the other's half to their own. In the end, each of R ranks holds one of R parts of the sum. On the way down
(all-gather), they exchange what they hold. A rank sends 2(R−1)/R times the tensor in all. Each element is
summed along the same balanced tree as on one rank, so the sum has the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from dragoman.shapes import Float, Tensor
from dragoman.training.distributed.ranks import Ranks


class Exchange(NamedTuple):
    """One level: the partner of this rank, the part that this rank keeps, and the part of the partner."""

    partner: int
    mine: slice
    theirs: slice


@dataclass(frozen=True)
class Partition:
    """The parts of a flat tensor, one per rank: part k is from cuts[k] to cuts[k + 1]."""

    ranks: Ranks
    cuts: list[int]

    def exchanges(self) -> list[Exchange]:
        """Return the levels on the way up."""
        rank, low, high, distance = self.ranks.rank, 0, self.ranks.count, 1
        levels = []
        while distance < self.ranks.count:
            middle = (low + high) // 2
            lower = slice(self.cuts[low], self.cuts[middle])
            upper = slice(self.cuts[middle], self.cuts[high])
            if rank & distance:
                levels.append(Exchange(rank ^ distance, mine=upper, theirs=lower))
                low = middle
            else:
                levels.append(Exchange(rank ^ distance, mine=lower, theirs=upper))
                high = middle
            distance *= 2
        return levels

    @property
    def mine(self) -> slice:
        """The part that this rank holds after `reduce_scatter`."""
        levels = self.exchanges()
        return levels[-1].mine if levels else slice(self.cuts[0], self.cuts[-1])

    def reduce_scatter(self, x: Float[Tensor, " P"], extra: Float[Tensor, " E"], doing: str) -> None:
        """Sum over all ranks, in place, this rank's part of x and the whole of `extra`.

        The last number of `extra` is that of the update. Partners compare theirs before they add.
        """
        for level, (partner, mine, theirs) in enumerate(self.exchanges()):
            other, other_extra = torch.empty_like(x[mine]), torch.empty_like(extra)
            self.ranks.swap([extra, x[theirs]], [other_extra, other], partner, doing)
            if x.device.type == "cpu":  # elsewhere, the host would wait: `PendingResult` compares them later
                self.ranks.refuse_other_update(partner, float(other_extra[-1] - extra[-1]) / 2**level, doing)
            x[mine] += other
            extra += other_extra

    def all_gather(self, x: Float[Tensor, " P"], doing: str) -> None:
        """Fill x, of which each rank holds its part, on all ranks."""
        for partner, mine, theirs in reversed(self.exchanges()):
            self.ranks.swap([x[mine]], [x[theirs]], partner, doing)

    def gather(self, x: Float[Tensor, " P"], doing: str) -> None:
        """Fill x, of which each rank holds its part, on the first rank."""
        for partner, mine, theirs in reversed(self.exchanges()):
            if partner < self.ranks.rank:
                self.ranks.swap([x[mine]], [], partner, doing)
                return
            self.ranks.swap([], [x[theirs]], partner, doing)
