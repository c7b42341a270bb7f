"""How fast a run goes now, and how long it will still take."""

from __future__ import annotations

import math

MEMORY = 50  # updates that a smoothed figure remembers, about
USUAL_SHARE = 1 / 9  # of update time that validating and saving cost, until they were seen


class Smooth:
    """An exponential mean that is right from the first value on."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._weight = 0.0

    def add(self, value: float) -> None:
        keep = 1 - 1 / MEMORY
        self._sum = keep * self._sum + value
        self._weight = keep * self._weight + 1

    @property
    def value(self) -> float | None:
        return self._sum / self._weight if self._weight else None


class Pace:
    """Seconds of an update, smoothed; what validating and saving add to each update is kept apart, so that
    neither their absence before the first time nor their presence just after it bends the forecast."""

    def __init__(self) -> None:
        self._seconds = Smooth()
        self._tokens = Smooth()
        self._updates = 0  # seen
        self._pauses = 0.0  # seconds spent validating and saving
        self._paused_at = 0  # updates seen at the last pause

    def update(self, seconds: float, tokens: int) -> None:
        self._updates += 1
        if self._updates > 1:  # the first also pays for memory and kernels
            self._seconds.add(seconds)
            self._tokens.add(float(tokens))

    def pause(self, seconds: float) -> None:
        self._pauses += seconds
        self._paused_at = self._updates

    @property
    def tokens_per_second(self) -> float:
        return (self._tokens.value or 0.0) / (self._seconds.value or math.inf)

    def left(self, updates: int) -> float | None:
        """Seconds for so many more updates, pauses included; unknown before the second update."""
        each = self._seconds.value
        if each is None:
            return None
        pauses = self._pauses / self._paused_at if self._paused_at else each * USUAL_SHARE
        return updates * (each + pauses)
