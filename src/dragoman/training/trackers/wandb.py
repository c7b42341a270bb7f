"""The Weights & Biases tracker."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import wandb

from dragoman.config.root import Config
from dragoman.training.trackers.tracker import Say, Tracker, settings

# By default wandb also sends the commit and remote of a repository around, the command line, the name and the
# hardware of the machine, its load, and every installed package.
NOTHING_ELSE = {
    "disable_git": True,
    "save_code": False,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
    "host": "",
    "console": "off",
    "silent": True,
}


class WeightsAndBiases(Tracker):
    """A tracker that logs to the project WANDB_PROJECT or "dragoman".

    With WANDB_MODE=offline, it logs only to the run's folder.
    """

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        super().__init__(out, config, say)
        self._run: Any = None

    def begin(self, step: int) -> None:
        known = self.out / "wandb" / "id.txt"  # of the run that a resumed one continues
        id = None
        if step:
            with suppress(OSError):
                id = known.read_text(encoding="utf-8")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "dragoman",
            name=self.out.absolute().name,
            id=id,
            resume="allow" if id else None,
            dir=str(self.out),
            config=settings(self.config),
            settings=wandb.Settings(**NOTHING_ELSE),
        )
        known.parent.mkdir(exist_ok=True)
        known.write_text(self._run.id, encoding="utf-8")

    def write(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        if self._run:
            self._run.finish()
