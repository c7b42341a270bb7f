"""The Weights & Biases tracker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import wandb

from dragoman.config.root import Config
from dragoman.training.trackers.tracker import PROJECT, Say, Tracker, settings


class WeightsAndBiases(Tracker):
    """A tracker that logs to the project WANDB_PROJECT or "dragoman".

    With WANDB_MODE=offline, it logs only to the run's folder.
    """

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        super().__init__(out, config, say)
        self._run: Any = None

    def begin(self, step: int) -> None:
        number = self.known().get(type(self).__name__) if step else None
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=self.out.absolute().name,
            id=number,
            resume="allow" if number else None,
            dir=str(self.out),
            config=settings(self.config),
            settings=wandb.Settings(silent=True, console="off"),
        )
        self.remember(self._run.id)

    def write(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        if self._run:
            self._run.finish()
