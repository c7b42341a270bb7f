"""Small plots in the rows of a table: a value with its interval beside marks, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.inspection.pictures.svg import element

WIDE, HIGH = 180.0, 16.0
MIDDLE = HIGH / 2
EDGE = 4.0  # so that a dot at the end of the scale is whole
SCALE = 100.0


def interval_plot(value: float, interval: tuple[float, float], marks: Iterable[float] = ()) -> str:
    """Return a scale from 0 to 100 with a dot, its interval, and a tick for each mark."""
    low, high = map(place, interval)
    width = max(high - low, 1.0)
    return plot(
        line(EDGE, WIDE - EDGE, "line"),
        element("rect", x=low, width=width, y=5, height=6, rx=3, fill="var(--accent)", opacity=0.35),
        *(tick(place(mark)) for mark in marks),
        dot(place(value)),
    )


def bar(value: float, of: float = SCALE, *, strong: bool = True, interval: Sequence[float] = ()) -> str:
    """Return a bar from 0 to `of`, with a whisker for an interval."""
    width = max(place(value, of) - EDGE, 1.0)
    colour = "var(--accent)" if strong else "var(--faint)"
    whisker = [line(place(interval[0], of), place(interval[1], of), "ink")] if interval else []
    return plot(
        line(EDGE, WIDE - EDGE, "line"),
        element("rect", x=EDGE, width=width, y=4, height=HIGH - 8, rx=2, fill=colour),
        *whisker,
    )


def key_of_dot() -> str:
    return plot(dot(EDGE), width=2 * EDGE)


def key_of_tick() -> str:
    return plot(tick(EDGE), width=2 * EDGE)


def dot(x: float) -> str:
    return element("circle", cx=x, cy=MIDDLE, r=4, fill="var(--accent)")


def tick(x: float) -> str:
    return element("line", x1=x, x2=x, y1=2, y2=HIGH - 2, stroke="var(--ink)", stroke_width=1.5)


def line(first: float, last: float, colour: str) -> str:
    return element("line", x1=first, x2=last, y1=MIDDLE, y2=MIDDLE, stroke=f"var(--{colour})", stroke_width=2)


def place(value: float, of: float = SCALE) -> float:
    return EDGE + (WIDE - 2 * EDGE) * min(max(value / (of or 1.0), 0.0), 1.0)


def plot(*parts: str, width: float = WIDE) -> str:
    """Return a drawing that says nothing the numbers beside it do not."""
    return element("svg", *parts, width=width, height=HIGH, aria_hidden="true")
