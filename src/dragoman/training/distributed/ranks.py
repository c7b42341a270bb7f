"""The ranks of a run: `torchrun` starts them, and gloo, or NCCL on GPUs, transfers their gradients."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from dragoman.errors import TrainingError, UsageError
from dragoman.shapes import Tensor
from dragoman.training.distributed.peers import START_TIMEOUT, Peers

Made = TypeVar("Made")

MESSAGE = 2**18  # elements; gloo sends longer messages in one direction at a time


@dataclass(frozen=True)
class Ranks:
    """The rank of this process, the number of ranks, and the connection to the others."""

    rank: int = 0
    count: int = 1
    peers: Peers | None = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def restart_in_same_store(self) -> bool:
        """Whether torchrun gives ranks that it starts again the store of those that were killed."""
        is_shared = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        return self.count > 1 and is_shared and os.environ.get("TORCHELASTIC_MAX_RESTARTS") != "0"

    def join(self, device: torch.device) -> None:
        """Connect the ranks to sum gradients. In an update, a rank waits for another one no longer than
        `training.timeout`, so everything that may take longer comes first."""
        if self.peers is None:
            return
        self.peers.meet_at("the start of the process group")
        if is_one_machine() and (name := loopback()):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", name)  # else other machines could connect, too
        try:
            dist.init_process_group(
                dist.get_default_backend_for_device(device),
                device_id=None if device.type == "cpu" else device,
                store=self.peers.store.inner,
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

    def swap(self, sent: Sequence[Tensor], received: Sequence[Tensor], partner: int, doing: str) -> None:
        """Send tensors to a partner while receiving others from it."""
        assert self.peers
        pieces = [
            [dist.P2POp(how, piece, partner) for x in tensors if x.numel() for piece in x.split(MESSAGE)]
            for how, tensors in ((dist.isend, sent), (dist.irecv, received))
        ]
        # One by one, so that gloo uses both directions of the line at the same time.
        both = [op for pair in zip_longest(*pieces) for op in pair if op]
        with self.peers.exchanging(partner, doing):
            for work in dist.batch_isend_irecv(both) if both else ():
                work.wait()

    def all_summing(self, doing: str) -> AbstractContextManager[None]:
        """Return a context for sums over all ranks at once."""
        assert self.peers
        return self.peers.all_summing(doing)

    def refuse_other_update(self, partner: int, ahead: float, doing: str) -> None:
        """Raise TrainingError if the partner is at another update than this rank."""
        if updates := round(ahead):
            assert self.peers
            side = "update(s) later than" if updates > 0 else "update(s) earlier than"
            what = f"rank {partner} is {abs(updates)} {side} rank {self.rank}, which is at {doing}"
            raise self.peers.failed(partner, f"Ranks are at different updates: {what}.")

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


def is_one_machine() -> bool:
    """Return whether `torchrun` started all ranks on this machine."""
    return os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")


def loopback() -> str | None:
    """Return the name of the network interface of this machine to itself."""
    return next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), None)


def connect(*, timeout: float, again: str, exact: bool = True) -> Ranks:
    """Return the ranks that `torchrun` started, or this process alone. `join` must come before any sum.

    If sums are to be `exact`, the number of ranks must be a power of two.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if exact and count & (count - 1):
        raise UsageError(
            f"{count} ranks cannot share the work.",
            where="torchrun --nproc-per-node",
            expected="a power of two, so that gradients are summed in the same order on any number of ranks",
            hint=f"torchrun --nproc-per-node {1 << (count.bit_length() - 1)} …, or training.parallel=ddp",
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
