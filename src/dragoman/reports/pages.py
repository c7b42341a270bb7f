"""The pages of a report and of a comparison: one file each, without scripts and without a network.

The templates escape markup. Every text that they show passes through `shown` first, which shows controls as
visible signs and cuts what is very long.
"""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from dragoman.analysis.differences import marked
from dragoman.analysis.reasons import REASONS
from dragoman.errors import MissingExtra, needs_extra
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.learning_curve import learning_curve_panels
from dragoman.inspection.pictures.picture import Chart, Picture, vl_convert
from dragoman.inspection.pictures.theme import DARK, INHERITED, LIGHT, style_sheet
from dragoman.reports.text import baseline_names, cut, reason_text, score_figure
from dragoman.reports.verdict import EDITING_RULE, PERFECT, editing_text, of_hundred, p_text, signed

if TYPE_CHECKING:
    from jinja2 import Environment

    from dragoman.reports.report import Comparison, Contrast, Report

SHOWN = 600  # characters of a text
WORST, DIFFERING = 20, 20  # sentences that are shown at once
LISTED, CLIPPED = 1000, 300  # sentences in the list of all, and their characters
USUAL_PICTURES = ("tags", "ctc", "attention", "beam")
LITTLE_LOST = 99.0  # of the mean chrF: beyond it, groups of sentences show chance
EDGE, WIDE = 4.0, 172.0  # pixels of a scale: before it, so that a dot at its end is whole, and its own


def report_page(report: Report) -> str:
    worst = [one for one in report.sentences[:WORST] if one.score < PERFECT]
    errors = report.errors if report.errors and report.errors.mean < LITTLE_LOST else None
    titles = {
        "scores": "Scores",
        "examples": "Examples",
        "losses": "Where it loses" if errors else "",
        "worst": f"Worst {report.test.items}" if worst else "",
        "curves": "Learning" if report.curves else "",
        "inside": "Inside" if report.explained else "",
        "data": "Data",
        "again": "Reproduction",
    }
    return rendered(
        "report.html",
        report=report,
        run=report.run,
        titles={name: title for name, title in titles.items() if title},
        examples=sorted((report.sentences[place] for place in report.drawn), key=lambda one: one.line),
        worst=worst,
        errors=errors,
        charts=learning_curve_panels(report.curves, INHERITED) if report.curves else [],
        inside=[
            (one, list(map(figure, pictures_of(one.explanation))), command(report.name, one.explanation))
            for one in report.explained
        ],
    )


def comparison_page(found: Comparison) -> str:
    return rendered("comparison.html", found=found, charts=learning_curve_panels(found.curves, INHERITED))


def rendered(template: str, **context: object) -> str:
    return environment().get_template(template).render(context)


def summary(report: Report) -> str:
    """Return the verdict and the scores, for a notebook."""
    return macro("summary", report.verdict, report.scores)


def contrast_table(found: Comparison) -> str:
    """Return the scores in columns: of each system but the first also its difference and p."""
    return macro("contrast_table", found)


def macro(name: str, *given: object) -> str:
    return str(getattr(environment().get_template("parts.html").module, name)(*given))


@cache
def environment() -> Environment:
    with needs_extra("Pages need Jinja2, which is not installed.", "show", "jinja2"):
        jinja = import_module("jinja2")
    made: Environment = jinja.Environment(
        loader=jinja.PackageLoader("dragoman.reports"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"clip": cut, "count": "{:,}".format}
    made.globals |= {
        "version": version("dragoman"),
        "style_sheet": style_sheet(),
        "SHOWN": SHOWN,
        "CLIPPED": CLIPPED,
        "LISTED": LISTED,
        "DIFFERING": DIFFERING,
        "REASONS": REASONS,
        "EDITING_RULE": EDITING_RULE,
    }
    functions = (baseline_names, contrast, editing_text, marked, of_hundred, p_text, place, reason_text)
    made.globals |= {one.__name__: one for one in (*functions, score_figure, signed, zip)}
    return made


def shown(value: object) -> object:
    """Return what an expression of a template shows; markup stays as it is."""
    return cut(value, SHOWN) if type(value) is str else value


def contrast(found: Comparison, system: str, metric: str) -> Contrast | None:
    return next((one for one in found.contrasts if (one.system, one.metric) == (system, metric)), None)


def place(value: float, of: float = 100.0) -> float:
    """Return the position of a value on a scale from 0, in pixels."""
    return round(EDGE + WIDE * min(max(value / (of or 1.0), 0.0), 1.0), 2)


def figure(picture: Picture) -> dict[str, str]:
    """Return a picture as a page has it: a drawing in the colours of the page, a chart in two themes, or what
    to install."""
    named = {"title": picture.title, "note": picture.note, "drawing": "", "missing": ""}
    try:
        if isinstance(picture, Chart):
            return {**named, "light": embedded(picture.svg(LIGHT)), "dark": embedded(picture.svg(DARK))}
        return {**named, "drawing": picture.draw(INHERITED, picture.title)}
    except MissingExtra as error:
        return {**named, "missing": f"{error.what} {error.hint}"}


def embedded(svg: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def pictures_of(found: Explanation) -> Iterator[Picture]:
    """Yield the usual pictures of a task; where no chart can be drawn, ribbons in place of the attention.

    A search that kept one candidate a step has no tree.
    """
    pictures = found.pictures
    kept = [node.step for node in found.beam.nodes if node.fate == "open"] if found.beam else []
    if len(set(kept)) == len(kept):
        pictures.pop("beam", None)
    names: list[str] = [name for name in USUAL_PICTURES if name in pictures] or ["steps"]
    if "attention" in names and not can_draw_charts():
        names.insert(names.index("attention") + 1, "ribbons")
    yield from (pictures[name] for name in names if name in pictures)


def can_draw_charts() -> bool:
    try:
        vl_convert()
    except MissingExtra:
        return False
    return True


def command(name: str, found: Explanation) -> str:
    return shlex.join(["dragoman", "show", name, found.text, "-o", "inside.html"])
