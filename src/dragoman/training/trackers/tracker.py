"""The base class of trackers, which log numbers of events and settings, but no text, and never end a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dragoman.config.dump import leaves
from dragoman.config.root import Config
from dragoman.metrics.validation import METRICS, Metric
from dragoman.training.events import Event

Say = Callable[[str], None]

STEP: tuple[Literal["loss", "nll", "lr", "norm"], ...] = ("loss", "nll", "lr", "norm")
VALID: tuple[Metric | Literal["loss"], ...] = ("loss", *METRICS)
PATHS = ("file", "init_from")  # settings that name files of the user


class Tracker:
    """A listener that logs events. If it fails, it is disabled with a message, and the run continues."""

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        self.out, self.config, self._say = out, config, say
        self._is_lost = False

    def __call__(self, event: Event) -> None:
        if self._is_lost:
            return
        try:
            self._note(event)
        except Exception as error:  # of the network, the disk or the tracker
            self._is_lost = True
            self._say(f"{type(self).__name__} is disabled for the rest of this run: {first_line(error)}")

    def _note(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume":
                self.begin(event["step"])
            case "step":
                speed = event["tokens"] / max(event["seconds"], 1e-9)
                numbers = {f"train/{name}": event[name] for name in STEP}
                self.write({**numbers, "train/tokens_per_second": speed}, event["step"])
            case "valid":
                scores = {f"valid/{name}": event[name] for name in VALID if name in event}
                self.write(scores, event["step"])

    def begin(self, step: int) -> None:
        """Start logging after update `step`; later values are from a run that was killed."""
        raise NotImplementedError

    def write(self, numbers: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0][:300]


def settings(config: Config) -> dict[str, Any]:
    """Return settings by their names on the command line, without those that name private files."""
    tables = config.model_dump(mode="json", include={"text", "model", "training", "search"})
    return {".".join(path): value for path, value in leaves(tables) if path[-1] not in PATHS}
