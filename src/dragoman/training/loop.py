"""The loop, on one screen: update, now and then validate and save, stop when it is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.training import TrainingConfig
from dragoman.data.loader import GlobalBatch, Loader
from dragoman.errors import TrainingError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Progress
from dragoman.training.events import Events
from dragoman.training.schedule import Schedule
from dragoman.training.step import Stepper, Updated
from dragoman.training.validate import Validator

SKIPPED = 10  # updates in a row that may be skipped for a gradient that is not finite


@dataclass(frozen=True)
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

    def run(self, progress: Progress) -> str:
        """Why it ended: "done", "early" (no progress any more) or "asked"."""
        batches = self.loader.batches(progress.position)
        try:
            reason = "done" if progress.step >= self.updates else ""
            while not reason:
                reason = self.one_update(batches, progress)
            return reason
        finally:
            batches.close()

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
        self.guard(updated, batch, progress)
        is_due = step % self.validate_every == 0 or step % self.checkpoint_every == 0
        if not (is_due or updated.stop or step >= self.updates):
            return ""
        return self.stepper.ranks.from_first(
            f"validation and saving after update {step:,}", lambda: self.look(progress, stop=updated.stop)
        )

    def look(self, progress: Progress, *, stop: bool) -> str:
        """What the first rank does between two updates, and whether there is another one."""
        last = progress.step >= self.updates
        if last or progress.step % self.validate_every == 0:
            self.validate(progress)
        early = bool(self.config.patience) and progress.since_best >= self.config.patience
        if last or early or stop or progress.step % self.checkpoint_every == 0:
            self.save(progress)
        return "done" if last else "early" if early else "asked" if stop else ""

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
        )

    def guard(self, updated: Updated, batch: GlobalBatch, progress: Progress) -> None:
        """A gradient that is not finite never reaches the weights; many in a row end the run."""
        progress.skipped = 0 if updated.applied else progress.skipped + 1
        if progress.skipped >= SKIPPED:
            raise TrainingError(
                f"The loss was not a finite number for {SKIPPED} updates in a row.",
                where=f"update {progress.step}, examples {batch.position}–{batch.next_position}",
                expected="a learning rate at which the model learns",
                hint=f"training.lr={self.config.lr / 4:g} and the same command with --force",
            )

    def validate(self, progress: Progress) -> None:
        start = time.perf_counter()
        flat = self.stepper.flat
        verdict = self.validator(flat.views(flat.master))
        value = verdict.value(self.config.valid_metric)
        best = progress.best_value is None or value > progress.best_value
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
        folder = checkpoint.save(self.home, progress, self.stepper.flat, self.stepper.adam)
        kept = max(self.config.keep, self.config.average)
        checkpoint.prune(self.home, self.checkpoint_every, kept, progress.best_step)
        seconds = round(time.perf_counter() - start, 3)
        self.events.tell("checkpoint", step=progress.step, folder=folder.name, seconds=seconds)
