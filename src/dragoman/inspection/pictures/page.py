"""One page with several pictures: self-contained, without a network, light or dark as the reader prefers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from dragoman.inspection.pictures.labels import safe
from dragoman.inspection.pictures.picture import SCHEMA, Chart, Picture, vega_bundle
from dragoman.inspection.pictures.theme import DARK, INHERITED, LIGHT, style_sheet, vega_config

STYLE = """
body { background: var(--page); color: var(--ink); font: 1rem/1.5 var(--font);
  margin: 0 auto; max-width: 1200px; padding: 1.5rem 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 0.2rem; }
p.note { color: var(--soft); margin: 0 0 0.8rem; max-width: 46rem; }
section > .picture { display: block; overflow-x: auto; }
.vega-bind { margin: 0.3rem 0; } .vega-bind-name { display: inline-block; min-width: 3.5rem; }
select { font: inherit; background: var(--page); color: var(--ink); border: 1px solid var(--line);
  border-radius: 4px; padding: 0.15rem 0.3rem; }
"""

# Vega's expressions are interpreted (ast), so that a page may forbid evaluation of code.
SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const configs = JSON.parse(document.getElementById("configs").textContent);
function draw() {
  for (const data of document.querySelectorAll("script.spec")) {
    const target = data.nextElementSibling, spec = JSON.parse(data.textContent);
    const config = configs[dark.matches ? "dark" : "light"];
    vegaEmbed(target, spec, { actions: false, ast: true, renderer: "svg", config }).catch(console.error);
  }
}
dark.addEventListener("change", draw);
draw();
"""


def page(title: str, lines: Sequence[str], pictures: Sequence[Picture]) -> str:
    """Return the page; `lines` are shown below its title."""
    charts = any(isinstance(picture, Chart) for picture in pictures)
    configs = {theme.name: vega_config(theme) for theme in (LIGHT, DARK)}
    parts = [*content(title, lines, pictures)]
    if charts:
        parts += [f"<script>{vega_bundle()}</script>", data(configs, "configs"), f"<script>{SCRIPT}</script>"]
    return "\n".join([*parts, "</body></html>\n"])


def content(title: str, lines: Sequence[str], pictures: Sequence[Picture]) -> list[str]:
    """Return the page without the scripts at its end."""
    return [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(safe(title))}</title><style>{style_sheet()}{STYLE}</style></head><body>",
        f"<h1>{escape(safe(title))}</h1>",
        *(f'<p dir="auto">{escape(safe(line))}</p>' for line in lines),
        *map(section, pictures),
    ]


def section(picture: Picture) -> str:
    head = f"<h2>{escape(safe(picture.title))}</h2>"
    note = f'<p class="note">{escape(safe(picture.note))}</p>' if picture.note else ""
    if isinstance(picture, Chart):
        spec = {"$schema": SCHEMA, **(picture.live or picture.spec), "title": None}
        shown = f'{data(spec)}<div class="picture"></div>'
    else:
        shown = f'<div class="picture">{picture.draw(INHERITED, "")}</div>'
    return f'<section id="{escape(picture.name)}">{head}{note}{shown}</section>'


def data(value: object, name: str = "") -> str:
    """Return JSON in a page: in it, no text can end the script that holds it."""
    text = json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
    where = f'id="{name}"' if name else 'class="spec"'
    return f'<script type="application/json" {where}>{text}</script>'
