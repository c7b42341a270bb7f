"""Several pictures as one: SVG documents one below the other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.inspection.pictures.svg import element, number
from dragoman.inspection.pictures.theme import Theme

SIZE = re.compile(r'<svg[^>]*? width="([0-9.]+)"[^>]*? height="([0-9.]+)"')
GAP = 12.0


def stacked(documents: Sequence[str], theme: Theme) -> str:
    """Return one document. A document inside another is placed by x and y."""
    if len(documents) == 1:
        return documents[0]
    sizes = [size_of(document) for document in documents]
    width, height, parts = max(w for w, _ in sizes), 0.0, []
    for document, (_, own) in zip(documents, sizes, strict=True):
        parts.append(document.replace("<svg", f'<svg y="{number(height)}"', 1))
        height += own + GAP
    return element(
        "svg",
        element("rect", width=width, height=height, fill=theme.page),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
    )


def size_of(document: str) -> tuple[float, float]:
    found = SIZE.match(document)
    assert found is not None, "an SVG document has a width and a height"
    return float(found[1]), float(found[2])
