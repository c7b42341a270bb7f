"""What all trackers share: the numbers of the events, the settings, no text, and that none ends a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.config.root import Config
from dragoman.training.state.resume import leaves

Event = dict[str, Any]
Say = Callable[[str], None]

STEP = ("loss", "nll", "lr", "norm")
VALID = ("loss", "chrf", "bleu", "exact_match")
KNOWN = "trackers.json"  # in the run's folder: the number that each tracker has given the run
PROJECT = "dragoman"


class Tracker:
    """A run is worth more than its record: a tracker that fails is left alone from then on, with a word."""

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        self.out, self.config, self._say = out, config, say
        self._is_lost = False

    def __call__(self, event: Event) -> None:
        if self._is_lost:
            return
        try:
            self._note(event)
        except Exception as error:  # of any network, disk or version
            self._is_lost = True
            self._say(f"{type(self).__name__} gets no more of this run: {first_line(error)}")

    def _note(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume":
                self.begin(event["step"])
            case "step":
                speed = event["tokens"] / max(event["seconds"], 1e-9)
                numbers = {**{name: event[name] for name in STEP}, "tokens_per_second": speed}
                self.write({f"train/{name}": value for name, value in numbers.items()}, event["step"])
            case "valid":
                found = {f"valid/{name}": event[name] for name in VALID if name in event}
                self.write(found, event["step"])

    def begin(self, step: int) -> None:
        """From this update on; what was written behind it is of a run that was killed."""
        raise NotImplementedError

    def write(self, numbers: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def known(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            return dict(json.loads((self.out / KNOWN).read_text(encoding="utf-8")))
        return {}

    def remember(self, number: str) -> None:
        names = {**self.known(), type(self).__name__: number}
        (self.out / KNOWN).write_text(json.dumps(names), encoding="utf-8")


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0][:300]


def settings(config: Config) -> dict[str, Any]:
    """By their names on the command line; not those of the data, which may tell whose they are."""
    tables = config.model_dump(mode="json", include={"text", "model", "training", "search"})
    return {".".join(path): value for path, value in leaves(tables)}
