"""The few elements of SVG that our own drawings need. All text and attributes are escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from dragoman.inspection.pictures.labels import label, safe
from dragoman.inspection.pictures.labels import width as text_width
from dragoman.inspection.pictures.theme import FONT, HEADING, SIZE, Theme

TITLE = 34.0  # the height of the title


def element(name: str, *children: str, **attributes: str | float | None) -> str:
    """Return an element. Children are markup; `fill_opacity` is the attribute fill-opacity; None is none."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text(content: str, x: float, y: float, **attributes: str | float | None) -> str:
    return element("text", escape(label(content)), x=x, y=y, **attributes)


def hint(content: str) -> str:
    """Return what appears when the pointer rests on an element."""
    return element("title", escape(safe(content)))


def curve(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a path from left to right that leaves and arrives horizontally."""
    middle = (x1 + x2) / 2
    a, b, c, d, e = map(number, (x1, y1, middle, x2, y2))
    return f"M{a} {b}C{c} {b} {c} {e} {d} {e}"


def document(
    theme: Theme, title: str, width: float, height: float, parts: Iterable[str], letters: float = HEADING
) -> str:
    heading = element("text", escape(safe(title)), x=0, y=20, font_size=letters, font_weight="bold")
    width = max(width, letters * 1.1 * text_width(title))  # bold letters are wider
    return element(
        "svg",
        heading,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_label=safe(title),
        font_family=FONT,
        font_size=SIZE,
        fill=theme.ink,
    )
