"""The learning curves of a run as line charts, without further dependencies."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import LearningCurves
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import LIGHT, Theme

NARROW = 520  # pixels, of a chart with one panel
MOST = 0.95  # of the losses lie below the end of the axis, which cuts off those of the first updates


def learning_curve(found: LearningCurves, title: str) -> str:
    return draw(title, panels(found))


def learning_curve_panels(found: LearningCurves, theme: Theme = LIGHT) -> list[str]:
    """Return a chart for each panel, for pages that place them side by side or one below the other."""
    return [draw("", [panel], theme, NARROW) for panel in panels(found)]


def panels(found: LearningCurves) -> list[Panel]:
    losses, metrics = (
        [Line(curve.name, curve.points) for curve in curves if curve.points]
        for curves in (found.losses, found.metrics)
    )
    last = max((x for line in (*losses, *metrics) for x, _ in line.points), default=1.0)
    across, drawn = Axis("updates", 0.0, max(last, 1.0)), []
    if losses:
        drawn.append(Panel("Loss per token", across, upwards("loss", losses), losses))
    if metrics:
        drawn.append(Panel("Validation, decoded", across, Axis("score", 0.0, 100.0), metrics))
    return drawn


def upwards(label: str, lines: Sequence[Line]) -> Axis:
    values = sorted(y for line in lines for _, y in line.points)
    return Axis(label, 0.0, max(values[int(MOST * (len(values) - 1))] * 1.1, 1e-3))
