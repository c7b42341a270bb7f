"""The events of a run, one JSON object per line of events.jsonl; terminal, report and trackers are views.

The field `event` names the kind of an event and so its type: `match event["event"]` narrows it.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, cast

from dragoman.data.build import DataFacts
from dragoman.data.prepare import Done
from dragoman.manifest import without_waiting
from dragoman.metrics.validation import Metrics
from dragoman.training.pace import Slowness

LONGEST_EVENT = 1 << 20  # characters


class LossAndMetrics(Metrics):
    loss: float


class UnlockedEvent(TypedDict):
    """The file system has no locks."""

    event: Literal["unlocked"]
    out: str


class SharedStoreEvent(TypedDict):
    """torchrun keeps one key-value store for all starts of the ranks."""

    event: Literal["shared_store"]


class PreparationEvent(TypedDict):
    """What is done before the first update: the data are read, or a few updates are timed."""

    event: Literal["reading", "timing"]


class OutOfMemoryEvent(TypedDict):
    """The first updates did not fit into the memory of the device; they are tried again in smaller parts."""

    event: Literal["out_of_memory"]
    micro_batches: int  # per update, from now on


class NotIOB2Event(TypedDict):
    """The tags of the training data are not those that a CRF is constrained to; its answers are free."""

    event: Literal["not_iob2"]


class PrepareEvent(TypedDict):
    """The progress of the token stores."""

    event: Literal["prepare"]
    corpus: str
    pairs: int
    bytes: int
    found: int  # of the pairs, those that an earlier preparation left
    total: int  # pairs, if no line is skipped


class PreparedEvent(DataFacts):
    event: Literal["prepared"]


class StartEvent(TypedDict):
    event: Literal["start", "resume"]
    step: int
    updates: int  # of the whole run; a forecast if it has a budget
    first: float  # where this session, or the extension of a finished run, starts: an update or a second
    until: float | None  # seconds, if the run has a budget
    parameters: int
    seconds: float  # of earlier sessions and the preparation
    run: dict[str, Any]  # what a resumed run must have in common with it
    notes: list[str]
    pairs: int
    out: str


class StepEvent(TypedDict):
    """One update."""

    event: Literal["step"]
    step: int
    epoch: float
    loss: float  # per target token, smoothed
    nll: float  # per target token
    norm: float  # of the gradient
    lr: float
    tokens: int
    src_tokens: int
    seconds: float
    applied: bool  # False if the gradient was not finite
    examples: NotRequired[dict[str, list[int]]]  # the rows of the batch by store, if it was not


class SlowEvent(Slowness):
    """Updates take several times as long as planned."""

    event: Literal["slow"]
    step: int


class ValidEvent(LossAndMetrics):
    """A validation."""

    event: Literal["valid"]
    step: int
    updates: int
    best: bool
    sample: dict[str, str]  # src, out and ref
    seconds: float


class CheckpointEvent(TypedDict):
    event: Literal["checkpoint"]
    step: int
    folder: str
    seconds: float


class UnsavedEvent(TypedDict):
    """A file could not be written; the run continues."""

    event: Literal["unsaved"]
    step: NotRequired[int]
    what: str
    where: str
    expected: NotRequired[str]
    again: NotRequired[int | None]  # the update of the next attempt; None if it is not known


class FinishedEvent(TypedDict):
    event: Literal["finished"]
    step: int
    reason: str  # "done", "early" or "finish"
    chosen: str  # "average", "best" or "last"
    averaged: int  # checkpoints
    ties: bool  # with the best validation
    valid: LossAndMetrics  # of the model as it will run
    decoded: int  # pairs
    search: dict[str, Any] | None  # the fields of SearchChoice, if searches were compared
    sample: dict[str, str]
    seconds: float
    folder: str


class StoppedEvent(TypedDict):
    event: Literal["stopped"]
    step: int
    reason: str


Event = (
    UnlockedEvent
    | SharedStoreEvent
    | PreparationEvent
    | OutOfMemoryEvent
    | PrepareEvent
    | PreparedEvent
    | NotIOB2Event
    | StartEvent
    | StepEvent
    | SlowEvent
    | ValidEvent
    | CheckpointEvent
    | UnsavedEvent
    | FinishedEvent
    | StoppedEvent
)
Listener = Callable[[Event], object]


class Events:
    """A log that appends to a file (on rank 0, if a path is given) and notifies every listener.

    If the disk is full, lines are kept in memory until there is space: a full disk does not stop training.
    """

    def __init__(self, file: Path | None, listeners: list[Listener]) -> None:
        self._path = file
        self._file: FileIO | None = None
        self._waiting = b""
        self._is_full = False
        self._listeners = listeners

    def emit(self, event: Event) -> None:
        if self._path:
            self._waiting += line_of(event).encode()
            self._write(self._path)
        for listener in self._listeners:
            listener(event)

    def close(self) -> None:
        if self._path and self._waiting:
            self._write(self._path)
        if self._file:
            self._file.close()

    def _write(self, path: Path) -> None:
        try:
            self._file = self._file or path.open("ab", buffering=0)
            while self._waiting:
                self._waiting = self._waiting[self._file.write(self._waiting) :]
            self._is_full = False
        except OSError as error:
            if not self._is_full:  # report it once
                self._is_full = True
                for listener in self._listeners:
                    listener(unsaved(path, error))


def prepare_event(corpus: str, done: Done, total: int) -> PrepareEvent:
    pairs, size, found = done
    return {
        "event": "prepare",
        "corpus": corpus,
        "pairs": pairs,
        "bytes": size,
        "found": found,
        "total": total,
    }


def unsaved(path: Path, error: OSError) -> UnsavedEvent:
    what = f"{path.name} could not be written: {error.strerror}."
    return {"event": "unsaved", "what": what, "where": str(path.absolute())}


def line_of(facts: Mapping[str, object]) -> str:
    """Return an event as a line of JSON. Infinity and NaN, which JSON does not have, become null."""
    finite = {
        name: None if isinstance(fact, float) and not math.isfinite(fact) else fact
        for name, fact in facts.items()
    }
    return json.dumps(finite, ensure_ascii=False) + "\n"


def read_events(file: Path) -> Iterator[Event]:
    """Yield the events of a file up to the first that cannot be read; views can do without the rest."""
    try:
        with open(file, encoding="utf-8", opener=without_waiting) as lines:
            if not stat.S_ISREG(os.fstat(lines.fileno()).st_mode):
                return
            for line in iter(partial(lines.readline, LONGEST_EVENT), ""):
                event = json.loads(line)
                if not isinstance(event, dict) or "event" not in event:
                    return
                yield cast(Event, event)
    except (OSError, ValueError):
        return


def rewind(file: Path, step: int) -> None:
    """Remove events after update `step`: a killed run wrote them after the checkpoint it is resumed from."""
    if not file.exists():
        return
    kept = 0
    with file.open("rb") as lines:
        for line in lines:
            if not is_before(line, step):
                break
            kept += len(line)
    os.truncate(file, kept)


def is_before(line: bytes, step: int) -> bool:
    try:
        return line.endswith(b"\n") and bool(json.loads(line).get("step", 0) <= step)
    except (ValueError, AttributeError, TypeError):  # a line that a crash cut off
        return False
