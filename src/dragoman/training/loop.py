"""The training loop: update, validate and save at intervals, stop when the run is over."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.data.loader import GlobalBatch
from dragoman.errors import TrainingError
from dragoman.training.events import StepEvent
from dragoman.training.length import from_json
from dragoman.training.milestones import Milestones
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.step import PendingResult, UpdateResult

MAX_SKIPPED = 10  # updates in a row that are skipped because of a non-finite gradient before the run ends


class UnreadUpdate(NamedTuple):
    """An update whose result the host has not read yet."""

    batch: GlobalBatch
    step: int
    lr: float
    pending: PendingResult


@dataclass
class Loop(Milestones):
    unread: deque[UnreadUpdate] = field(default_factory=deque, init=False)
    last_read: float = field(default=0.0, init=False)  # when, on this process's own clock

    def run(self, progress: TrainingState) -> str:
        """Train and return why it ended: "done", "early" (out of patience), "finish" or "asked" (to stop)."""
        batches = self.loader.batches(progress.step, self.stepper.device)
        try:
            self.now = self.stepper.ranks.from_first("the clock", self.clock)
            reason = self.over(progress, self.now)
            self.last_read = time.perf_counter()
            while not reason:
                reason = self.one_update(batches, progress)
            return reason
        finally:
            batches.close()

    def one_update(self, batches: Iterator[GlobalBatch], progress: TrainingState) -> str:
        batch = next(batches)
        step = progress.step + 1
        lr = self.schedule(self.length.position(step, self.now))
        pending = self.stepper.update(batch, step, lr, stop=self.stop_request())
        self.unread.append(UnreadUpdate(batch, step, lr, pending))
        progress.step = step
        stop = self.read(progress, until=step - self.lag)
        if not (
            stop
            or self.is_validation(step)
            or self.is_checkpoint(step)
            or self.length.is_over(step, self.now)
        ):
            return ""
        stop = self.read(progress, until=step) or stop
        reason, length = self.stepper.ranks.from_first(
            f"validation and saving after update {step:,}",
            lambda: self.validate_and_save(progress, stop=stop),
        )
        self.length = from_json(length)
        self.last_read = time.perf_counter()
        return str(reason)

    @property
    def lag(self) -> int:
        """The number of updates whose results are not read yet when the next one starts. Except on a CPU, it
        is 1, so that the device does not wait for the host."""
        return 0 if self.stepper.device.type == "cpu" else 1

    def read(self, progress: TrainingState, until: int) -> bool:
        """Read the results of updates up to that one. Return whether a rank was asked to stop."""
        stop = False
        while self.unread and self.unread[0].step <= until:
            update = self.unread.popleft()
            result = update.pending.get()
            now = time.perf_counter()
            self.now = result.clock
            self.note(update, result, now - self.last_read)  # the time includes waiting for data
            self.last_read = now
            self.guard(update.step, result, progress)
            stop = stop or result.stop
        return stop

    def note(self, update: UnreadUpdate, updated: UpdateResult, seconds: float) -> None:
        batch, step, lr, _ = update
        event: StepEvent = {
            "event": "step",
            "step": step,
            "epoch": round(batch.epoch, 4),
            "loss": updated.loss,
            "nll": updated.nll,
            "norm": updated.norm,
            "lr": lr,
            "tokens": updated.tokens,
            "src_tokens": updated.src_tokens,
            "seconds": round(seconds, 4),
            "applied": updated.applied,
        }
        if not updated.applied:
            event["examples"] = self.loader.examples(batch.number)
        self.events.emit(event)
        if slow := self.pace(seconds):
            self.events.emit({"event": "slow", "step": step, **slow})

    def guard(self, step: int, updated: UpdateResult, progress: TrainingState) -> None:
        """Raise TrainingError if too many updates in a row were skipped for a non-finite gradient."""
        progress.skipped = 0 if updated.applied else progress.skipped + 1
        if progress.skipped >= MAX_SKIPPED:
            raise TrainingError(
                f"The loss was not a finite number for {MAX_SKIPPED} updates in a row.",
                where=f"update {step}; events.jsonl lists the examples of each",
                expected="a learning rate at which the model learns",
                hint=f"Set training.lr={self.config.lr / 4:g} and run the same command with --force.",
            )
