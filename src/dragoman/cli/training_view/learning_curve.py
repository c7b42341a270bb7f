"""The learning curve of a run, an SVG file in its folder: loss and metrics by update."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dragoman.cli.model_text import in_short
from dragoman.config.root import Config
from dragoman.inspection.pictures.learning_curve import learning_curve
from dragoman.training.events import Event
from dragoman.training.progress import RunProgress

NAME = "curve.svg"


class CurveWriter:
    """A listener that writes the learning curve of a run without a display."""

    def __init__(self, config: Config, out: Path) -> None:
        self.config, self.out, self.progress = config, out, RunProgress()

    def __call__(self, event: Event) -> None:
        self.progress(event)
        if event["event"] == "finished":
            write_curve(self.progress, self.config, self.out)


def write_curve(progress: RunProgress, config: Config, out: Path) -> None:
    picture = learning_curve(progress.curves, f"{out.absolute().name}: {in_short(config.model)}")
    with suppress(OSError):  # the model is written already and matters more
        (out / NAME).write_text(picture, encoding="utf-8")
