"""Lines over an axis as an SVG file: all the pictures of the benchmarks, with nothing to install."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#c8553d", "#4b8f3a", "#8a5aa5", "#b8860b", "#46494c", "#d1698c", "#2a9d8f")
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 190, 46, 56


@dataclass(frozen=True)
class Line:
    """Points from left to right; `band` is a low and a high for each, drawn behind the line."""

    label: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    dashed: bool = False
    colour: int | None = None  # a place among the colours; else the line's own place


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    log: bool = False
    ticks: Sequence[float] = field(default_factory=tuple)

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.log:
            value, low, high = (math.log(max(v, self.low)) for v in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))


def ticks(axis: Axis) -> list[float]:
    """About five round numbers, or the powers of ten of a logarithmic axis."""
    if axis.ticks:
        return list(axis.ticks)
    if axis.log:
        first, last = math.ceil(math.log10(axis.low) - 1e-9), math.floor(math.log10(axis.high) + 1e-9)
        step = max(1, (last - first) // 6)
        return [10.0**power for power in range(first, last + 1, step)]
    rough = (axis.high - axis.low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step_ = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    count = math.floor((axis.high - axis.low) / step_ + 1e-9)
    return [axis.low + step_ * i for i in range(count + 1)]


def number(value: float) -> str:
    if value and (abs(value) < 1e-3 or abs(value) >= 1e5):
        power = math.floor(math.log10(abs(value)) + 1e-9)
        digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{digits}" if math.isclose(value, 10.0**power) else f"{value:.0e}"
    return f"{value:,.6g}"


def draw(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> str:
    def across(value: float) -> float:
        return LEFT + x.place(value) * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#222"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="15" font-weight="bold">{escape(title)}</text>',
        *grid(x, y, across, up),
    ]
    for place, line in enumerate(lines):
        colour = place if line.colour is None else line.colour
        parts += drawn(line, COLOURS[colour % len(COLOURS)], place, across, up)
    return "\n".join([*parts, "</svg>\n"])


def grid(x: Axis, y: Axis, across: Callable[[float], float], up: Callable[[float], float]) -> list[str]:
    parts = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in ticks(y):
        parts.append(f'<path d="M{LEFT} {up(tick):.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in ticks(x):
        parts.append(f'<path d="M{across(tick):.1f} {bottom}v5" stroke="#888"/>')
        parts.append(
            f'<text x="{across(tick):.1f}" y="{bottom + 19}" text-anchor="middle">{number(tick)}</text>'
        )
    middle = (LEFT + right) / 2
    parts.append(f'<path d="M{LEFT} {bottom}H{right}" stroke="#888"/>')
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x.label)}</text>')
    place = (TOP + bottom) / 2
    parts.append(
        f'<text transform="translate(18 {place}) rotate(-90)" text-anchor="middle">{escape(y.label)}</text>'
    )
    return parts


def drawn(
    line: Line, colour: str, place: int, across: Callable[[float], float], up: Callable[[float], float]
) -> list[str]:
    parts = []
    if line.band:
        there = [
            f"{across(p[0]):.1f},{up(high):.1f}" for p, (_, high) in zip(line.points, line.band, strict=True)
        ]
        back = [
            f"{across(p[0]):.1f},{up(low):.1f}" for p, (low, _) in zip(line.points, line.band, strict=True)
        ]
        parts.append(f'<polygon points="{" ".join(there + back[::-1])}" fill="{colour}" opacity="0.15"/>')
    points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in line.points)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    parts += [
        f'<circle cx="{across(a):.1f}" cy="{up(b):.1f}" r="2.5" fill="{colour}"/>' for a, b in line.points
    ]
    y, x = TOP + 8 + 20 * place, WIDTH - RIGHT + 14
    parts.append(f'<path d="M{x} {y}h20" stroke="{colour}" stroke-width="2"{dash}/>')
    parts.append(f'<text x="{x + 26}" y="{y + 4}">{escape(line.label)}</text>')
    return parts


def write(file: Path, title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(draw(title, x, y, lines), encoding="utf-8")
