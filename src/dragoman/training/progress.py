"""The progress of a run, collected from its events; every view is drawn from it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dragoman.inspection.data import Curve, LearningCurves
from dragoman.metrics.names import ALL_TITLES
from dragoman.metrics.validation import METRICS, STRICT, Metric
from dragoman.training.events import Event, StartEvent, StepEvent, ValidEvent, read_events

VALIDATION = "validation"  # the name of its curve
POINTS = 128  # of a curve at most
MEMORY = 50  # updates, approximately, that a moving average covers
USUAL_SHARE = 1 / 9  # of update time, assumed for validating and saving until measured


class Validation(NamedTuple):
    seconds: float  # of training, over all sessions
    step: int
    loss: float | None  # mean training loss since the previous validation
    dev_loss: float
    metrics: Mapping[Metric, float]

    def metric(self, name: str) -> float | None:
        """Return a metric by the name of a setting or column, or None if it was not measured."""
        return next((value for metric, value in self.metrics.items() if metric == name), None)

    @property
    def is_informative(self) -> bool:
        """Whether a strict metric is above 0; chrF is above 0 for any letters."""
        strict = [round(self.metrics[m], 1) for m in STRICT if m in self.metrics]
        return not strict or any(strict)


class RunProgress:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = self._mark = now()
        self._before = 0.0  # seconds of earlier sessions
        self._recent: list[float] = []  # losses since the last validation
        self.step = self.updates = self.parameters = 0
        self.first = 0.0  # where the progress bar starts: an update, or a second if the run has a budget
        self.until: float | None = None  # seconds, if the run has a budget
        self.epoch = 0.0
        self.lr = self.norm = math.nan
        self.loss = MovingAverage()
        self.curve = DownsampledCurve()
        self.pace = EtaEstimator()
        self.validations: list[Validation] = []
        self.best_step = 0
        self.sample: dict[str, str] = {}
        self.skipped = 0  # updates whose gradient was not finite
        self.is_over = False

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume":
                self._begin(event)
            case "step":
                self.pace.update(self._lap(), event["tokens"])
                self._note_step(event)
            case "valid":
                self.pace.pause(self._lap())
                self._note_validation(event, self.elapsed)
            case "checkpoint":
                self.pace.pause(self._lap())
            case "finished" | "stopped":
                self.is_over = True

    @property
    def elapsed(self) -> float:
        return self._before + self._now() - self._began

    @property
    def left(self) -> float | None:
        if self.until is not None:
            return max(0.0, self.until - self.elapsed)
        return self.pace.left(self.updates - self.step)

    @property
    def share(self) -> float:
        """The completed share of the run, or of its extension."""
        done, end = (self.elapsed, self.until) if self.until else (self.step, self.updates)
        return (done - self.first) / max(end - self.first, 1)

    @property
    def place(self) -> str:
        about = "about " if self.until else ""
        return f"{self.step:,} of {about}{self.updates:,}"

    @property
    def starred(self) -> int | None:
        """The update with the best weights so far; None after a single validation, which has nothing to be
        compared with, or if the best one has no correct word."""
        best = next((v for v in self.validations if v.step == self.best_step), None)
        return best.step if best and len(self.validations) > 1 and best.is_informative else None

    @property
    def curves(self) -> LearningCurves:
        """The learning curves so far, as plain data."""
        points = self.curve.points
        trained = tuple((self.step * (n + 0.5) / len(points), loss) for n, loss in enumerate(points))
        held_out = tuple((float(v.step), v.dev_loss) for v in self.validations)
        metrics = [
            Curve(
                ALL_TITLES[name],
                tuple((float(v.step), v.metrics[name]) for v in self.validations if name in v.metrics),
            )
            for name in METRICS
        ]
        losses = (Curve("training", trained), Curve(VALIDATION, held_out))
        return LearningCurves(losses, tuple(curve for curve in metrics if curve.points))

    def _begin(self, event: StartEvent) -> None:
        self._began = self._mark = self._now()
        self._before = event["seconds"]
        self.updates, self.parameters = event["updates"], event["parameters"]
        self.first, self.until = event["first"], event["until"]
        if event["step"]:
            self._recall(Path(event["out"]) / "events.jsonl")
        self.step = event["step"]

    def _recall(self, file: Path) -> None:
        """Read the events of earlier sessions, so that tables and curves are complete."""
        seconds = 0.0
        for event in read_events(file):
            if event["event"] == "step":
                seconds += event["seconds"]
                self._note_step(event)
            elif event["event"] == "valid":
                seconds += event["seconds"]
                self._note_validation(event, seconds)

    def _lap(self) -> float:
        """Return the seconds since the last event, which includes waiting for data."""
        last, self._mark = self._mark, self._now()
        return self._mark - last

    def _note_step(self, event: StepEvent) -> None:
        self.step, self.epoch = event["step"], event["epoch"]
        if self.until:
            self.updates = max(self.updates, self.step + 1)  # a forecast
        self.lr, self.norm = event["lr"], event["norm"]
        if not event["applied"]:
            self.skipped += 1
        elif math.isfinite(event["loss"]):
            self.loss.add(event["loss"])
            self.curve.add(event["loss"])
            self._recent.append(event["loss"])

    def _note_validation(self, event: ValidEvent, seconds: float) -> None:
        loss = sum(self._recent) / len(self._recent) if self._recent else None
        self._recent.clear()
        self.updates = event.get("updates", self.updates)
        metrics = {name: event[name] for name in METRICS if name in event}
        self.validations.append(Validation(seconds, event["step"], loss, event["loss"], metrics))
        self.sample = event["sample"]
        if event["best"]:
            self.best_step = event["step"]


def recorded_progress(out: Path) -> RunProgress:
    """Return the progress of a run from the record in its folder; without updates if there is none."""
    progress = RunProgress()
    for event in read_events(out / "events.jsonl"):
        progress(event)
    return progress


class DownsampledCurve:
    """A curve whose points are means of equally many values; too many points are merged in pairs."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self._each = 1  # values per point
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        self._sum += value
        self._count += 1
        if self._count < self._each:
            return
        self.points.append(self._sum / self._count)
        self._sum, self._count = 0.0, 0
        if len(self.points) == POINTS:
            even, odd = self.points[::2], self.points[1::2]
            self.points = [(a + b) / 2 for a, b in zip(even, odd, strict=True)]
            self._each *= 2


