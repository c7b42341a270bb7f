"""The clock of a run, and a check whether its updates take as long as planned."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from dragoman.cores import cores

WINDOW = 10  # updates that are averaged
SLOW_FACTOR = 2.5  # updates that take this many times as long as planned are reported
MIN_PROCESSOR_SHARE = 0.75  # of the available processor time: with less, other processes use the rest


class Slowness(TypedDict):
    planned: float  # seconds per update
    seconds: float  # per update, recently
    threads: int
    had: float  # share of the processor time of these threads that the process got
    others: bool  # whether other processes used the rest
    load: float | None
    cores: int


class Clock:
    """Seconds of a run over all its sessions, including preparation, but not while it is suspended."""

    def __init__(self, started: float | None = None) -> None:
        """Start at `started`, a value of `time.perf_counter`; by default now."""
        self._zero = time.perf_counter() if started is None else started

    def __call__(self) -> float:
        return time.perf_counter() - self._zero

    def add(self, seconds: float) -> None:
        """Add the seconds of earlier sessions."""
        self._zero -= seconds

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock while waiting for an answer from the user."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._zero += time.perf_counter() - start


class PaceWatch:
    """A monitor that reports once, with the reason, if updates take several times as long as planned."""

    def __init__(self, planned: float | None, threads: int) -> None:
        self._planned, self._threads = planned, threads
        self._reported = False
        self._begin()
        self.seconds = planned or 0.0  # per update, recently

    def _begin(self) -> None:
        self._updates, self._spent = 0, 0.0
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def __call__(self, seconds: float) -> Slowness | None:
        self._updates += 1
        self._spent += seconds
        if self._updates < WINDOW:
            return None
        self.seconds = self._spent / self._updates
        passed = max(time.perf_counter() - self._clock, 1e-9)
        had = (time.process_time() - self._processor) / (passed * self._threads)
        self._begin()
        if self._reported or not self._planned or self.seconds < SLOW_FACTOR * self._planned:
            return None
        self._reported = True
        return {
            "planned": self._planned,
            "seconds": self.seconds,
            "threads": self._threads,
            "had": round(had, 2),
            "others": had < MIN_PROCESSOR_SHARE,
            "load": load(),
            "cores": cores(),
        }


def load() -> float | None:
    """Return the load average over the last minute, or None if the system does not provide it."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
