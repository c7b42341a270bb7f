"""TensorBoard as a view of the events: scalars in a folder, cut off where a run is gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

Event = dict[str, Any]

STEP = ("loss", "nll", "lr", "norm")
VALID = ("loss", "chrf", "bleu", "exact_match")


class Board:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume":
                self._writer = SummaryWriter(str(self._folder), purge_step=event["step"] + 1)
            case "step":
                self._write("train", {name: event[name] for name in STEP}, event["step"])
                speed = event["tokens"] / max(event["seconds"], 1e-9)
                self._write("train", {"tokens_per_second": speed}, event["step"])
            case "valid":
                self._write("valid", {name: event[name] for name in VALID if name in event}, event["step"])

    def close(self) -> None:
        if self._writer:
            self._writer.close()

    def _write(self, group: str, scalars: dict[str, float], step: int) -> None:
        if self._writer:
            for name, value in scalars.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)
