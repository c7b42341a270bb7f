"""Small plots in the rows of a table: a value with its interval beside marks, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.inspection.pictures.svg import element

WIDE, HIGH = 180.0, 16.0
EDGE = 4.0  # so that a dot at the end of the scale is whole
SCALE = 100.0


def interval_plot(value: float, interval: tuple[float, float], marks: Iterable[float] = ()) -> str:
    """Return a scale from 0 to 100 with a dot, its interval, and a tick for each mark."""
    middle = HIGH / 2
    low, high = map(place, interval)
    ticks = [
        element(
            "line", x1=place(mark), x2=place(mark), y1=2, y2=HIGH - 2, stroke="var(--ink)", stroke_width=1.5
        )
        for mark in marks
    ]
    return plot(
        element("line", x1=EDGE, x2=WIDE - EDGE, y1=middle, y2=middle, stroke="var(--line)", stroke_width=2),
        element(
            "rect",
            x=low,
            width=max(high - low, 1.0),
            y=middle - 3,
            height=6,
            rx=3,
            fill="var(--accent)",
            opacity=0.35,
        ),
        *ticks,
        element("circle", cx=place(value), cy=middle, r=4, fill="var(--accent)"),
    )


def bar(value: float, of: float = SCALE, *, strong: bool = True, interval: Sequence[float] = ()) -> str:
    """Return a bar from 0 to `of`, with a whisker for an interval."""
    end, middle = place(value, of), HIGH / 2
    whisker = (
        [
            element(
                "line",
                x1=place(interval[0], of),
                x2=place(interval[1], of),
                y1=middle,
                y2=middle,
                stroke="var(--ink)",
                stroke_width=1.5,
            )
        ]
        if interval
        else []
    )
    colour = "var(--accent)" if strong else "var(--faint)"
    return plot(
        element(
            "rect",
            x=EDGE,
            width=max(end - EDGE, 1.0),
            y=3,
            height=HIGH - 6,
            rx=2,
            fill=colour,
            opacity=None if strong else 0.45,
        ),
        *whisker,
    )


def place(value: float, of: float = SCALE) -> float:
    return EDGE + (WIDE - 2 * EDGE) * min(max(value / (of or 1.0), 0.0), 1.0)


def plot(*parts: str, width: float = WIDE) -> str:
    """Return a drawing that says nothing the numbers beside it do not."""
    return element("svg", *parts, width=width, height=HIGH, aria_hidden="true")
