"""One update: forward, backward, sum over micro-batches and ranks, clip, optimise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dragoman.data.loader import GlobalBatch
from dragoman.errors import TrainingError
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, LossSum, Network
from dragoman.shapes import Float, Tensor
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.distributed.recursive_halving import Partition
from dragoman.training.distributed.tree_sum import CHUNK, chunk_norms, norm_of, tree_sum
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters

# Numbers after the gradient in one flat tensor: Σ loss, Σ nll, the numbers of target and source tokens, how
# many ranks want to stop, the clock of the first rank, and the number of the update.
EXTRA = 7
MARKS = 2**16  # update numbers are modulo this; fp32 represents integers up to 256 times this exactly
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

    def __init__(self, numbers: Float[Tensor, " N"], mark: int) -> None:
        self.mark = mark
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
        loss, nll, tokens, src_tokens, stops, clock, mark, norm, skip = self.numbers.tolist()
        if mark != self.mark:
            raise TrainingError("Ranks are at different updates.", expected="the same update on all ranks")
        per_token = loss / tokens, nll / tokens
        return UpdateResult(*per_token, norm, not skip, stops > 0, clock, int(tokens), int(src_tokens))


@dataclass(frozen=True)
class Updater:
    """The components of an update that stay the same during a run."""

    model: Network
    flat: FlatParameters
    adam: Adam
    partition: Partition
    seed: int
    clip: float
    objective: Objective = teacher_forcing
    clock: Callable[[], float] = time.perf_counter

    def update(self, batch: GlobalBatch, step: int, lr: float, stop: bool = False) -> PendingResult:
        """Train on a batch. On other devices than a CPU, this returns before the device has done it."""
        self.model.train()
        gradient, extra = self.sum_gradients(batch, step, stop)
        mine = gradient[self.partition.mine]
        tokens = extra[2]
        norm = self._norm(mine, step) / tokens
        skip = (~(norm + extra[0]).isfinite()).float()
        mine.mul_(((self.clip / norm).clamp(max=1.0) if self.clip else 1.0) / tokens)
        self.adam.step(mine, lr, skip)
        self.partition.all_gather(self.flat.master, name_of(step))
        self.flat.publish()
        numbers = torch.cat((extra.to(norm), norm.view(1), skip.to(norm).view(1)))
        return PendingResult(numbers, step % MARKS * self.ranks.count)

    def sum_gradients(
        self, batch: GlobalBatch, step: int, stop: bool
    ) -> tuple[Float[Tensor, " P"], Float[Tensor, " E"]]:
        """Return the gradient, whose part of this rank is summed over all ranks, and the numbers after it."""
        total = tree_sum(self._parts(batch, step, stop)) if batch.micro else self._nothing(stop)
        total[-2] = self.clock() if self.ranks.is_first else 0.0
        total[-1] = step % MARKS
        gradient, extra = total[: len(self.flat)], total[len(self.flat) :]
        self.partition.reduce_scatter(gradient, extra, name_of(step))
        return gradient, extra

    @property
    def ranks(self) -> Ranks:
        return self.partition.ranks

    @property
    def device(self) -> torch.device:
        return self.flat.master.device

    def gather_moments(self, step: int) -> dict[str, Float[Tensor, " P"]]:
        """Return Adam's moments of all parameters, on the first rank. All ranks must call this."""
        if self.partition.ranks.count == 1:
            return self.adam.moments
        gathered = {}
        for name, moment in self.adam.moments.items():
            gathered[name] = torch.empty_like(self.flat.master)
            gathered[name][self.partition.mine] = moment
            self.partition.gather(gathered[name], f"the checkpoint after {name_of(step)}")
        return gathered

    def _norm(self, mine: Float[Tensor, " N"], step: int) -> Float[Tensor, ""]:
        """Return the norm of the gradient, of which `mine` is the part of this rank."""
        chunks = Partition(self.partition.ranks, [-(-cut // CHUNK) for cut in self.partition.cuts])
        norms = mine.new_empty(chunks.cuts[-1])
        norms[chunks.mine] = chunk_norms(mine)
        chunks.all_gather(norms, name_of(step))
        return norm_of(norms, len(self.flat) // CHUNK)

    def _parts(self, batch: GlobalBatch, step: int, stop: bool) -> Iterator[Float[Tensor, " Q"]]:
        """Yield the gradient and the sums of each micro-batch of this rank."""
        for number, micro in enumerate(batch.micro, start=batch.first_micro):
            part = self.flat.master.new_empty(len(self.flat) + EXTRA)
            sums = self._backward(micro, step, number)
            part[len(self.flat) : -3] = torch.stack([x.to(part) for x in self.counts(sums, micro)])
            part[-3], part[-2:] = float(stop), 0.0
            self.flat.take_gradient(part)
            yield part

    def counts(self, sums: LossSum, micro: Batch) -> tuple[Tensor, ...]:
        """Return Σ loss, Σ nll and the numbers of target and source tokens of a micro-batch."""
        return sums.loss.detach(), sums.nll, micro.tgt_keep.sum(), micro.src_keep.sum()

    def _nothing(self, stop: bool) -> Float[Tensor, " Q"]:
        """Return the part of a rank without micro-batches: adding -0 preserves every bit, even of ±0."""
        nothing = self.flat.master.new_full((len(self.flat) + EXTRA,), -0.0)
        nothing[-3] = float(stop)
        return nothing

    def _backward(self, micro: Batch, step: int, number: int) -> LossSum:
        with noise(self.seed, step, number):
            sums = self.objective(self.model, micro, step)
        sums.loss.backward()
        return sums


def name_of(step: int) -> str:
    return f"update {step:,}" if step < AFTER_ALL_WARMUPS else f"timed update {step - AFTER_ALL_WARMUPS + 1}"
