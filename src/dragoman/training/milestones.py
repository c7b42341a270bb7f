"""The work between two updates: validation, checkpoints, and the decision whether to continue."""

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
from dragoman.training.pace import Clock, PaceWatch
from dragoman.training.schedule import Schedule
from dragoman.training.signals import StopRequest
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import FEWEST_KEPT, TrainingState
from dragoman.training.step import Updater
from dragoman.training.validate import ValidationResult, Validator


def is_out_of_patience(progress: TrainingState, config: TrainingConfig) -> bool:
    """Return whether the last `patience` validations brought no improvement."""
    return 0 < config.patience <= progress.since_best


@dataclass
class Milestones:
    """The components of a run, and what the first rank does with them after an update."""

    config: TrainingConfig
    length: Length
    clock: Clock
    pace: PaceWatch
    stepper: Updater
    schedule: Schedule
    loader: Loader
    validator: Validator
    events: Events
    home: Path  # folder of the checkpoints
    stop_request: StopRequest
    unsaved: CheckpointError | None = field(default=None, init=False)  # why the last save failed
    # Results by update, of the last validation and the best one: neither is repeated at the end.
    validated: dict[int, ValidationResult] = field(default_factory=dict, init=False)
    now: float = field(default=0.0, init=False)  # on the clock of the first rank, the same on all ranks
    # Seconds of the last two validations, including saving. The shorter one counts: a machine that is busy
    # for a moment must not end a run early.
    costs: list[float] = field(default_factory=list, init=False)

    def emit_start(self, progress: TrainingState, notes: list[str], pairs: int, out: Path) -> None:
        length = self.length
        self.events.emit(
            {
                "event": "resume" if progress.step else "start",
                "step": progress.step,
                "updates": length.forecast(progress.step, self.clock(), self.pace.seconds),
                "first": length.start if isinstance(length, TimeBudget) else length.first,
                "until": length.until if isinstance(length, TimeBudget) else None,
                "parameters": self.stepper.num_parameters,
                "seconds": self.clock(),
                "run": progress.run,
                "notes": notes,
                "pairs": pairs,
                "out": str(out),
            }
        )

    def over(self, progress: TrainingState, now: float) -> str:
        """Return why the run is over, or "". It may be over before the first update, if it was resumed."""
        if self.length.is_over(progress.step, now):
            return "done"
        return "early" if is_out_of_patience(progress, self.config) else ""

    def is_checkpoint(self, step: int) -> bool:
        every = self.config.checkpoint_every
        return step % every == 0 if every else self.length.is_due(step, self.now)

    def next_checkpoint(self, step: int) -> int | None:
        """Return the update of the next checkpoint, or None with a time budget, where it is not known."""
        if isinstance(self.length, TimeBudget):
            return None
        last = self.length.last
        return next((later for later in range(step + 1, last) if self.is_checkpoint(later)), last)

    def is_validation(self, step: int) -> bool:
        every = self.config.validate_every
        return step % every == 0 if every else self.is_checkpoint(step)

    def validate_and_save(self, progress: TrainingState, *, stop: bool) -> tuple[str, dict[str, Any]]:
        """Validate and save if due, on the first rank. Return why the run ends, or "", and its length."""
        step, start = progress.step, self.clock()
        is_regular = self.is_checkpoint(step)
        is_validated = self.is_validation(step) or self.length.is_over(step, self.now)
        if is_validated:
            self.validate(progress)
            if self.length.is_over(step, self.now):
                now = self.clock()
                self.length.after_last_validation(now, now - start)
        reason = self.over(progress, self.clock()) or (self.stop_request.wish if stop else "")
        if is_regular:
            progress.regular = [*progress.regular, step][-self.kept :]
        if reason or is_regular or progress.best_step == step:
            self.save(progress)
        now = self.clock()
        if is_validated:
            self.costs = [*self.costs[-1:], now - start]
        self.length.after_milestone(now, min(self.costs, default=None))
        return reason, self.length.to_json()

    @property
    def kept(self) -> int:
        """The number of regular checkpoints to keep."""
        return max(FEWEST_KEPT, self.config.average)

    def validate(self, progress: TrainingState) -> None:
        result = self.validator(self.stepper.weights())
        value = result.value(self.config.valid_metric)
        # NaN is never the best value, and any number is better than NaN
        best = not math.isnan(value) and (progress.best_value is None or not value <= progress.best_value)
        if best:
            progress.best_step, progress.best_value, progress.since_best = progress.step, value, 0
        else:
            progress.since_best += 1
        known = {**self.validated, progress.step: result}
        self.validated = {step: known[step] for step in (progress.best_step, progress.step) if step in known}
        self.events.emit(
            {
                "event": "valid",
                "step": progress.step,
                "updates": self.length.forecast(progress.step, self.clock(), self.pace.seconds),
                "loss": result.loss,
                **result.metrics,
                "best": best,
                "sample": result.sample,
                "seconds": round(result.seconds, 2),
            }
        )

    def save(self, progress: TrainingState) -> None:
        start = time.perf_counter()
        progress.seconds, progress.length = self.clock(), self.length.to_json()
        try:
            folder = checkpoint.save(
                self.home, progress, self.stepper.weights(), self.stepper.optimizer_state()
            )
        except CheckpointError as error:  # older checkpoints are intact, and the disk may have space later
            self.unsaved = error
            self.events.emit(
                {
                    "event": "unsaved",
                    "step": progress.step,
                    "what": error.what,
                    "where": error.where,
                    "expected": error.expected,
                    "again": self.next_checkpoint(progress.step),
                }
            )
            return
        self.unsaved = None
        checkpoint.prune(self.home, {*progress.regular, progress.best_step})
        seconds = round(time.perf_counter() - start, 3)
        self.events.emit(
            {"event": "checkpoint", "step": progress.step, "folder": folder.name, "seconds": seconds}
        )
