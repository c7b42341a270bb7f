"""The view of a run without a terminal: one line per minute on stderr, and one for each other event."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from dragoman.cli.format import HEADINGS, clock, duration, measured, number, perplexity
from dragoman.cli.terminal import talk
from dragoman.cli.training_view.preparation import (
    EVERY,
    PreparationView,
    not_iob2,
    out_of_memory,
    resumed,
    shared_store,
    slow,
    unlocked,
    unsaved,
)
from dragoman.training.events import Event, ValidEvent
from dragoman.training.progress import RunProgress


class PlainView:
    def __init__(self, progress: RunProgress, now: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._preparing = PreparationView(now)
        self._now = now
        self._last = now()  # time of the last periodic line

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        self._preparing(event)
        self._progress(event)
        match event["event"]:
            case "reading" | "timing":
                self._periodically(self._preparing.text, immediately=True)
            case "prepare":
                self._periodically(self._preparing.text)
            case "out_of_memory":
                self.say(out_of_memory(event))
            case "not_iob2":
                self.say(not_iob2())
            case "unlocked":
                self.say(unlocked(event))
            case "shared_store":
                self.say(shared_store())
            case "unsaved":
                self.say(unsaved(event))
            case "slow":
                self.say(slow(event))
            case "resume":
                self.say(resumed(event))
            case "step":
                self._periodically(self._step)
            case "valid":
                self.say([self._validation(event)])
            case "checkpoint":
                self.say([f"{self._time()}  saved   {event['step']:,}"])

    def say(self, lines: Iterable[str]) -> None:
        with contextlib.suppress(OSError):  # a closed terminal is no reason to stop training
            for line in lines:
                talk(line)
            sys.stderr.flush()

    def _periodically(self, line: str | Callable[[], str], *, immediately: bool = False) -> None:
        if immediately or self._now() - self._last >= EVERY:
            self._last = self._now()
            self.say([line if isinstance(line, str) else line()])

    def _time(self) -> str:
        return f"{clock(self._progress.elapsed):>8}"

    def _step(self) -> str:
        p = self._progress
        left = f"  {duration(p.left)} left" if p.left is not None else ""
        share = f"{p.place}  epoch {p.epoch:.1f}"
        rate = f"{p.pace.tokens_per_second:,.0f} tok/s"
        return f"{self._time()}  update  {share}  loss {number(p.loss.value)}  lr {p.lr:.2e}  {rate}{left}"

    def _validation(self, event: ValidEvent) -> str:
        p = self._progress
        scores = "".join(f"  {HEADINGS[m]} {measured(m, v)}" for m, v in p.validations[-1].metrics.items())
        loss = f"loss {number(p.validations[-1].loss)}  dev ppl {perplexity(event['loss'])}"
        best = "  best so far" if p.starred == event["step"] else ""
        left = f"  {duration(p.left)} left" if p.left and p.step < p.updates else ""
        return f"{self._time()}  valid   {p.place}  {loss}{scores}{best}{left}"
