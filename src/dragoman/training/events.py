"""What happened, one JSON object a line in events.jsonl. Terminal, report and TensorBoard are views of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Listener = Callable[[Event], None]


class Events:
    """Appends to the file (rank 0 only, where a path is given) and tells every listener."""

    def __init__(self, file: Path | None, listeners: list[Listener]) -> None:
        self._file = file.open("a", encoding="utf-8") if file else None
        self._listeners = listeners

    def tell(self, event: str, **facts: Any) -> None:
        record = {"event": event, **facts}
        if self._file:
            self._file.write(line_of(record))
            self._file.flush()
        for listener in self._listeners:
            listener(record)

    def close(self) -> None:
        if self._file:
            self._file.close()


def line_of(event: Event) -> str:
    """JSON has no word for infinity or what is not a number: null."""
    facts = {
        name: None if isinstance(fact, float) and not math.isfinite(fact) else fact
        for name, fact in event.items()
    }
    return json.dumps(facts, ensure_ascii=False) + "\n"


def rewind(file: Path, step: int) -> None:
    """Forget what a killed run did after the checkpoint that it is resumed from."""
    if not file.exists():
        return
    kept = [line for line in file.read_text(encoding="utf-8").split("\n") if is_before(line, step)]
    new = file.with_suffix(".tmp")
    new.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    new.replace(file)


def is_before(line: str, step: int) -> bool:
    try:
        event = json.loads(line)
    except ValueError:  # the half line of a killed run
        return False
    return bool(event.get("step", 0) <= step)
