"""How long a run is: a number of updates, or a time. What has a schedule follows from what is done of it.

Both answer the same questions, at an update and a moment of the run's clock: where on the way from 0 to
`updates` it is, which the learning rate follows; which update will be the last; whether a regular validation
and checkpoint are due, where their distance is not set in updates; and whether it is over.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

DEFAULT_VALIDATIONS = 20  # of a run, where their distance is not set
MAX_VALIDATION_SHARE = (
    0.1  # of the time, at most, that validating and saving may take before they become rarer
)
END_VALIDATIONS = (
    4.0  # the end of a run takes as long as so many validations: one more, two comparisons, calibration
)
UNMEASURED_END_SHARE = 0.05  # of a budget, kept for the end until a validation was timed
MIN_FIRST_VALIDATION = 10.0  # seconds to the first validation
MIN_UPDATE_SHARE = 0.1  # of the time, at least, is for updates, however long preparation and validation take


@dataclass
class UpdateCount:
    """From one update to another. The clock has no say, so that a run can be repeated to the bit."""

    last: int
    first: int = 0

    @property
    def updates(self) -> int:
        return self.last - self.first

    def position(self, step: int, clock: float) -> float:
        return float(step - self.first)

    def forecast(self, step: int, clock: float, seconds_per_update: float) -> int:
        return self.last

    def is_due(self, step: int, clock: float) -> bool:
        return (step - self.first) % max(1, self.updates // DEFAULT_VALIDATIONS) == 0

    def is_over(self, step: int, clock: float) -> bool:
        return step >= self.last

    def looked(self, clock: float, cost: float) -> None:
        """What validating and saving cost changes nothing."""

    def to_json(self) -> dict[str, Any]:
        return {"by": "updates", **asdict(self)}


@dataclass
class TimeBudget:
    """From one moment to another, in seconds of the run. All that a run does is inside: preparation before
    `start`, and between `end` and `until` the last validation and the choice of the weights."""

    updates: int  # as timed before the first of them; only a unit for schedules
    until: float
    start: float
    end: float  # of updates
    next_look: float

    @classmethod
    def plan(cls, clock: float, until: float, seconds_per_update: float) -> TimeBudget:
        until = max(until, clock / (1 - MIN_UPDATE_SHARE))
        room = until - clock
        end = until - UNMEASURED_END_SHARE * room
        updates = max(1, round((end - clock) / seconds_per_update))
        # An untrained model writes nonsense to the longest length: a short run must not begin with that.
        first_look = min(max(room / DEFAULT_VALIDATIONS, MIN_FIRST_VALIDATION), room / 4)
        return cls(updates, until, clock, end, clock + first_look)

    def position(self, step: int, clock: float) -> float:
        return self.updates * min(1.0, max(0.0, (clock - self.start) / (self.end - self.start)))

    def forecast(self, step: int, clock: float, seconds_per_update: float) -> int:
        if not seconds_per_update:  # not known yet
            return max(step, self.updates)
        return step + round(max(0.0, self.end - clock) / seconds_per_update)

    def is_due(self, step: int, clock: float) -> bool:
        return clock >= self.next_look

    def is_over(self, step: int, clock: float) -> bool:
        return clock >= self.end

    def looked(self, clock: float, cost: float) -> None:
        """Validating and saving took `cost` seconds until `clock`. When are they next, when is the end?"""
        room = self.until - self.start
        self.end = max(self.until - END_VALIDATIONS * cost, self.start + MIN_UPDATE_SHARE * room)
        interval = max(room / DEFAULT_VALIDATIONS, cost / MAX_VALIDATION_SHARE)
        # The last validation comes with the end: none shortly before it.
        self.next_look = clock + interval if clock + 1.5 * interval < self.end else self.end

    def lengthen(self, seconds: float) -> None:
        """By some time, or shorten it."""
        self.until += seconds
        self.end = max(self.end + seconds, self.start + 1.0)

    def to_json(self) -> dict[str, Any]:
        return {"by": "time", **asdict(self)}


Length = UpdateCount | TimeBudget


def from_json(facts: dict[str, Any]) -> Length:
    values = {name: value for name, value in facts.items() if name != "by"}
    return TimeBudget(**values) if facts["by"] == "time" else UpdateCount(**values)
