"""The one style sheet: colours and letters of all pictures and pages, light and dark.

Pictures are transparent, so they stand on any page of their theme. Categories are those of Okabe and Ito
(2008), which colour-blind readers can tell apart. A quantity is one hue, from none to the strongest, so that
it can be read in grey as well.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from dragoman.errors import UsageError

FONT = "system-ui, Segoe UI, Roboto, Noto Sans, Noto Sans CJK SC, DejaVu Sans, sans-serif"
SIZE, SMALL, HEADING = 13, 11, 16  # pixels of the letters of a picture


@dataclass(frozen=True)
class Theme:
    name: str
    page: str  # behind a picture, which is transparent
    panel: str  # boxes on the page
    ink: str  # text and strong lines
    soft: str  # less important text
    faint: str  # what was pruned, grids
    line: str  # rules and borders
    accent: str  # the winner
    tint: str  # behind what is chosen
    negative: str
    warning: str  # text, so darker or lighter than `negative`
    weights: tuple[str, ...]  # from nothing, through which the page is seen, to most
    categories: tuple[str, ...]


LIGHT = Theme(
    "light",
    page="#ffffff",
    panel="#f6f8fa",
    ink="#1f2328",
    soft="#59636e",
    faint="#8c959f",
    line="#d5dae0",
    accent="#0072b2",
    tint="#e1f0f9",
    negative="#d55e00",
    warning="#a13d00",
    weights=("#ffffff00", "#9ecae1", "#0072b2", "#08306b"),
    categories=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"),
)
DARK = Theme(
    "dark",
    page="#0d1117",
    panel="#161c24",
    ink="#e6edf3",
    soft="#9ba6b1",
    faint="#6e7681",
    line="#303844",
    accent="#56b4e9",
    tint="#1a2c3b",
    negative="#e69f00",
    warning="#f0a35e",
    weights=("#0d111700", "#0b4f7d", "#56b4e9", "#f0f9ff"),
    categories=("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff"),
)
COLOURS = tuple(one.name for one in fields(Theme) if one.name not in ("name", "weights", "categories"))
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


def style_sheet() -> str:
    """Return the colours as variables of CSS, which follow the reader's preference; and the font."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}"
    return f":root {{ color-scheme: light dark; --font: {FONT}; {variables(LIGHT)} }}\n{dark}\n"


def variables(theme: Theme) -> str:
    colours = {name: getattr(theme, name) for name in COLOURS}
    colours |= {f"category-{number}": colour for number, colour in enumerate(theme.categories)}
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


# A drawing inside a page takes the colours of the page.
INHERITED = Theme(
    "page",
    **{name: f"var(--{name})" for name in COLOURS},
    weights=LIGHT.weights,
    categories=tuple(f"var(--category-{number})" for number in range(len(LIGHT.categories))),
)


def vega_config(theme: Theme) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for a theme."""
    text = {"labelColor": theme.ink, "titleColor": theme.soft, "titleFontWeight": "normal"}
    lines = {"gridColor": theme.faint, "gridOpacity": 0.25, "domainColor": theme.faint}
    sizes = {"labelFontSize": SIZE, "titleFontSize": SIZE}
    return {
        "background": None,
        "font": FONT,
        "view": {"stroke": theme.faint, "strokeOpacity": 0.35},
        "axis": {**text, **lines, **sizes, "tickColor": theme.faint},
        "legend": {**text, **sizes, "labelLimit": 320, "symbolOpacity": 1},
        "title": {"color": theme.ink, "subtitleColor": theme.soft, "anchor": "start", "fontSize": HEADING},
        "header": text,
        "mark": {"color": theme.accent},
        "line": {"strokeJoin": "round"},
        "text": {"color": theme.ink, "fontSize": SIZE},
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
            "diverging": [theme.negative, theme.weights[0], theme.accent],
        },
    }
