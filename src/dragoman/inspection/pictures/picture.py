"""A picture: a chart that Vega-Lite draws, or a drawing of our own. Both become SVG, PNG, or part of a page.

The charts are Vega-Lite specifications, plain data that can be tested and that a page can show with a picker
and tooltips. vl-convert draws them without a browser and without a network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from dragoman.errors import needs_extra
from dragoman.inspection.pictures.labels import width
from dragoman.inspection.pictures.theme import LIGHT, Theme, vega_config
from dragoman.text.specials import SPECIALS

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; nothing is fetched
VERSION = "6.4"
SHORT = 1.3  # of the font size: the width of two letters
RGBA = re.compile(r'fill="rgba\((.*?), ([\d.]+)\)"')  # which not every program for slides knows
SCALE = 2.0  # pixels of a PNG for one of the SVG

Spec = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart by Vega-Lite. `spec` is what a file shows; `live` what a page shows, if it differs."""

    name: str
    title: str
    note: str
    spec: Spec
    live: Spec | None = None

    def svg(self, theme: Theme = LIGHT) -> str:
        spec = {"$schema": SCHEMA, "title": {"text": self.title}, **self.spec}
        found: str = vl_convert().vegalite_to_svg(spec, vl_version=VERSION, config=vega_config(theme))
        return RGBA.sub(r'fill="rgb(\1)" fill-opacity="\2"', found)


@dataclass(frozen=True)
class Drawing:
    """An SVG that `draw` makes in the colours of a theme."""

    name: str
    title: str
    note: str
    draw: Callable[[Theme, str], str]

    def svg(self, theme: Theme = LIGHT) -> str:
        return self.draw(theme, self.title)


Picture = Chart | Drawing


def token_axis(field: str, tokens: str, **axis: Any) -> Spec:
    """Return the channel of a field that counts tokens. `tokens` is an expression for the list of them: they
    are values of a parameter and never part of an expression."""
    look = {"title": None, "ticks": False, "domain": False, "labelOverlap": False}
    names = {"labelExpr": f"{tokens}[datum.value]", "labelLimit": 200}
    return {"field": field, "type": "ordinal", "axis": {**look, **names, **axis}}


def slant(tokens: Iterable[str], *, above: bool = False) -> Spec:
    """Return how the labels of a horizontal axis are turned: not at all if all tokens are short."""
    turned = any(width(token) > SHORT for token in tokens if token not in SPECIALS)
    if above:
        align = {"labelAlign": "left", "labelBaseline": "middle", "labelPadding": 8} if turned else {}
        return {"labelAngle": -45 if turned else 0, "orient": "top", **align}
    return {"labelAngle": -45 if turned else 0}


def strength(most: float, **scale: Any) -> Spec:
    """Return the scale of a quantity from nothing, through which the page is seen, to `most`."""
    return {"domain": [0, most], "interpolate": "rgb", **scale}


def signed(most: float) -> Spec:
    """Return the scale of a quantity that may be negative."""
    return {"domain": [-most, 0, most], "range": "diverging", "interpolate": "rgb"}


def cells_with_text(field: str, text: str, most: float) -> list[Spec]:
    """Return the layers of a heat map whose cells, from 0 to `most`, also show their numbers."""
    colour = {"field": field, "type": "quantitative", "scale": strength(most or 1.0), "legend": None}
    number = {"text": {"field": text}}
    return [
        {"mark": {"type": "rect", "cornerRadius": 2}, "encoding": {"color": colour}},
        {"transform": [{"filter": f"datum.{field} <= {most / 2}"}], "mark": "text", "encoding": number},
        {
            "transform": [{"filter": f"datum.{field} > {most / 2}"}],
            "mark": {"type": "text", "style": "on-strong"},
            "encoding": number,
        },
    ]


def png(svg: str, page: str) -> bytes:
    """Return a picture on the colour of a page: vl-convert 1.9 darkens what is half transparent in a PNG."""
    root = svg.index(">") + 1
    behind = f'<rect width="100%" height="100%" fill="{page}"/>'
    found: bytes = vl_convert().svg_to_png(svg[:root] + behind + svg[root:], scale=SCALE)
    return found


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script of 0.9 MB, which sets window.vegaEmbed."""
    found: str = vl_convert().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return found


def vl_convert() -> Any:
    with needs_extra("Charts and PNG files need vl-convert, which is not installed.", "show", "vl_convert"):
        return import_module("vl_convert")
