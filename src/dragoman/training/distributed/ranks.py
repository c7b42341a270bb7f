"""The ranks of a run: `torchrun` starts them, and gloo transfers their gradients."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from dragoman.errors import TrainingError, UsageError
from dragoman.shapes import Float, Tensor
from dragoman.training.distributed.peers import START_TIMEOUT, Peers

Made = TypeVar("Made")


@dataclass(frozen=True)
class Ranks:
    """The rank of this process, the number of ranks, and the connection to the others."""

    rank: int = 0
    count: int = 1
    peers: Peers | None = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def join(self) -> None:
        """Connect the ranks to sum gradients. In an update, a rank waits for another one no longer than
        `training.timeout`, so everything that may take longer comes first."""
        if self.peers is None:
            return
        self.peers.meet_at("the start of the process group")
        try:
            dist.init_process_group(
                "gloo",
                store=self.peers.store,
                rank=self.rank,
                world_size=self.count,
                timeout=timedelta(seconds=self.peers.timeout),
            )
        except RuntimeError as error:
            raise TrainingError(
                f"The ranks cannot connect to each other: {error}.",
                where=f"rank {self.rank}",
                expected="machines that can reach each other by host name",
                hint="Name the network interface that connects them: GLOO_SOCKET_IFNAME=eth0 torchrun …",
            ) from error

    def sum(self, x: Float[Tensor, " Q"], doing: str) -> Float[Tensor, " Q"]:
        """Return the sum over all ranks, by the same tree as `tree_sum`: at each level, partners add each
        other's branch. a + b = b + a to the bit, so all ranks get the same sum.

        The last element is the number of the update. Partners compare theirs before they continue.
        """
        level = 1
        while level < self.count:
            assert self.peers
            partner = self.rank ^ level
            other = self._swap(x, partner, doing)
            if ahead := round(float(other[-1] - x[-1]) / level):
                side = "update(s) later than" if ahead > 0 else "update(s) earlier than"
                what = f"rank {partner} is {abs(ahead)} {side} rank {self.rank}, which is at {doing}"
                raise self.peers.failed(partner, f"Ranks are at different updates: {what}.")
            x = x + other
            level *= 2
        return x

    def _swap(self, x: Float[Tensor, " Q"], partner: int, doing: str) -> Float[Tensor, " Q"]:
        assert self.peers
        other = torch.empty_like(x)
        both = [dist.P2POp(dist.isend, x, partner), dist.P2POp(dist.irecv, other, partner)]
        with self.peers.exchanging(partner, doing):
            for work in dist.batch_isend_irecv(both):
                work.wait()
        return other

    def in_turn(self, name: str, make: Callable[[], Made]) -> Made:
        """Call `make` on the first rank while the others wait, however long it takes, then on the others."""
        if self.peers is None:
            return make()
        if self.is_first:
            self.peers.doing = name
            value = make()
            self.from_first(name, lambda: None)
            return value
        self.from_first(name, lambda: None)
        return make()

    def from_first(self, name: str, make: Callable[[], Made]) -> Made:
        """Return on all ranks what the first one decides, by its clock, its files or its user."""
        return make() if self.peers is None else self.peers.from_first(name, make)

    def heed(self, asked_to_stop: Callable[[], bool]) -> None:
        """Set the check for a request to stop, after which this rank soon gives up on silent ranks."""
        if self.peers:
            self.peers.asked_to_stop = asked_to_stop

    def leave(self, error: BaseException | None = None) -> None:
        if self.peers is None:
            return
        if error:
            self.peers.say_failed(error)
        self.peers.leave(done=error is None)
        if dist.is_initialized():
            dist.destroy_process_group()


def connect(*, timeout: float, again: str) -> Ranks:
    """Return the ranks that `torchrun` started, or this process alone. `join` must come before any sum."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if count & (count - 1):
        raise UsageError(
            f"{count} ranks cannot share the work.",
            where="torchrun --nproc-per-node",
            expected="a power of two, so that gradients are summed in the same order on any number of ranks",
            hint=f"torchrun --nproc-per-node {1 << (count.bit_length() - 1)} …",
        )
    try:
        store, rank, _ = next(rendezvous("env://", timeout=timedelta(seconds=START_TIMEOUT)))
    except (ValueError, RuntimeError) as error:
        raise UsageError(
            f"WORLD_SIZE is {count}, but the ranks cannot find each other: {error}",
            where="the environment",
            expected="the variables that torchrun sets: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
            hint=f"torchrun --nproc-per-node {count} -m dragoman train …; for one process: unset WORLD_SIZE",
        ) from error
    return Ranks(rank, count, Peers(store, rank, count, timeout=timeout, again=again))
