"""The loop, on one screen: update, now and then validate and save, stop when it is time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.config.training import TrainingConfig
from dragoman.data.loader import GlobalBatch, Loader
from dragoman.errors import CheckpointError, TrainingError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Progress
from dragoman.training.events import Events
from dragoman.training.schedule import Schedule
from dragoman.training.step import Stepper, Updated
from dragoman.training.validate import Validator

SKIPPED = 10  # updates in a row that may be skipped for a gradient that is not finite


@dataclass
class Loop:
    config: TrainingConfig
    updates: int
    checkpoint_every: int
    validate_every: int
    stepper: Stepper
    schedule: Schedule
    loader: Loader
    validator: Validator
    events: Events
    home: Path  # of the checkpoints
    asked_to_stop: Callable[[], bool]
    unsaved: CheckpointError | None = field(default=None, init=False)  # why the last save failed

    def run(self, progress: Progress) -> str:
        """Why it ended: "done", "early" (no progress any more) or "asked"."""
        batches = self.loader.batches(progress.position)
        try:
            reason = self.over(progress)
            while not reason:
                reason = self.one_update(batches, progress)
            return reason
        finally:
            batches.close()

    def over(self, progress: Progress) -> str:
        """Also asked before the first update: a run may have been killed after its last."""
        if progress.step >= self.updates:
            return "done"
        patience = self.config.patience
        return "early" if patience and progress.since_best >= patience else ""

    def one_update(self, batches: Iterator[GlobalBatch], progress: Progress) -> str:
        start = time.perf_counter()
        batch = next(batches)  # waiting for data is a part of the time
        step = progress.step + 1
        lr = self.schedule(step)
        updated = self.stepper.update(batch, step, lr, stop=self.asked_to_stop())
        progress.step, progress.position, progress.adam_steps = (
            step,
            batch.next_position,
            self.stepper.adam.steps,
        )
        seconds = time.perf_counter() - start
        progress.seconds += seconds
        self.note(batch, updated, step, lr, seconds)
        self.guard(updated, progress)
        is_due = step % self.validate_every == 0 or step % self.checkpoint_every == 0
        if not (is_due or updated.stop or step >= self.updates):
            return ""
        return self.stepper.ranks.from_first(
            f"validation and saving after update {step:,}", lambda: self.look(progress, stop=updated.stop)
        )

    def look(self, progress: Progress, *, stop: bool) -> str:
        """What the first rank does between two updates, and whether there is another one."""
        step = progress.step
        if step >= self.updates or step % self.validate_every == 0:
            self.validate(progress)
        reason = self.over(progress) or ("asked" if stop else "")
        if reason or step % self.checkpoint_every == 0 or progress.best_step == step:
            self.save(progress)
        return reason

    def note(self, batch: GlobalBatch, updated: Updated, step: int, lr: float, seconds: float) -> None:
        self.events.tell(
            "step",
            step=step,
            epoch=round(batch.epoch, 4),
            loss=updated.loss,
            nll=updated.nll,
            norm=updated.norm,
            lr=lr,
            tokens=batch.tokens,
            src_tokens=batch.src_tokens,
            seconds=round(seconds, 4),
            applied=updated.applied,
            **({} if updated.applied else {"examples": self.loader.examples(batch.position)}),
        )

    def guard(self, updated: Updated, progress: Progress) -> None:
        """A gradient that is not finite never reaches the weights; many in a row end the run."""
        progress.skipped = 0 if updated.applied else progress.skipped + 1
        if progress.skipped >= SKIPPED:
            raise TrainingError(
                f"The loss was not a finite number for {SKIPPED} updates in a row.",
                where=f"update {progress.step}; events.jsonl has the examples of each of them",
                expected="a learning rate at which the model learns",
                hint=f"training.lr={self.config.lr / 4:g} and the same command with --force",
            )

    def validate(self, progress: Progress) -> None:
        start = time.perf_counter()
        flat = self.stepper.flat
        verdict = self.validator(flat.views(flat.master))
        value = verdict.value(self.config.valid_metric)
        # what is not a number is never best, and anything is better than it
        best = not math.isnan(value) and (progress.best_value is None or not value <= progress.best_value)
        if best:
            progress.best_step, progress.best_value, progress.since_best = progress.step, value, 0
        else:
            progress.since_best += 1
        progress.seconds += time.perf_counter() - start
        self.events.tell(
            "valid",
            step=progress.step,
            loss=verdict.loss,
            **verdict.metrics,
            best=best,
            sample=verdict.sample,
            seconds=round(verdict.seconds, 2),
        )

    def save(self, progress: Progress) -> None:
        start = time.perf_counter()
        try:
            folder = checkpoint.save(self.home, progress, self.stepper.flat, self.stepper.adam)
        except CheckpointError as error:  # older checkpoints are whole, and a full disk may have room later
            self.unsaved = error
            again = min(self.updates, (progress.step // self.checkpoint_every + 1) * self.checkpoint_every)
            facts = {"what": error.what, "where": error.where, "expected": error.expected, "again": again}
            self.events.tell("unsaved", step=progress.step, **facts)
            return
        self.unsaved = None
        kept = max(self.config.keep, self.config.average)
        checkpoint.prune(self.home, self.checkpoint_every, kept, progress.best_step)
        seconds = round(time.perf_counter() - start, 3)
        self.events.tell("checkpoint", step=progress.step, folder=folder.name, seconds=seconds)