class MovingAverage:
    """An exponential moving average with bias correction."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._weight = 0.0

    def add(self, value: float) -> None:
        decay = 1 - 1 / MEMORY
        self._sum = decay * self._sum + value
        self._weight = decay * self._weight + 1

    @property
    def value(self) -> float | None:
        return self._sum / self._weight if self._weight else None


class EtaEstimator:
    """An estimate of the time left, from a moving average of seconds per update.

    The time for validating and saving is averaged separately, so that neither its absence before the first
    validation nor its presence just after distorts the forecast.
    """

    def __init__(self) -> None:
        self._seconds = MovingAverage()
        self._tokens = MovingAverage()
        self._updates = 0  # seen
        self._pauses = 0.0  # seconds spent validating and saving
        self._paused_at = 0  # updates seen at the last pause

    def update(self, seconds: float, tokens: int) -> None:
        self._updates += 1
        if self._updates > 1:  # the first includes allocating memory and choosing kernels
            self._seconds.add(seconds)
            self._tokens.add(float(tokens))

    def pause(self, seconds: float) -> None:
        self._pauses += seconds
        self._paused_at = self._updates

    @property
    def tokens_per_second(self) -> float:
        return (self._tokens.value or 0.0) / (self._seconds.value or math.inf)

    def left(self, updates: int) -> float | None:
        """Return the seconds for this many updates, including pauses; None before the second update."""
        each = self._seconds.value
        if each is None:
            return None
        pauses = self._pauses / self._paused_at if self._paused_at else each * USUAL_SHARE
        return updates * (each + pauses)
