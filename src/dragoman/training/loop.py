"""The loop, on one screen: update, now and then validate and save, stop when it is time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.config.training import TrainingConfig
from dragoman.data.loader import GlobalBatch, Loader
from dragoman.errors import CheckpointError, TrainingError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Progress
from dragoman.training.events import Events
from dragoman.training.length import Length, TimeBudget, from_json
from dragoman.training.pace import Clock, PaceWatch
from dragoman.training.schedule import Schedule
from dragoman.training.signals import StopRequest
from dragoman.training.step import Stepper, Updated
from dragoman.training.validate import Validator, Verdict

SKIPPED = 10  # updates in a row that may be skipped for a gradient that is not finite


@dataclass
class Loop:
    config: TrainingConfig
    length: Length
    clock: Clock
    pace: PaceWatch
    stepper: Stepper
    schedule: Schedule
    loader: Loader
    validator: Validator
    events: Events
    home: Path  # of the checkpoints
    asked: StopRequest
    unsaved: CheckpointError | None = field(default=None, init=False)  # why the last save failed
    validated: tuple[int, Verdict] | None = field(
        default=None, init=False
    )  # at which update, and what it found
    now: float = field(default=0.0, init=False)  # by the clock of the first rank, the same on all
    cost: float = field(default=0.0, init=False)  # seconds of the last validation, with saving

    def run(self, progress: Progress) -> str:
        """Why it ended: "done", "early" (no progress any more), "finish" or "asked" (to stop)."""
        batches = self.loader.batches(progress.position)
        try:
            self.now = self.stepper.ranks.from_first("the clock", self.clock)
            reason = self.over(progress, self.now)
            while not reason:
                reason = self.one_update(batches, progress)
            return reason
        finally:
            batches.close()

    def tell_start(self, progress: Progress, notes: list[str], **facts: Any) -> None:
        length = self.length
        self.events.tell(
            "resume" if progress.step else "start",
            step=progress.step,
            updates=length.forecast(progress.step, self.clock(), self.pace.seconds),
            until=length.until if isinstance(length, TimeBudget) else None,
            parameters=len(self.stepper.flat),
            seconds=self.clock(),
            run=progress.run,
            notes=notes,
            **facts,
        )

    def over(self, progress: Progress, now: float) -> str:
        """Also asked before the first update: a run may have been killed after its last."""
        if self.length.is_over(progress.step, now):
            return "done"
        patience = self.config.patience
        return "early" if patience and progress.since_best >= patience else ""

    def is_checkpoint(self, step: int) -> bool:
        every = self.config.checkpoint_every
        return step % every == 0 if every else self.length.is_due(step, self.now)

    def is_validation(self, step: int) -> bool:
        every = self.config.validate_every
        return step % every == 0 if every else self.is_checkpoint(step)

    def one_update(self, batches: Iterator[GlobalBatch], progress: Progress) -> str:
        start = time.perf_counter()
        batch = next(batches)  # waiting for data is a part of the time
        step = progress.step + 1
        lr = self.schedule(self.length.position(step, self.now))
        updated = self.stepper.update(batch, step, lr, stop=self.asked())
        self.now = updated.clock
        progress.step, progress.position, progress.adam_steps = (
            step,
            batch.next_position,
            self.stepper.adam.steps,
        )
        seconds = time.perf_counter() - start
        self.note(batch, updated, step, lr, seconds)
        self.guard(updated, progress)
        is_due = self.is_validation(step) or self.is_checkpoint(step)
        if not (is_due or updated.stop or self.length.is_over(step, self.now)):
            return ""
        reason, length = self.stepper.ranks.from_first(
            f"validation and saving after update {step:,}", lambda: self.look(progress, stop=updated.stop)
        )
        self.length = from_json(length)
        return str(reason)

    def look(self, progress: Progress, *, stop: bool) -> tuple[str, dict[str, Any]]:
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
        if slow := self.pace(seconds):
            self.events.tell("slow", step=step, **slow)

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

    def save(self, progress: Progress) -> None:
        start = time.perf_counter()
        progress.seconds, progress.length = self.clock(), self.length.to_json()
        try:
            folder = checkpoint.save(self.home, progress, self.stepper.flat, self.stepper.adam)
        except CheckpointError as error:  # older checkpoints are whole, and a full disk may have room later
            self.unsaved = error
            facts = {"what": error.what, "where": error.where, "expected": error.expected}
            self.events.tell("unsaved", step=progress.step, **facts)
            return
        self.unsaved = None
        checkpoint.prune(self.home, {*progress.regular, progress.best_step})
        seconds = round(time.perf_counter() - start, 3)
        self.events.tell("checkpoint", step=progress.step, folder=folder.name, seconds=seconds)
