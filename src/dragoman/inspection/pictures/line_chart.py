"""Line charts as SVG, without further dependencies: every training draws its learning curve.

A chart has a title, a legend, and panels in rows of two. A line has the same colour in every panel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from dragoman.inspection.pictures.theme import FONT, LIGHT, Theme

WIDTH, HEIGHT = 800, 340  # of the chart, and of a row of panels
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 40, 52  # of a panel, around its axes
TITLE, LEGEND = 28, 22  # heights of the title and of a row of the legend
KEY, LETTER = 50, 6.6  # widths of a key with its gaps, and of a letter
GRID = 0.3  # opacity
MARKED = 20  # lines with more points have no dots


@dataclass(frozen=True)
class Line:
    """Points from left to right; `band` has a low and a high value for each and is drawn under the line."""

    label: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    log: bool = False
    ticks: Sequence[float] = field(default_factory=tuple)

    def place(self, value: float) -> float:
        """Return the position on the axis: 0 at the low end, 1 at the high end."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log(max(v, self.low)) for v in (value, low, high))
        return min(1.0, max(0.0, (value - low) / (high - low)))


@dataclass(frozen=True)
class Panel:
    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]


@dataclass(frozen=True)
class PlotFrame:
    """The position of a panel's axes on the page."""

    panel: Panel
    left: float
    top: float
    right: float
    bottom: float

    def across(self, value: float) -> float:
        return self.left + self.panel.x.place(value) * (self.right - self.left)

    def up(self, value: float) -> float:
        return self.bottom - self.panel.y.place(value) * (self.bottom - self.top)

    def at(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{self.across(a):.1f},{self.up(b):.1f}" for a, b in points)


def ticks(axis: Axis) -> list[float]:
    """Return the given ticks that are on the axis; otherwise about five round numbers, or powers of ten."""
    if axis.ticks:
        return [tick for tick in axis.ticks if axis.low <= tick <= axis.high]
    if axis.log:
        first, last = math.ceil(math.log10(axis.low) - 1e-9), math.floor(math.log10(axis.high) + 1e-9)
        step = max(1, (last - first) // 6)
        return [10.0**power for power in range(first, last + 1, step)]
    rough = (axis.high - axis.low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    apart = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    count = math.floor((axis.high - axis.low) / apart + 1e-9)
    return [axis.low + apart * i for i in range(count + 1)]


def number(value: float) -> str:
    if value and (abs(value) < 1e-3 or abs(value) >= 1e5):
        power = math.floor(math.log10(abs(value)) + 1e-9)
        digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{digits}" if math.isclose(value, 10.0**power) else f"{value:.0e}"
    return f"{value:,.6g}"


def draw(title: str, panels: Sequence[Panel], theme: Theme = LIGHT, width: int = WIDTH) -> str:
    colours = colours_of(panels, theme)
    legend, top = legend_of(panels, colours, TITLE if title else 0, width)
    columns = min(2, len(panels))
    height = top + HEIGHT * math.ceil(len(panels) / columns)
    heading = f'<text x="16" y="{TITLE}" font-size="16" font-weight="bold">{escape(title)}</text>'
    label = escape(title or "; ".join(panel.title for panel in panels), {'"': "&quot;"})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
        f'role="img" aria-label="{label}" font-family="{FONT}" font-size="12" fill="{theme.ink}">',
        f'<rect width="{width}" height="{height:.0f}" fill="{theme.page}"/>',
        *([heading] if title else []),
        *legend,
    ]
    for place, panel in enumerate(panels):
        x, y = place % columns * width / columns, top + place // columns * HEIGHT
        frame = PlotFrame(panel, x + LEFT, y + TOP, x + width / columns - RIGHT, y + HEIGHT - BOTTOM)
        parts += axes(frame, theme)
        for line in panel.lines:
            parts += drawn(frame, line, colours[line.label])
    return "\n".join([*parts, "</svg>\n"])


def colours_of(panels: Sequence[Panel], theme: Theme) -> dict[str, str]:
    labels, colours = dict.fromkeys(line.label for panel in panels for line in panel.lines), theme.categories
    return {label: colours[place % len(colours)] for place, label in enumerate(labels)}


def legend_of(
    panels: Sequence[Panel], colours: Mapping[str, str], above: float, width: int
) -> tuple[list[str], float]:
    """Return the legend, in rows with each label once, and the height at which the panels begin."""
    lines = {line.label: line for panel in panels for line in panel.lines}
    parts, x, y = [], 16.0, above + LEGEND
    for label, colour in colours.items():
        wide = KEY + LETTER * len(label)
        if x + wide > width and x > 16:
            x, y = 16.0, y + LEGEND
        parts.append(f'<path d="M{x:.0f} {y:.0f}h24" {stroke(lines[label], colour)}/>')
        parts.append(f'<text x="{x + 30:.0f}" y="{y + 4:.0f}">{escape(label)}</text>')
        x += wide
    return parts, y + LEGEND / 2


def stroke(line: Line, colour: str) -> str:
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    return f'fill="none" stroke="{colour}" stroke-width="2"{dash}'


def axes(frame: PlotFrame, theme: Theme) -> Iterator[str]:
    x, y, left, right, bottom = frame.panel.x, frame.panel.y, frame.left, frame.right, frame.bottom
    title, line = escape(frame.panel.title), f'stroke="{theme.faint}"'
    yield f'<text x="{left:.0f}" y="{frame.top - 12:.0f}" font-weight="bold">{title}</text>'
    for tick in ticks(y):
        yield f'<path d="M{left:.0f} {frame.up(tick):.1f}H{right:.0f}" {line} opacity="{GRID}"/>'
        yield f'<text x="{left - 8:.0f}" y="{frame.up(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>'
    for tick in ticks(x):
        yield f'<path d="M{frame.across(tick):.1f} {bottom:.0f}v5" {line}/>'
        yield (
            f'<text x="{frame.across(tick):.1f}" y="{bottom + 19:.0f}" '
            f'text-anchor="middle">{number(tick)}</text>'
        )
    yield f'<path d="M{left:.0f} {bottom:.0f}H{right:.0f}" {line}/>'
    middle = (left + right) / 2
    yield f'<text x="{middle:.0f}" y="{bottom + 40:.0f}" text-anchor="middle">{escape(x.label)}</text>'
    turned = f"translate({left - 54:.0f} {(frame.top + bottom) / 2:.0f}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">{escape(y.label)}</text>'


def drawn(frame: PlotFrame, line: Line, colour: str) -> Iterator[str]:
    if line.band:
        sides = list(zip(line.points, line.band, strict=True))
        upper = frame.at([(p[0], high) for p, (_, high) in sides])
        lower = frame.at([(p[0], low) for p, (low, _) in reversed(sides)])
        yield f'<polygon points="{upper} {lower}" fill="{colour}" opacity="0.15"/>'
    yield f'<polyline points="{frame.at(line.points)}" {stroke(line, colour)}/>'
    if len(line.points) <= MARKED:
        for a, b in line.points:
            yield f'<circle cx="{frame.across(a):.1f}" cy="{frame.up(b):.1f}" r="3" fill="{colour}"/>'
