"""One update: forward, backward, clip, optimise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from dragoman.data.loader import GlobalBatch
from dragoman.device import widest_float
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, LossSum, Network
from dragoman.shapes import Float, Tensor
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.parallel import Ranks, distributed

# Timed updates are numbered from here: by then everything that starts late, such as sampling, is active.
AFTER_ALL_WARMUPS = 10**9


class UpdateResult(NamedTuple):
    loss: float  # per target token, smoothed
    nll: float  # per target token
    norm: float  # of the gradient, before clipping
    applied: bool  # False if the gradient was not finite and the weights are unchanged
    stop: bool  # a rank was asked to stop
    clock: float  # of the first rank
    tokens: int  # target tokens without padding, including </s>, on all ranks
    src_tokens: int


class PendingResult:
    """The result of an update that a device may still be computing."""

    def __init__(self, numbers: Float[Tensor, " N"]) -> None:
        self.is_copied: torch.Event | None = None
        # Copied now, since a later copy would wait for the updates that are enqueued by then.
        if numbers.device.type == "cuda":
            self.is_copied = torch.Event(numbers.device)
            numbers = numbers.to("cpu", non_blocking=True)
            self.is_copied.record()
        self.numbers = numbers

    def get(self) -> UpdateResult:
        """Return the result. The host waits until it is there."""
        if self.is_copied:
            self.is_copied.synchronize()
        tokens, src_tokens, stops, clock, loss, nll, norm, skip = self.numbers.tolist()
        per_token = loss / tokens, nll / tokens
        return UpdateResult(*per_token, norm, not skip, stops > 0, clock, int(tokens), int(src_tokens))


class ForwardPass(nn.Module):
    """The whole forward pass of a micro-batch, so that DDP sees where it starts and ends."""

    def __init__(self, model: Network, objective: Objective, seed: int, precision: torch.dtype) -> None:
        super().__init__()
        self.model, self.objective, self.seed, self.precision = model, objective, seed, precision

    def forward(self, micro: Batch, step: int, number: int) -> LossSum:
        kind, is_mixed = micro.src.device.type, self.precision != torch.float32
        with noise(self.seed, step, number), torch.autocast(kind, self.precision, enabled=is_mixed):
            return self.objective(self.model, micro, step)


@dataclass
class Updater:
    """The components of an update that stay the same during a run."""

    model: Network
    optimizer: torch.optim.Optimizer
    seed: int
    clip: float
    objective: Objective = teacher_forcing
    precision: torch.dtype = torch.float32
    ranks: Ranks = field(default_factory=Ranks)
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self.forward: nn.Module = ForwardPass(self.model, self.objective, self.seed, self.precision)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]

    def update(self, batch: GlobalBatch, step: int, lr: float, stop: bool = False) -> PendingResult:
        """Train on a batch. On other devices than a CPU, this returns before the device has done it."""
        self.model.train()
        if self.ranks.count > 1 and not isinstance(self.forward, DistributedDataParallel):
            self.forward = self.distributed(batch)
        counts = self.counts(batch, stop)
        self.ranks.sum(counts, name_of(step))
        sums = counts.new_zeros(2)
        with self.ranks.exchanging(name_of(step)):
            for number, micro in enumerate(batch.micro, start=1):
                with self.summing_ranks(number == len(batch.micro)):
                    loss, nll = self.forward(micro, step, batch.first_micro + number - 1)
                    # DDP divides by the number of ranks.
                    (loss * (self.ranks.count / counts[0]).to(loss)).backward()
                sums += torch.stack((loss.detach(), nll)).to(sums)
        self.ranks.sum(sums, name_of(step))
        norm = clip_grad_norm_(self.parameters, self.clip or math.inf)
        skip = (~(norm + sums[0]).isfinite()).float()
        self.apply_gradients(lr, skip)
        return PendingResult(torch.cat((counts, sums, norm.to(counts).view(1), skip.to(counts).view(1))))

    def apply_gradients(self, lr: float, skip: Float[Tensor, ""]) -> None:
        """Update the parameters, unless `skip` is 1: the fused kernel reads that on the device, where
        `if skip` would make the host wait."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        setattr(self.optimizer, "found_inf", skip)  # noqa: B010 - as torch.amp.GradScaler does
        self.optimizer.step()
        self.optimizer.zero_grad()

    def counts(self, batch: GlobalBatch, stop: bool) -> Float[Tensor, " N"]:
        """Return the numbers of target and source tokens, 1 to stop, and the clock of the first rank."""
        counts = torch.zeros(4, dtype=widest_float(self.device), device=self.device)
        for micro in batch.micro:
            counts[0] += micro.tgt_keep.sum()
            counts[1] += micro.src_keep.sum()
        counts[2], counts[3] = float(stop), self.clock() if self.ranks.is_first else 0.0
        return counts

    def summing_ranks(self, is_last: bool) -> AbstractContextManager[None]:
        """Return a context for a backward pass; DDP sums over the ranks in the last one of an update."""
        if isinstance(self.forward, DistributedDataParallel) and not is_last:
            return self.forward.no_sync()
        return nullcontext()

    def distributed(self, batch: GlobalBatch) -> nn.Module:
        def try_pass(forward: nn.Module, step: int) -> None:
            forward(batch.micro[0], step, batch.first_micro).loss.backward()

        passes = [partial(try_pass, step=step) for step in (1, AFTER_ALL_WARMUPS)]
        return distributed(self.forward, self.ranks, passes)

    @property
    def device(self) -> torch.device:
        return self.parameters[0].device

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def weights(self) -> dict[str, Tensor]:
        return {name: p.detach() for name, p in self.model.named_parameters()}

    def optimizer_state(self) -> dict[str, Tensor]:
        """Return the tensors of the optimizer by name, such as "exp_avg.head.W"."""
        return {
            f"{key}.{name}": value
            for name, p in self.model.named_parameters()
            for key, value in self.optimizer.state.get(p, {}).items()
        }

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], optimizer_state: Mapping[str, Tensor]) -> None:
        parameters = dict(self.model.named_parameters())
        for name, p in parameters.items():
            p.copy_(weights[name])
        self.optimizer.state.clear()
        for full_name, value in optimizer_state.items():
            key, _, name = full_name.partition(".")
            self.optimizer.state[parameters[name]][key] = value.to(parameters[name].device)


def name_of(step: int) -> str:
    return f"update {step:,}" if step < AFTER_ALL_WARMUPS else f"timed update {step - AFTER_ALL_WARMUPS + 1}"
