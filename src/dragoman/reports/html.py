"""The page of a report: one file without scripts and without a network, light or dark, narrow or wide.

All text that comes from data passes through `words` or `prose`, which show controls as visible signs, cut
what is very long, and escape markup.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from dragoman.errors import MissingExtra
from dragoman.inspection.pictures.page import INHERITED, variables
from dragoman.inspection.pictures.picture import Chart, Picture
from dragoman.inspection.pictures.svg import element
from dragoman.inspection.pictures.theme import DARK, FONT, LIGHT
from dragoman.reports.text import cut

SHOWN = 600  # characters of a text
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

STYLE = """
:root { color-scheme: light dark; %(light)s
  --muted: #57606a; --line: #d8dee4; --panel: #f6f8fa; --mark: #ddf0fb; }
@media (prefers-color-scheme: dark) { :root { %(dark)s
  --muted: #9aa4af; --line: #2b323b; --panel: #151b23; --mark: #12364d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, %(font)s;
  overflow-wrap: anywhere; }
main, header, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; } footer { padding: 3rem 1.25rem; color: var(--muted); font-size: 0.875rem; }
h1 { font-size: 1.125rem; font-weight: 600; margin: 0 0 0.75rem; }
h1 span { color: var(--muted); font-weight: 400; }
h2 { font-size: 1.375rem; font-weight: 650; margin: 0 0 0.25rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 0 0 0.5rem; }
.verdict { font-size: clamp(1.375rem, 4.2vw, 2rem); line-height: 1.25; font-weight: 650; margin: 0 0 1rem;
  max-width: 48rem; text-wrap: pretty; overflow-wrap: break-word; }
.facts { color: var(--muted); margin: 0; } .facts span + span::before { content: " · "; }
nav { margin-top: 1.5rem; font-size: 0.9375rem; } nav a { margin-right: 1.25rem; white-space: nowrap; }
a { color: var(--accent); text-decoration: none; } a:hover, a:focus-visible { text-decoration: underline; }
section { padding-top: 2rem; margin-top: 2rem; border-top: 1px solid var(--line); }
.note { color: var(--muted); font-size: 0.9375rem; margin: 0 0 1.25rem; max-width: 46rem; }
.wide { overflow-x: auto; }
.wide:focus-visible, summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
.pair { display: grid; gap: 2rem 3rem; } .pair > * { min-width: 0; }
table { border-collapse: collapse; font-size: 0.9375rem; overflow-wrap: normal; }
th { font-weight: 400; color: var(--muted); text-align: left; font-size: 0.875rem; vertical-align: bottom; }
th, td { padding: 0.35rem 1.25rem 0.35rem 0; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--line); } tbody th { color: var(--ink); font-size: inherit; }
tbody th { white-space: normal; min-width: 7rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.strong { font-weight: 650; } td.muted { color: var(--muted); } td:last-child { padding-right: 0; }
td svg { display: block; }
ol.sentences { list-style: none; margin: 0; padding: 0; }
ol.sentences > li { padding: 0.9rem 0; border-top: 1px solid var(--line); }
ol.sentences > li:first-child { border-top: 0; padding-top: 0; }
ol.sentences:empty { display: none; } .apart { margin-top: 2rem; }
.about { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline; color: var(--muted);
  font-size: 0.875rem; font-variant-numeric: tabular-nums; margin: 0 0 0.3rem; }
.tag { border: 1px solid var(--line); border-radius: 1rem; padding: 0 0.6rem; color: var(--ink); }
dl { margin: 0; display: grid; grid-template-columns: 6.5rem 1fr; gap: 0.1rem 1rem; }
dl > * { min-width: 0; } dt { color: var(--muted); font-size: 0.9375rem; } dd { margin: 0; }
dl.card { grid-template-columns: 10rem 1fr; gap: 0.35rem 1rem; }
mark { background: var(--mark); color: inherit; border-radius: 3px; padding: 0 0.15em; }
figure { margin: 1rem 0 1.5rem; } figcaption { color: var(--muted); font-size: 0.875rem; max-width: 46rem; }
figure svg, figure img { display: block; } .curves figure { margin: 0; } .curves svg { width: 100%%; }
code, pre { font: 0.875rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 0.75rem 1rem;
  margin: 0 0 1rem; white-space: pre-wrap; }
details { margin-top: 1rem; } summary { cursor: pointer; color: var(--accent); }
details[open] > summary { margin-bottom: 1rem; }
.key { color: var(--muted); font-size: 0.875rem; display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem;
  margin: 0.75rem 0 0; align-items: center; } .key svg { display: inline-block; vertical-align: middle; }
@media (min-width: 56rem) { .pair, ol.columns { grid-template-columns: 1fr 1fr; }
  ol.columns { display: grid; column-gap: 3rem; }
  ol.columns > li:nth-child(2) { border-top: 0; padding-top: 0; } }
@media (max-width: 34rem) { dl, dl.card { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.4rem; }
  header { padding-top: 1.5rem; } section { padding-top: 1.5rem; margin-top: 1.5rem; } }
@media print { nav { display: none; } }
"""


def page(title: str, header: Iterable[str], sections: Iterable[str], footer: str) -> str:
    style = STYLE % {"light": variables(LIGHT), "dark": variables(DARK), "font": FONT}
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{words(title, 80)}</title><style>{style}</style></head><body>",
            element("header", *header),
            element("main", *sections),
            element("footer", footer),
            "</body></html>\n",
        ]
    )


def words(text: str, longest: int = SHOWN) -> str:
    """Return text as markup."""
    return escape(cut(text, longest))


def prose(name: str, text: str, **attributes: str) -> str:
    """Return an element with text in its own direction."""
    return element(name, words(text), dir="auto", **attributes)


def section(name: str, title: str, note: str, *content: str) -> str:
    head = [element("h2", words(title)), *([element("p", words(note), class_="note")] if note else [])]
    return element("section", *head, *content, id=name)


def wide(label: str, *content: str) -> str:
    """Return a part that scrolls by itself where it is wider than the page, also by keyboard."""
    return element("div", *content, class_="wide", tabindex="0", role="group", aria_label=label)


def table(label: str, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int]) -> str:
    """Return a table whose first column names its rows; cells are markup, or start with "<td"."""
    right = set(numbers)
    kinds = ["number" if place in right else None for place in range(len(head))]
    first = element(
        "tr",
        *(
            element("th", name or "&#160;", class_=k, scope="col")
            for name, k in zip(head, kinds, strict=True)
        ),
    )
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(
                cell if cell.startswith("<td") else element("td", cell, class_=k)
                for cell, k in zip(row[1:], kinds[1:], strict=True)
            ),
        )
        for row in rows
    ]
    return wide(label, element("table", element("thead", first), element("tbody", *body)))


def figure(picture: Picture) -> str:
    """Return a picture with its note, in the colours of the page; a chart is drawn for light and for dark."""
    caption = element("figcaption", words(picture.note)) if picture.note else ""
    try:
        if isinstance(picture, Chart):
            shown = element(
                "picture",
                element("source", srcset=embedded(picture.svg(DARK)), media="(prefers-color-scheme: dark)"),
                element("img", src=embedded(picture.svg(LIGHT)), alt=cut(picture.title)),
            )
        else:
            shown = picture.draw(INHERITED, picture.title)
    except MissingExtra as error:
        return element("p", words(f"{error.what} {error.hint}"), class_="note")
    return element("figure", wide(cut(picture.title), shown), caption)


def embedded(svg: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def folded(summary: str, *content: str) -> str:
    return element("details", element("summary", words(summary)), *content)
