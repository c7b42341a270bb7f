"""The learning curves of a run as line charts, without further dependencies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dragoman.inspection.data import LearningCurves
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import LIGHT, Theme

NARROW = 520  # pixels, where there are charts side by side
FALL = 30.0  # from the highest to the lowest loss, beyond which only a logarithmic axis shows both ends


def learning_curve(found: LearningCurves, title: str) -> str:
    return draw(title, panels(found))


def learning_curve_panels(found: LearningCurves, theme: Theme = LIGHT) -> list[str]:
    """Return a chart for each panel, for pages that place them side by side or one below the other."""
    return [draw("", [panel], theme, NARROW) for panel in panels(found)]


def panels(found: LearningCurves) -> list[Panel]:
    losses, metrics = (
        [Line(curve.name, points) for curve in curves if (points := finite(curve.points))]
        for curves in (found.losses, found.metrics)
    )
    last = max((x for line in (*losses, *metrics) for x, _ in line.points), default=1.0)
    across, drawn = Axis("updates", 0.0, max(last, 1.0)), []
    if losses:
        drawn.append(Panel("Loss per token", across, upwards("loss", losses), losses))
    if metrics:
        drawn.append(Panel("Validation, decoded", across, Axis("score", 0.0, 100.0), metrics))
    return drawn


def finite(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points without those of a loss that was lost, which have no place on an axis."""
    return [(x, y) for x, y in points if math.isfinite(y)]


def upwards(label: str, lines: Sequence[Line]) -> Axis:
    """Return an axis with every loss on it."""
    values = [y for line in lines for _, y in line.points]
    low, high = min(values), max(values)
    if low > 0 and high > FALL * low:
        ends = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        return Axis(f"{label}, logarithmic", *ends, log=True)
    return Axis(label, min(low, 0.0), max(high, 1e-3))
