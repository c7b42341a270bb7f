"""What a finished run told in its events.jsonl: minutes, tokens per second, parameters."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Told:
    folder: Path

    def happened(self, event: str) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text(encoding="utf-8").split("\n")
        return [told for told in map(json.loads, filter(None, lines)) if told["event"] == event]

    @property
    def minutes(self) -> float:
        return float(self.happened("finished")[-1]["seconds"]) / 60

    @property
    def tokens_per_second(self) -> float:
        """Target tokens by the clock of the updates, without validation and saving."""
        steps = self.happened("step")
        return float(sum(e["tokens"] for e in steps) / sum(e["seconds"] for e in steps))

    @property
    def minutes_undisturbed(self) -> float:
        """Of all updates at their median time: what else the machine did for a while does not count."""
        seconds = [float(e["seconds"]) for e in self.happened("step")]
        return statistics.median(seconds) * len(seconds) / 60

    @property
    def parameters(self) -> int:
        return int(self.happened("start")[-1]["parameters"])
