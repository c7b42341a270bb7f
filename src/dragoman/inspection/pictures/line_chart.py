"""Line charts as SVG, without further dependencies: every training draws its learning curve.

A chart has a title and panels, one below the other, so that it can be read on a telephone. The name of a line
stands at its end. A line has the same colour in every panel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape

from dragoman.inspection.pictures.labels import width as text_width
from dragoman.inspection.pictures.theme import FONT, HEADING, LIGHT, SIZE, Theme

WIDTH, HEIGHT, LOW = 640, 340, 270  # of a chart, of its only panel, and of each of several
LEFT, TOP, BOTTOM = 52, 34, 52  # of a panel, around its axes
TITLE, PANEL_TITLE = 30, 24  # heights
BESIDE, APART = 10, 17  # between a line and its name, and between two names
BOLD = 1.1  # how much wider bold letters are
NEAR = 30  # a longer line from the end of a line to its name is dotted
GRID = 0.3  # opacity
MARKED = 20  # lines with more points have no dots


@dataclass(frozen=True)
class Line:
    """Points from left to right; `band` has a low and a high value for each and is drawn under the line.

    The lines of a group have one colour, and its name stands above theirs.
    """

    label: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    dashed: bool = False
    group: str = ""


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


class Name(NamedTuple):
    """What is written at the right of a panel, near a height: the name of a line, or of a group."""

    text: str
    height: float
    colour: str
    line: Line | None = None


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
    lines = [line for panel in panels for line in panel.lines]
    names = [text_width(line.label) for line in lines] + [BOLD * text_width(line.group) for line in lines]
    right = width - BESIDE - SIZE * max(names, default=0.0)
    label = escape(title or "; ".join(panel.title for panel in panels), {'"': "&quot;"})
    parts, top = [], float(TITLE if title else 0)
    if title:
        parts.append(f'<text y="20" font-size="{HEADING}" font-weight="bold">{escape(title)}</text>')
    for panel in panels:
        high = (HEIGHT if len(panels) == 1 else LOW) + (PANEL_TITLE if panel.title else 0)
        above = TOP + (PANEL_TITLE if panel.title else 0)
        frame = PlotFrame(panel, LEFT, top + above, right, top + high - BOTTOM)
        parts += axes(frame, theme)
        for line in panel.lines:
            parts += drawn(frame, line, colours[line.label])
        parts += named(frame, colours)
        top += high
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top:.0f}" '
            f'viewBox="0 0 {width} {top:.0f}" role="img" aria-label="{label}" font-family="{FONT}" '
            f'font-size="{SIZE}" fill="{theme.ink}">',
            *parts,
            "</svg>\n",
        ]
    )


def colours_of(panels: Sequence[Panel], theme: Theme) -> dict[str, str]:
    """Return the colour of each line by its label."""
    lines, colours = [line for panel in panels for line in panel.lines], theme.categories
    places = {
        key: place for place, key in enumerate(dict.fromkeys(line.group or line.label for line in lines))
    }
    return {line.label: colours[places[line.group or line.label] % len(colours)] for line in lines}


def stroke(line: Line, colour: str) -> str:
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    return f'fill="none" stroke="{colour}" stroke-width="2"{dash}'


def axes(frame: PlotFrame, theme: Theme) -> Iterator[str]:
    x, y, left, right, bottom = frame.panel.x, frame.panel.y, frame.left, frame.right, frame.bottom
    line, soft = f'stroke="{theme.faint}"', f'fill="{theme.soft}"'
    if frame.panel.title:
        above = frame.top - PANEL_TITLE - 12
        yield f'<text y="{above:.0f}" font-weight="bold">{escape(frame.panel.title)}</text>'
    yield f'<text y="{frame.top - 12:.0f}" {soft}>{escape(y.label)}</text>'
    for tick in ticks(y):
        yield f'<path d="M{left:.0f} {frame.up(tick):.1f}H{right:.0f}" {line} opacity="{GRID}"/>'
        yield (
            f'<text x="{left - 8:.0f}" y="{frame.up(tick) + 4:.1f}" text-anchor="end" {soft}>'
            f"{number(tick)}</text>"
        )
    for tick in ticks(x):
        yield f'<path d="M{frame.across(tick):.1f} {bottom:.0f}v5" {line}/>'
        yield (
            f'<text x="{frame.across(tick):.1f}" y="{bottom + 19:.0f}" text-anchor="middle" {soft}>'
            f"{number(tick)}</text>"
        )
    yield f'<path d="M{left:.0f} {bottom:.0f}H{right:.0f}" {line}/>'
    middle = (left + right) / 2
    yield f'<text x="{middle:.0f}" y="{bottom + 40:.0f}" text-anchor="middle" {soft}>{escape(x.label)}</text>'


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


def named(frame: PlotFrame, colours: Mapping[str, str]) -> Iterator[str]:
    """Write the names of the lines, each joined to the end of its line."""
    names = sorted(names_of(frame, colours), key=lambda name: name.height)
    heights = spread([name.height for name in names], frame.top, frame.bottom)
    for name, y in zip(names, heights, strict=True):
        look = "" if name.line else f' font-weight="bold" fill="{name.colour}"'
        if name.line:
            a, b = name.line.points[-1]
            end = f"M{frame.across(a):.1f} {frame.up(b):.1f}L{frame.right + BESIDE - 3:.1f} {y:.1f}"
            dots = ' stroke-dasharray="1 4"' if frame.right - frame.across(a) > NEAR else ""
            yield f'<path d="{end}" fill="none" stroke="{name.colour}" opacity="0.6"{dots}/>'
        x = frame.right + BESIDE
        yield f'<text x="{x:.0f}" y="{y + 4:.1f}"{look}>{escape(name.text)}</text>'


def names_of(frame: PlotFrame, colours: Mapping[str, str]) -> Iterator[Name]:
    highest: dict[str, Name] = {}
    for line in frame.panel.lines:
        if line.points:
            colour, y = colours[line.label], frame.up(line.points[-1][1])
            yield Name(line.label, y, colour, line)
            if line.group and (line.group not in highest or y <= highest[line.group].height):
                highest[line.group] = Name(line.group, y - 1, colour)  # above the first of them
    yield from highest.values()


def spread(heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return sorted heights so far apart that names do not touch, between two limits if there is room."""
    found: list[float] = []
    for y in heights:
        found.append(max(y, low, found[-1] + APART if found else low))
    for place in reversed(range(len(found))):
        high = min(high, found[place])
        found[place] = high
        high -= APART
    return found
