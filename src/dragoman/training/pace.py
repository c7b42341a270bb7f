"""The clock of a run, and whether its updates take as long as was planned."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dragoman.cores import cores

WINDOW = 10  # updates that are looked at together
SLOW_FACTOR = 2.5  # times as long as planned is told
MIN_PROCESSOR_SHARE = 0.75  # of the processor time it could have: with less, others have the rest


class Clock:
    """Seconds of a run over all its sittings, preparation included. One that is suspended does not age."""

    def __init__(self, started: float | None = None) -> None:
        """By `time.perf_counter`; now, where it is not given."""
        self._zero = time.perf_counter() if started is None else started

    def __call__(self) -> float:
        return time.perf_counter() - self._zero

    def add(self, seconds: float) -> None:
        """Of earlier sittings."""
        self._zero -= seconds

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While a person is asked something."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._zero += time.perf_counter() - start


class PaceWatch:
    """Told how long each update took; says once when they take several times what was planned, and why."""

    def __init__(self, planned: float | None, threads: int) -> None:
        self._planned, self._threads = planned, threads
        self._told = False
        self._begin()
        self.seconds = planned or 0.0  # of an update, lately

    def _begin(self) -> None:
        self._updates, self._spent = 0, 0.0
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def __call__(self, seconds: float) -> dict[str, Any] | None:
        self._updates += 1
        self._spent += seconds
        if self._updates < WINDOW:
            return None
        self.seconds = self._spent / self._updates
        passed = max(time.perf_counter() - self._clock, 1e-9)
        had = (time.process_time() - self._processor) / (passed * self._threads)
        self._begin()
        if self._told or not self._planned or self.seconds < SLOW_FACTOR * self._planned:
            return None
        self._told = True
        facts = {"planned": self._planned, "seconds": self.seconds, "threads": self._threads}
        return {
            **facts,
            "had": round(had, 2),
            "others": had < MIN_PROCESSOR_SHARE,
            "load": load(),
            "cores": cores(),
        }


def load() -> float | None:
    """Processes that run or want to, over the last minute; the system may not say."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
