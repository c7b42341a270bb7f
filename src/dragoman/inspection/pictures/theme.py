"""Colours and letters of all pictures, on a light and on a dark page.

Categories are those of Okabe and Ito (2008), which colour-blind readers can tell apart. A quantity is one hue
from the colour of the page to the strongest, so that it can be read in grey as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.errors import UsageError

FONT = "DejaVu Sans, Noto Sans, Noto Sans CJK SC, Arial, sans-serif"


@dataclass(frozen=True)
class Theme:
    name: str
    page: str
    ink: str  # text and strong lines
    faint: str  # what was pruned, grids, less important text
    accent: str  # the winner
    weights: tuple[str, ...]  # from nothing to most
    negative: str
    categories: tuple[str, ...]


LIGHT = Theme(
    "light",
    page="#ffffff",
    ink="#1f2328",
    faint="#8c959f",
    accent="#0072b2",
    weights=("#ffffff", "#9ecae1", "#0072b2", "#08306b"),
    negative="#d55e00",
    categories=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"),
)
DARK = Theme(
    "dark",
    page="#0d1117",
    ink="#e6edf3",
    faint="#6e7681",
    accent="#56b4e9",
    weights=("#0d1117", "#0b4f7d", "#56b4e9", "#f0f9ff"),
    negative="#e69f00",
    categories=("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff"),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_of(name: str) -> Theme:
    if name not in THEMES:
        raise UsageError(
            f'There is no theme "{name}".',
            where="theme",
            expected=" or ".join(THEMES),
            hint=f'theme="{LIGHT.name}"',
        )
    return THEMES[name]


def vega_config(theme: Theme) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for a theme."""
    text = {"labelColor": theme.ink, "titleColor": theme.ink, "titleFontWeight": "normal"}
    lines = {"gridColor": theme.faint, "gridOpacity": 0.25, "domainColor": theme.faint}
    return {
        "background": theme.page,
        "font": FONT,
        "view": {"stroke": theme.faint, "strokeOpacity": 0.35},
        "axis": {**text, **lines, "tickColor": theme.faint, "labelFontSize": 12, "titleFontSize": 12},
        "legend": {**text, "labelLimit": 320, "symbolOpacity": 1, "labelFontSize": 11, "titleFontSize": 11},
        "title": {"color": theme.ink, "subtitleColor": theme.faint, "anchor": "start", "fontSize": 15},
        "header": text,
        "mark": {"color": theme.accent},
        "line": {"strokeJoin": "round"},
        "text": {"color": theme.ink},
        "rule": {"color": theme.faint},
        "style": {
            "on-strong": {"color": theme.page},
            "faint": {"color": theme.faint},
            "chosen": {"color": theme.negative},
        },
        "range": {
            "category": list(theme.categories),
            "ramp": list(theme.weights),
            "heatmap": list(theme.weights),
            "diverging": [theme.negative, theme.page, theme.accent],
        },
    }
