"""Alignment ribbons: source and output side by side, joined by bands as wide as their attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.inspection.data import AttentionLayer
from dragoman.inspection.pictures.attention import name_of
from dragoman.inspection.pictures.labels import labelled, width
from dragoman.inspection.pictures.picture import Drawing
from dragoman.inspection.pictures.svg import TITLE, curve, document, element, hint, text
from dragoman.inspection.pictures.theme import Theme

ROW, BETWEEN, MARGIN, LETTER = 22.0, 260.0, 8.0, 13.0
FAINTEST = 0.04  # a band of less weight is not drawn


def ribbons(layer: AttentionLayer) -> Drawing:
    def draw(theme: Theme, title: str) -> str:
        keys, queries = labelled(layer.keys), labelled(layer.queries)
        left = MARGIN + LETTER * max(map(width, keys))
        right = left + BETWEEN
        wide = right + MARGIN + LETTER * max(map(width, queries))
        rows = max(len(layer.keys), len(layer.queries))
        height = TITLE + ROW * rows + MARGIN
        parts = [*bands(layer, theme, left, right, rows), *words(keys, queries, left, right, rows)]
        return document(theme, title, wide, height, parts)

    return Drawing(
        "ribbons",
        f"Alignment by attention, {name_of(layer)}",
        "Left the source, right the output. A band is as strong as the attention of the output token to the "
        f"source token; bands below {FAINTEST:g} are left out.",
        draw,
    )


def height_of(place: int, count: int, rows: int) -> float:
    """Return the middle of a token; the shorter side is spread over the height of the longer."""
    return TITLE + ROW * rows * (place + 0.5) / count


def bands(layer: AttentionLayer, theme: Theme, left: float, right: float, rows: int) -> Iterator[str]:
    S, T = len(layer.keys), len(layer.queries)
    cells = [(weight, t, s) for t, row in enumerate(layer.mean) for s, weight in enumerate(row)]
    for weight, t, s in sorted(cells):  # the strongest on top
        if weight >= FAINTEST:
            path = curve(left + 6, height_of(s, S, rows), right - 6, height_of(t, T, rows))
            yield element(
                "path",
                hint(f"{layer.queries[t]} → {layer.keys[s]}  {weight:.2f}"),
                d=path,
                fill="none",
                stroke=theme.accent,
                stroke_opacity=0.15 + 0.7 * weight,
                stroke_width=0.5 + 13.0 * weight,
            )


def words(keys: Sequence[str], queries: Sequence[str], left: float, right: float, rows: int) -> Iterator[str]:
    for tokens, x, anchor in ((keys, left, "end"), (queries, right, "start")):
        for place, token in enumerate(tokens):
            y = height_of(place, len(tokens), rows) + 4
            yield text(token, x, y, text_anchor=anchor, font_size=LETTER)
