"""The TensorBoard tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from dragoman.config.root import Config
from dragoman.training.trackers.tracker import Say, Tracker


class TensorBoard(Tracker):
    """A tracker that logs to the folder `tensorboard` of the run."""

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        super().__init__(out, config, say)
        self._writer: Any = None

    def begin(self, step: int) -> None:
        self._writer = SummaryWriter(str(self.out / "tensorboard"), purge_step=step + 1)

    def write(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer:
            self._writer.close()
