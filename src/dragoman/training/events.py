"""The events of a run, one JSON object per line of events.jsonl; terminal, report and trackers are views."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Listener = Callable[[Event], None]


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

    def tell(self, event: str, **facts: Any) -> None:
        record = {"event": event, **facts}
        if self._path:
            self._waiting += line_of(record).encode()
            self._write(self._path)
        for listener in self._listeners:
            listener(record)

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


def unsaved(path: Path, error: OSError) -> Event:
    what = f"{path.name} could not be written: {error.strerror}."
    return {"event": "unsaved", "what": what, "where": str(path.absolute())}


def line_of(event: Event) -> str:
    """Return an event as a line of JSON. Infinity and NaN, which JSON does not have, become null."""
    facts = {
        name: None if isinstance(fact, float) and not math.isfinite(fact) else fact
        for name, fact in event.items()
    }
    return json.dumps(facts, ensure_ascii=False) + "\n"


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
