"""Two pictures as one, with a title above and a sentence below: ready for a slide."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.inspection.pictures.labels import label, width
from dragoman.inspection.pictures.svg import TITLE, document, element, number
from dragoman.inspection.pictures.theme import HEADING, SIZE, Theme

SIZES = re.compile(r'<svg[^>]*? width="([0-9.]+)"[^>]*? height="([0-9.]+)"')
WIDEST = 1150.0  # of pictures side by side
BESIDE, BELOW, LINE = 40.0, 12.0, 1.5 * SIZE
LETTERS = 1.25 * HEADING  # of the title


def together(pictures: Sequence[str], title: str, sentences: Sequence[str], theme: Theme) -> str:
    """Return one document, with the pictures side by side if they are not too wide for that."""
    sizes = [size_of(picture) for picture in pictures]
    is_row = sum(w for w, _ in sizes) + BESIDE * (len(sizes) - 1) <= WIDEST
    x, y, right, bottom, parts = 0.0, TITLE + BELOW, 0.0, 0.0, []
    for picture, (w, h) in zip(pictures, sizes, strict=True):
        # A document inside another is placed by x and y.
        parts.append(picture.replace("<svg", f'<svg x="{number(x)}" y="{number(y)}"', 1))
        right, bottom = max(right, x + w), max(bottom, y + h)
        x, y = (x + w + BESIDE, y) if is_row else (x, y + h + BELOW)
    lines = [
        element("text", sentence, x=0, y=bottom + BELOW + LINE * place, fill=theme.soft)
        for place, sentence in enumerate(sentences, start=1)
    ]
    right = max([right, *(0.9 * SIZE * width(sentence) for sentence in sentences)])
    shown = label(title, int(right / (0.62 * LETTERS)))
    height = bottom + BELOW + LINE * (len(lines) + 0.5)
    return document(theme, shown, right, height, [*parts, *lines], LETTERS)


def size_of(picture: str) -> tuple[float, float]:
    found = SIZES.match(picture)
    assert found is not None, "an SVG document has a width and a height"
    return float(found[1]), float(found[2])
