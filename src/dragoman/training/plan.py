"""What a run will be, said before it starts: size, time and memory, timed on real batches of this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.config.training import TrainingConfig, seconds
from dragoman.data.loader import Loader
from dragoman.memory import peak_bytes
from dragoman.training.step import LATE, Stepper

LONGEST = 8.0  # seconds of timing
TIMED = 12  # updates at most
RESERVE = 0.90  # share of a budget given to updates; the rest is for validation, saving and the end
EPOCHS, FEWEST, MOST = 60, 1_000, 50_000  # where neither updates nor a budget are given

NVIDIA = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Plan:
    parameters: int
    pairs: int
    updates: int
    epochs: float
    seconds_per_update: float
    tokens_per_second: float  # target tokens
    memory: int  # bytes, the peak so far
    precision: str
    timed_updates: int
    ranks: int
    threads: int  # of each rank
    unused_gpu: bool  # there is one, which is left alone

    @property
    def seconds(self) -> float:
        return self.updates * self.seconds_per_update / RESERVE

    @property
    def range(self) -> tuple[float, float]:
        """From the rate as timed to half as fast again: machines are busy, validation costs."""
        return self.updates * self.seconds_per_update, self.seconds * 1.3


@dataclass(frozen=True)
class Timing:
    seconds_per_update: float
    tokens_per_update: float
    rows_per_update: float
    updates: int


def time_updates(stepper: Stepper, loader: Loader) -> Timing:
    """Run the first updates for real, then take them back.

    The clock of the first rank says when it is enough, and its word rides behind the gradient: by clocks of
    their own, ranks would leave at different updates and wait for each other.
    """
    before = stepper.flat.master.clone()
    spent, elapsed, tokens, rows, done = 0.0, 0.0, 0, 0, 0
    batches = loader.batches(0)
    for number in range(TIMED + 1):
        start = time.perf_counter()
        batch = next(batches)
        expected = elapsed if done else elapsed / 2  # the first also pays for memory and kernels
        is_last = number > 0 and spent + expected > LONGEST
        updated = stepper.update(batch, LATE + number, lr=0.0, stop=is_last and stepper.ranks.is_first)
        elapsed = time.perf_counter() - start
        if number > 0:
            spent, tokens, done = spent + elapsed, tokens + batch.tokens, done + 1
            rows += batch.next_position - batch.position
        if updated.stop:
            break
    batches.close()
    stepper.flat.master.copy_(before)
    stepper.flat.publish()
    stepper.adam.forget()
    return Timing(spent / done, tokens / done, rows / done, done)


def planned_updates(config: TrainingConfig, timing: Timing, pairs: int) -> int:
    if config.updates is not None:
        return config.updates
    if config.budget is not None:
        return max(1, int(seconds(config.budget) * RESERVE / timing.seconds_per_update))
    return round(min(MOST, max(FEWEST, EPOCHS * pairs / timing.rows_per_update)))


def make_plan(
    config: TrainingConfig, timing: Timing, *, parameters: int, pairs: int, precision: str, ranks: int
) -> Plan:
    updates = planned_updates(config, timing, pairs)
    return Plan(
        parameters=parameters,
        pairs=pairs,
        updates=updates,
        epochs=updates * timing.rows_per_update / pairs,
        seconds_per_update=timing.seconds_per_update,
        tokens_per_second=timing.tokens_per_update / timing.seconds_per_update,
        memory=peak_bytes(),
        precision=precision,
        timed_updates=timing.updates,
        ranks=ranks,
        threads=torch.get_num_threads(),
        unused_gpu=has_gpu(),
    )


def has_gpu() -> bool:
    """torch sees one, or the driver of one is there that this build of torch cannot use."""
    return torch.cuda.is_available() or torch.backends.mps.is_available() or NVIDIA.exists()
