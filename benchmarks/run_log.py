"""What the events.jsonl of a finished run says: minutes, tokens per second, parameters."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunLog:
    folder: Path

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text(encoding="utf-8").split("\n")
        return [found for found in map(json.loads, filter(None, lines)) if found["event"] in kinds]

    @property
    def minutes(self) -> float:
        return float(self.events("finished")[-1]["seconds"]) / 60

    @property
    def tokens(self) -> int:
        """Target tokens of all updates."""
        return sum(int(e["tokens"]) for e in self.events("step"))

    @property
    def tokens_per_second(self) -> float:
        """Target tokens by the clock of the updates, without validation and saving."""
        steps = self.events("step")
        return float(sum(e["tokens"] for e in steps) / sum(e["seconds"] for e in steps))

    @property
    def minutes_undisturbed(self) -> float:
        """Of all updates at their median time: what else the machine did for a while does not count."""
        seconds = [float(e["seconds"]) for e in self.events("step")]
        return statistics.median(seconds) * len(seconds) / 60

    @property
    def parameters(self) -> int:
        return int(self.events("start")[-1]["parameters"])
