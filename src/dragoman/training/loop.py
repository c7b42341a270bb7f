"""The training loop: update, validate and save at intervals, stop when the run is over."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dragoman.data.loader import GlobalBatch
from dragoman.errors import TrainingError
from dragoman.training.events import StepEvent
from dragoman.training.length import from_json
from dragoman.training.milestones import Milestones
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.step import UpdateResult

MAX_SKIPPED = 10  # updates in a row that are skipped because of a non-finite gradient before the run ends


class Loop(Milestones):
    def run(self, progress: TrainingState) -> str:
        """Train and return why it ended: "done", "early" (out of patience), "finish" or "asked" (to stop)."""
        batches = self.loader.batches(progress.position)
        try:
            self.now = self.stepper.ranks.from_first("the clock", self.clock)
            reason = self.over(progress, self.now)
            while not reason:
                reason = self.one_update(batches, progress)
            return reason
        finally:
            batches.close()

    def one_update(self, batches: Iterator[GlobalBatch], progress: TrainingState) -> str:
        start = time.perf_counter()
        batch = next(batches)  # the time includes waiting for data
        step = progress.step + 1
        lr = self.schedule(self.length.position(step, self.now))
        updated = self.stepper.update(batch, step, lr, stop=self.stop_request())
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
        moments = self.stepper.gather_moments(step)
        reason, length = self.stepper.ranks.from_first(
            f"validation and saving after update {step:,}",
            lambda: self.validate_and_save(progress, moments, stop=updated.stop),
        )
        self.length = from_json(length)
        return str(reason)

    def note(self, batch: GlobalBatch, updated: UpdateResult, step: int, lr: float, seconds: float) -> None:
        event: StepEvent = {
            "event": "step",
            "step": step,
            "epoch": round(batch.epoch, 4),
            "loss": updated.loss,
            "nll": updated.nll,
            "norm": updated.norm,
            "lr": lr,
            "tokens": batch.tokens,
            "src_tokens": batch.src_tokens,
            "seconds": round(seconds, 4),
            "applied": updated.applied,
        }
        if not updated.applied:
            event["examples"] = self.loader.examples(batch.position)
        self.events.emit(event)
        if slow := self.pace(seconds):
            self.events.emit({"event": "slow", "step": step, **slow})

    def guard(self, updated: UpdateResult, progress: TrainingState) -> None:
        """Raise TrainingError if too many updates in a row were skipped for a non-finite gradient."""
        progress.skipped = 0 if updated.applied else progress.skipped + 1
        if progress.skipped >= MAX_SKIPPED:
            raise TrainingError(
                f"The loss was not a finite number for {MAX_SKIPPED} updates in a row.",
                where=f"update {progress.step}; events.jsonl lists the examples of each",
                expected="a learning rate at which the model learns",
                hint=f"Set training.lr={self.config.lr / 4:g} and run the same command with --force.",
            )
