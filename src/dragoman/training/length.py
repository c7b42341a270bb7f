"""The length of a run: a number of updates, or a time budget. Schedules follow the share that is done.

Both classes answer the same questions, given an update and a time on the run's clock: the position between 0
and `updates`, which determines the learning rate; which update is expected to be the last; whether a regular
validation and checkpoint are due, if no interval in updates is set; whether the run is over; and how many
seconds are left.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

DEFAULT_VALIDATIONS = 20  # per run, if no interval is set
# The share of the time that validating and saving may take before they become less frequent.
MAX_VALIDATION_SHARE = 0.1
# The end of a run takes as long as this many validations, which decode greedily: the last one, one of the
# averaged weights, two for the beam on at least a hundred pairs, and three for calibration and report.
# In validations, because all of them are slow on a busy machine.
END_VALIDATIONS = 7.0
UNMEASURED_END_SHARE = 0.1  # of a budget, reserved for the end until a validation has been timed
MIN_FIRST_VALIDATION = 10.0  # seconds until the first validation
MIN_UPDATE_SHARE = 0.1  # of the time, reserved for updates, however long preparation and validation take


@dataclass
class UpdateCount:
    """A length in updates. It does not depend on the clock, so that a run is reproducible bit for bit."""

    last: int
    first: int = 0
    more: str = ""  # by which a finished run was extended

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

    def after_last_validation(self, clock: float, cost: float) -> None:
        """Do nothing, as `after_milestone`: the time that validating and saving take does not matter."""

    def after_milestone(self, clock: float, cost: float | None) -> None:
        pass

    def seconds_left(self, clock: float) -> float:
        return math.inf

    def to_json(self) -> dict[str, Any]:
        return {"by": "updates", **asdict(self)}


@dataclass
class TimeBudget:
    """A length in seconds on the run's clock. It includes everything a run does: preparation before `start`,
    and the last validation, the selection of the weights and the report between `end` and `until`."""

    updates: int  # estimated before the first update; only a unit for schedules
    until: float
    start: float
    end: float  # of the updates
    next_milestone: float
    more: str = ""  # by which a finished run was extended

    @classmethod
    def plan(
        cls, clock: float, until: float, seconds_per_update: float, began: float = 0.0, more: str = ""
    ) -> TimeBudget:
        """Return a budget of which updates get their share of the time since `began`."""
        until = max(until, began + (clock - began) / (1 - MIN_UPDATE_SHARE))
        room = until - clock
        end = until - UNMEASURED_END_SHARE * room
        updates = max(1, round((end - clock) / seconds_per_update))
        # An untrained model writes up to the maximum length: a short run must not start by decoding that.
        first_validation = min(max(room / DEFAULT_VALIDATIONS, MIN_FIRST_VALIDATION), room / 4)
        return cls(updates, until, clock, end, clock + first_validation, more)

    def position(self, step: int, clock: float) -> float:
        return self.updates * min(1.0, max(0.0, (clock - self.start) / (self.end - self.start)))

    def forecast(self, step: int, clock: float, seconds_per_update: float) -> int:
        if not seconds_per_update:  # not known yet
            return max(step, self.updates)
        return step + round(max(0.0, self.end - clock) / seconds_per_update)

    def is_due(self, step: int, clock: float) -> bool:
        return clock >= self.next_milestone

    def is_over(self, step: int, clock: float) -> bool:
        return clock >= self.end

    def after_last_validation(self, clock: float, cost: float) -> None:
        """Postpone the end if there is time for more updates. Searching for the outputs of an untrained model
        may take several times as long as later ones, so a plan that is based on it ends too early."""
        end, room = self.until - END_VALIDATIONS * cost, self.until - self.start
        if end - clock > max(room / DEFAULT_VALIDATIONS, cost):
            self.end = end

    def after_milestone(self, clock: float, cost: float | None) -> None:
        """Set the next validation and the end. Validating and saving took `cost` seconds until `clock`; None
        if it was not done yet."""
        room = self.until - self.start
        if cost is not None:
            self.end = max(self.until - END_VALIDATIONS * cost, self.start + MIN_UPDATE_SHARE * room)
        interval = max(room / DEFAULT_VALIDATIONS, (cost or 0.0) / MAX_VALIDATION_SHARE)
        # The last validation is at the end: avoid one shortly before it.
        self.next_milestone = clock + interval if clock + 1.5 * interval < self.end else self.end

    def lengthen(self, seconds: float) -> None:
        """Extend the run by some seconds; a negative number shortens it."""
        self.until += seconds
        self.end = max(self.end + seconds, self.start + 1.0)

    def seconds_left(self, clock: float) -> float:
        return self.until - clock

    def to_json(self) -> dict[str, Any]:
        return {"by": "time", **asdict(self)}


Length = UpdateCount | TimeBudget


def from_json(facts: dict[str, Any]) -> Length:
    values = {name: value for name, value in facts.items() if name != "by"}
    return TimeBudget(**values) if facts["by"] == "time" else UpdateCount(**values)
