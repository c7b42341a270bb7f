"""Ranks of one run: `torchrun` starts them, gloo or NCCL carries their messages."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist

from dragoman.errors import UsageError
from dragoman.shapes import Float, Tensor

Made = TypeVar("Made")
TIMEOUT = timedelta(minutes=10)


@dataclass(frozen=True)
class Ranks:
    """Which rank this process is, and how many there are."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def sum(self, x: Float[Tensor, " Q"]) -> Float[Tensor, " Q"]:
        """The sum over all ranks, by the same tree as `accumulate.tree_sum`: at each level partners add each
        other's branch. a + b = b + a to the bit, so all ranks end with the same sum."""
        level = 1
        while level < self.count:
            other = torch.empty_like(x)
            partner = self.rank ^ level
            both = [dist.P2POp(dist.isend, x, partner), dist.P2POp(dist.irecv, other, partner)]
            for work in dist.batch_isend_irecv(both):
                work.wait()
            x = x + other
            level *= 2
        return x

    def in_turn(self, make: Callable[[], Made]) -> Made:
        """The first rank makes it; the others wait, then open what it made."""
        if self.count == 1:
            return make()
        if self.is_first:
            made = make()
            dist.barrier()
            return made
        dist.barrier()
        return make()

    def from_first(self, value: int) -> int:
        """The first rank's value, on all ranks."""
        if self.count == 1:
            return value
        shared = torch.tensor([value], device="cuda" if torch.cuda.is_available() else "cpu")
        dist.broadcast(shared, src=0)
        return int(shared)


def join() -> Ranks:
    """The ranks that `torchrun` made, or this process alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if count & (count - 1):
        raise UsageError(
            f"{count} ranks cannot share the work.",
            where="torchrun --nproc-per-node",
            expected="a power of two, so that gradients add up in the same order on any number of ranks",
            hint=f"torchrun --nproc-per-node {1 << (count.bit_length() - 1)} …",
        )
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT)
    return Ranks(dist.get_rank(), count)


def leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
