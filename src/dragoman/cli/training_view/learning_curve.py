"""The learning curve of a run, an SVG file in its folder: loss and metrics by update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.cli.chart import Axis, Line, Panel, draw
from dragoman.cli.format import HEADINGS
from dragoman.cli.model_text import in_short
from dragoman.cli.training_view.progress import RunProgress
from dragoman.config.root import Config
from dragoman.inspection.data import Curve, LearningCurves
from dragoman.metrics.validation import METRICS
from dragoman.training.events import Event

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
    picture = learning_curve(progress, f"{out.absolute().name}: {in_short(config.model)}")
    with suppress(OSError):  # the model is written already and matters more
        (out / NAME).write_text(picture, encoding="utf-8")


def learning_curve(progress: RunProgress, title: str) -> str:
    return draw(title, list(panels(progress)))


def curves_of(progress: RunProgress) -> LearningCurves:
    """Return the learning curves of a run as plain data."""
    points = progress.curve.points
    trained = tuple((progress.step * (n + 0.5) / len(points), loss) for n, loss in enumerate(points))
    held_out = tuple((float(v.step), v.dev_loss) for v in progress.validations)
    metrics = [
        Curve(
            HEADINGS[name],
            tuple((float(v.step), v.metrics[name]) for v in progress.validations if name in v.metrics),
        )
        for name in METRICS
    ]
    losses = (Curve("training", trained), Curve("validation", held_out))
    return LearningCurves(losses, tuple(curve for curve in metrics if curve.points))


def panels(progress: RunProgress) -> Iterator[Panel]:
    across, found = Axis("updates", 0.0, float(max(progress.step, 1))), curves_of(progress)
    losses = [Line(curve.name, curve.points) for curve in found.losses if curve.points]
    if losses:
        yield Panel("Loss per token", across, upwards("loss", losses), losses)
    metrics = [Line(curve.name, curve.points) for curve in found.metrics]
    if metrics:
        yield Panel("Validation, decoded", across, Axis("score", 0.0, 100.0), metrics)


def upwards(label: str, lines: Sequence[Line]) -> Axis:
    """Return an axis that cuts off the losses of the first updates, so that the rest can be seen."""
    values = sorted(y for line in lines for _, y in line.points)
    most = values[int(0.95 * (len(values) - 1))]
    return Axis(label, 0.0, max(most * 1.1, 1e-3))
