"""The ranks of a run: `torchrun` starts them, gloo (on GPUs NCCL) carries their sums, and
DistributedDataParallel (Li et al. 2020) adds their gradients during the backward pass.
"""

from __future__ import annotations

import json
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

from dragoman.errors import TrainingError, UsageError
from dragoman.models.heads.adaptive import AdaptiveHead
from dragoman.nn.transformer.residual import LayerDrop
from dragoman.shapes import Shaped, Tensor

Made = TypeVar("Made")
P = ParamSpec("P")

START_TIMEOUT = timedelta(minutes=10)  # for all ranks to start
DECISION_TIMEOUT = timedelta(days=7)  # for the first rank to prepare the data, to validate or to save
DECISION_BYTES = 2**16


@dataclass(frozen=True)
class Ranks:
    """The rank of this process, the number of ranks, and the groups by which they are connected.

    `again` is the command that resumes the run.
    """

    rank: int = 0
    count: int = 1
    decisions: Any = None  # a process group: on the CPU, and patient
    updates: Any = None  # a process group: on the devices, and no more patient than `training.timeout`
    again: str = ""

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def restart_in_same_store(self) -> bool:
        """Whether torchrun gives ranks that it starts again the store of those that were killed."""
        is_shared = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        return self.count > 1 and is_shared and os.environ.get("TORCHELASTIC_MAX_RESTARTS") != "0"

    def from_first(self, name: str, make: Callable[[], Made]) -> Made:
        """Return on all ranks what `make` returns on the first one, a JSON-serialisable value."""
        if self.count == 1:
            return make()
        text = json.dumps(make()).encode() if self.is_first else b""
        if len(text) > DECISION_BYTES:
            raise ValueError(f"{name} takes {len(text):,} bytes, and may take {DECISION_BYTES:,}")
        message = torch.frombuffer(bytearray(text.ljust(DECISION_BYTES)), dtype=torch.uint8)
        with self.exchanging(name):
            dist.broadcast(message, 0, group=self.decisions)
        received: Made = json.loads(message.numpy().tobytes())
        return received

    def in_turn(self, name: str, make: Callable[[], Made]) -> Made:
        """Call `make` on the first rank while the others wait, however long it takes, then on the others."""
        if self.count == 1:
            return make()
        if self.is_first:
            value = make()
        self.from_first(name, lambda: None)
        if not self.is_first:
            value = make()
        with self.exchanging(name):
            dist.barrier(group=self.decisions)
        return value

    def sum(self, x: Shaped[Tensor, " N"], doing: str) -> None:
        """Replace x by its sum over all ranks."""
        if self.count > 1:
            with self.exchanging(doing):
                dist.all_reduce(x, group=self.updates)

    def recorded(self, work: Callable[P, Made]) -> Callable[P, Made]:
        """Return the same work, whose error torchrun shows with the rank that raised it first."""
        if self.count == 1:
            return work
        return record(work)  # type: ignore[return-value]  # None is for processes that record() forks

    @contextmanager
    def exchanging(self, doing: str) -> Iterator[None]:
        """Raise TrainingError if another rank is gone, or does not answer in time."""
        try:
            yield
        except RuntimeError as error:
            if "gloo" not in str(error) and not isinstance(error, dist.DistError):
                raise  # of the model, not of the network
            raise TrainingError(
                f"Another rank is gone or does not answer: {str(error).partition(chr(10))[0]}",
                where=f"rank {self.rank}, {doing}",
                expected="an answer from every rank, during an update within training.timeout",
                hint=f"torchrun names the ranks that failed. Then resume: {self.again}",
            ) from error


def connect(device: torch.device, *, timeout: float, again: str) -> Ranks:
    """Return the ranks that `torchrun` started, connected to each other, or this process alone."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if is_one_machine() and (name := loopback()):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)  # else other machines could connect, too
    try:
        dist.init_process_group("gloo", timeout=START_TIMEOUT)
        decisions = dist.new_group(backend="gloo", timeout=DECISION_TIMEOUT)
        backend = dist.get_default_backend_for_device(device)
        updates = dist.new_group(backend=backend, timeout=timedelta(seconds=timeout))
    except (ValueError, RuntimeError) as error:
        raise UsageError(
            f"WORLD_SIZE is {count}, but the ranks cannot find each other: {error}",
            where="the environment",
            expected="the variables that torchrun sets, and machines that can reach each other",
            hint=(
                f"torchrun --nproc-per-node {count} -m dragoman train …; for one process: unset WORLD_SIZE; "
                "to name the network interface: GLOO_SOCKET_IFNAME=eth0 torchrun …"
            ),
        ) from error
    return Ranks(dist.get_rank(), count, decisions, updates, again)


def disconnect() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def is_one_machine() -> bool:
    """Return whether `torchrun` started all ranks on this machine."""
    return os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")


def loopback() -> str | None:
    """Return the name of the network interface of this machine to itself."""
    return next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), None)


def distributed(forward: nn.Module, ranks: Ranks, passes: Sequence[Callable[[nn.Module], None]]) -> nn.Module:
    """Return the forward pass in DistributedDataParallel. Each of `passes` goes forward and backward.

    DDP waits for the gradient of every parameter, unless it searches for those that get none, which takes
    time. So the passes without DDP come first. One more, through DDP, arranges the gradients in the order in
    which they arrive: without it, a resumed run would sum them in another order than a run that was not
    interrupted. All these gradients are thrown away.
    """
    parameters = [p for p in forward.parameters() if p.requires_grad]
    missing = torch.zeros(len(parameters) + 1, device=parameters[0].device)
    try:
        for try_pass in passes:
            try_pass(forward)
            missing[:-1] += missing.new_tensor([p.grad is None for p in parameters])
            forward.zero_grad()
    except torch.OutOfMemoryError:
        missing[-1] = 1.0
    forward.zero_grad()
    ranks.sum(missing, "the first forward pass")
    if missing[-1] > 0:
        raise torch.OutOfMemoryError("The first batch does not fit on one of the ranks.")
    is_searching = bool(missing.any()) or may_leave_out_parameters(forward)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch 2.13 has another name for broadcast_buffers
        wrapped = DistributedDataParallel(
            forward,
            process_group=ranks.updates,
            broadcast_buffers=False,
            find_unused_parameters=is_searching,
            gradient_as_bucket_view=True,
        )
    if not is_searching:
        with ranks.exchanging("the first forward pass"):
            passes[-1](wrapped)
        wrapped.zero_grad()
    return wrapped


def may_leave_out_parameters(model: nn.Module) -> bool:
    """Return whether some updates leave out parameters that others use."""
    return any(
        isinstance(module, AdaptiveHead) or (isinstance(module, LayerDrop) and module.rate > 0)
        for module in model.modules()
    )
