"""What happens between two updates: validation, saving, and the question whether there is another one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.config.training import TrainingConfig
from dragoman.data.loader import Loader
from dragoman.errors import CheckpointError
from dragoman.training.events import Events
from dragoman.training.length import Length, TimeBudget
from dragoman.training.optim.schedule import Schedule
from dragoman.training.pace import Clock, PaceWatch
from dragoman.training.signals import StopRequest
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.step import Updater
from dragoman.training.validate import ValidationResult, Validator


def is_out_of_patience(progress: TrainingState, config: TrainingConfig) -> bool:
    """No validation was the best one for as long as patience lasts."""
    return 0 < config.patience <= progress.since_best


@dataclass
class Milestones:
    """The parts of a run, and what the first rank does with them when an update is over."""

    config: TrainingConfig
    length: Length
    clock: Clock
    pace: PaceWatch
    stepper: Updater
    schedule: Schedule
    loader: Loader
    validator: Validator
    events: Events
    home: Path  # of the checkpoints
    asked: StopRequest
    unsaved: CheckpointError | None = field(default=None, init=False)  # why the last save failed
    validated: tuple[int, ValidationResult] | None = field(
        default=None, init=False
    )  # the last one, and its update
    now: float = field(default=0.0, init=False)  # by the clock of the first rank, the same on all
    cost: float = field(default=0.0, init=False)  # seconds of the last validation, with saving

    def tell_start(self, progress: TrainingState, notes: list[str], **facts: Any) -> None:
        length = self.length
        self.events.tell(
            "resume" if progress.step else "start",
            step=progress.step,
            updates=length.forecast(progress.step, self.clock(), self.pace.seconds),
            first=length.start if isinstance(length, TimeBudget) else length.first,
            until=length.until if isinstance(length, TimeBudget) else None,
            parameters=len(self.stepper.flat),
            seconds=self.clock(),
            run=progress.run,
            notes=notes,
            **facts,
        )

    def over(self, progress: TrainingState, now: float) -> str:
        """Also asked before the first update: a run may have been killed after its last."""
        if self.length.is_over(progress.step, now):
            return "done"
        return "early" if is_out_of_patience(progress, self.config) else ""

    def is_checkpoint(self, step: int) -> bool:
        every = self.config.checkpoint_every
        return step % every == 0 if every else self.length.is_due(step, self.now)

    def next_checkpoint(self, step: int) -> int | None:
        """The update that it comes after; by the clock it cannot be named."""
        if isinstance(self.length, TimeBudget):
            return None
        last = self.length.last
        return next((later for later in range(step + 1, last) if self.is_checkpoint(later)), last)

    def is_validation(self, step: int) -> bool:
        every = self.config.validate_every
        return step % every == 0 if every else self.is_checkpoint(step)

    def look(self, progress: TrainingState, *, stop: bool) -> tuple[str, dict[str, Any]]:
        """What the first rank does between two updates: why it is the end, or "", and the run's length."""
        step, start = progress.step, self.clock()
        is_regular = self.is_checkpoint(step)
        is_validated = self.is_validation(step) or self.length.is_over(step, self.now)
        if is_validated:
            self.validate(progress)
        reason = self.over(progress, self.clock()) or (self.asked.wish if stop else "")
        if is_regular:
            progress.regular = [*progress.regular, step][-self.kept :]
        if reason or is_regular or progress.best_step == step:
            self.save(progress)
        now = self.clock()
        if is_validated:
            self.cost = now - start
        self.length.looked(now, self.cost)
        return reason, self.length.to_json()

    @property
    def kept(self) -> int:
        """Regular checkpoints."""
        return max(self.config.keep, self.config.average)

    def validate(self, progress: TrainingState) -> None:
        flat = self.stepper.flat
        verdict = self.validator(flat.views(flat.master))
        self.validated = progress.step, verdict
        value = verdict.value(self.config.valid_metric)
        # what is not a number is never best, and anything is better than it
        best = not math.isnan(value) and (progress.best_value is None or not value <= progress.best_value)
        if best:
            progress.best_step, progress.best_value, progress.since_best = progress.step, value, 0
        else:
            progress.since_best += 1
        self.events.tell(
            "valid",
            step=progress.step,
            updates=self.length.forecast(progress.step, self.clock(), self.pace.seconds),
            loss=verdict.loss,
            **verdict.metrics,
            best=best,
            sample=verdict.sample,
            seconds=round(verdict.seconds, 2),
        )

    def save(self, progress: TrainingState) -> None:
        start = time.perf_counter()
        progress.seconds, progress.length = self.clock(), self.length.to_json()
        try:
            folder = checkpoint.save(self.home, progress, self.stepper.flat, self.stepper.adam)
        except CheckpointError as error:  # older checkpoints are whole, and a full disk may have room later
            self.unsaved = error
            facts = {"what": error.what, "where": error.where, "expected": error.expected}
            again = self.next_checkpoint(progress.step)
            self.events.tell("unsaved", step=progress.step, **facts, again=again)
            return
        self.unsaved = None
        checkpoint.prune(self.home, {*progress.regular, progress.best_step})
        seconds = round(time.perf_counter() - start, 3)
        self.events.tell("checkpoint", step=progress.step, folder=folder.name, seconds=seconds)
