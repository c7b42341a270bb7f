"""The plan of a run: size, time and memory, measured on real batches on this machine before it starts."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.config.training import TrainingConfig, seconds
from dragoman.data.loader import Loader
from dragoman.device import peak_memory
from dragoman.training.length import Length, TimeBudget, UpdateCount
from dragoman.training.step import AFTER_ALL_WARMUPS, Updater

MAX_TIMING_SECONDS = 8.0  # of timing; the first FEWEST_TIMED updates may take longer
FEWEST_TIMED, MOST_TIMED = 5, 12  # updates after the first, which also allocates memory and sets up kernels
MAX_BUDGET_SHARE = 0.1  # of a budget that is spent on timing
UPDATE_SHARE = 0.90  # of the time; the rest is for validation, saving and the end
EPOCHS, FEWEST, MOST = 60, 1_000, 50_000  # if neither updates nor a budget are set

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
    spread: float  # uncertainty of the mean of the timed updates, relative to it
    budget: float | None  # seconds, including preparation
    warmup: int
    ranks: int
    threads: int  # per rank
    device: str  # of the first rank
    unused_gpu: bool  # a GPU is present, but not used

    @property
    def seconds(self) -> float:
        return self.budget or self.updates * self.seconds_per_update / UPDATE_SHARE

    @property
    def range(self) -> tuple[float, float]:
        """The expected range of seconds: the spread of the timed updates, and up to half as long again, since
        machines are busy and validation takes time. A budget is met, however long an update takes."""
        if self.budget:
            return self.budget, self.budget
        updating = self.updates * self.seconds_per_update
        return updating * max(0.2, 1 - self.spread), updating / UPDATE_SHARE * 1.3 * (1 + self.spread)


@dataclass(frozen=True)
class Timing:
    seconds_per_update: float
    spread: float
    tokens_per_update: float
    rows_per_update: float
    updates: int


def time_updates(stepper: Updater, loader: Loader, budget: float | None) -> Timing:
    """Time the first updates on real batches, with a learning rate of 0, then forget their moments.

    The clock of the first rank decides when to stop, and the decision is sent with the gradient: if each rank
    used its own clock, ranks would stop at different updates and wait for each other.
    """
    taken: list[float] = []  # seconds
    tokens = 0
    batches = loader.batches(0, stepper.device)
    for number in range(MOST_TIMED + 1):
        start = time.perf_counter()
        batch = next(batches)
        expected = sum(taken) * (number + 1) / max(1, number)
        is_enough = number >= FEWEST_TIMED and expected > MAX_TIMING_SECONDS
        is_costly = budget is not None and number > 0 and expected > MAX_BUDGET_SHARE * budget
        stop = (is_enough or is_costly) and stepper.ranks.is_first
        updated = stepper.update(batch, AFTER_ALL_WARMUPS + number, lr=0.0, stop=stop).get()
        taken.append(time.perf_counter() - start)
        if number > 0:
            tokens += updated.tokens
        if updated.stop:
            break
    batches.close()
    stepper.optimizer.state.clear()
    done = len(taken) - 1
    return Timing(statistics.mean(taken[1:]), spread(taken[1:]), tokens / done, loader.rows_per_batch, done)


def spread(values: Sequence[float]) -> float:
    """Return two standard errors of the mean, relative to it: a 95 % confidence interval is ± this."""
    if len(values) < 2:
        return 1.0
    return 2 * statistics.stdev(values) / math.sqrt(len(values)) / statistics.mean(values)


def planned_length(config: TrainingConfig, timing: Timing, pairs: int, clock: float) -> Length:
    if config.updates is not None:
        return UpdateCount(config.updates)
    if config.budget is not None:
        return TimeBudget.plan(clock, seconds(config.budget), timing.seconds_per_update)
    return UpdateCount(round(min(MOST, max(FEWEST, EPOCHS * pairs / timing.rows_per_update))))


def make_plan(
    config: TrainingConfig,
    timing: Timing,
    length: Length,
    *,
    pairs: int,
    stepper: Updater,
) -> Plan:
    updates = length.updates
    return Plan(
        parameters=stepper.num_parameters,
        pairs=pairs,
        updates=updates,
        epochs=updates * timing.rows_per_update / pairs,
        seconds_per_update=timing.seconds_per_update,
        tokens_per_second=timing.tokens_per_update / timing.seconds_per_update,
        memory=peak_memory(stepper.device),
        precision=str(stepper.precision).removeprefix("torch."),
        timed_updates=timing.updates,
        spread=timing.spread,
        budget=length.until if isinstance(length, TimeBudget) else None,
        warmup=config.warmup_of(updates),
        ranks=stepper.ranks.count,
        threads=torch.get_num_threads(),
        device=str(stepper.device),
        unused_gpu=stepper.device.type == "cpu" and has_gpu(),
    )


def has_gpu() -> bool:
    """Return whether torch can use a GPU, or a driver for one is installed that torch cannot use."""
    return torch.cuda.is_available() or torch.backends.mps.is_available() or NVIDIA.exists()
