"""The page that compares models: scores in columns, what differs between the runs, and each sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from dragoman.inspection.pictures.learning_curve import learning_curve_panels
from dragoman.inspection.pictures.page import INHERITED
from dragoman.inspection.pictures.svg import element
from dragoman.reports.html import SHOWN, folded, page, section, table, words
from dragoman.reports.report_page import differing
from dragoman.reports.text import p_text, score_figure

if TYPE_CHECKING:
    from dragoman.reports.comparison import ComparedSentence, Comparison, Contrast

MOST = 20  # sentences that are shown at once
LISTED, CLIPPED = 1000, 300  # sentences in the list of all, and their characters


def comparison_page(found: Comparison) -> str:
    title = " against ".join(system.name for system in reversed(found.systems))
    header = [
        element("h1", words(title), element("span", " · a comparison by Dragoman"), dir="auto"),
        element("p", words(found.verdict), class_="verdict"),
        element("p", words(f"{found.test.described}: {' + '.join(found.test.files)}"), class_="facts"),
    ]
    return page(title, header, sections_of(found), f"Made by Dragoman {version('dragoman')}.")


def sections_of(found: Comparison) -> Iterator[str]:
    note = (
        "Differences are from the first model, by a paired bootstrap: ▲ is better, ▼ is worse, and others "
        "could be chance. ↓ is a rate of errors."
    )
    signatures = [
        element("p", element("code", words(f"{one.title}  {one.signature}")))
        for one in found.systems[0].scores
        if one.signature
    ]
    more = folded("Signatures, for comparison with other work", *signatures) if signatures else ""
    yield section("scores", "Scores", note, contrast_table(found), more)
    charts = learning_curve_panels(found.curves, INHERITED)
    if charts:
        figures = [element("figure", chart) for chart in charts]
        note = f"The loss and the {found.main_metric} of the validation pairs of each run."
        yield section("curves", "Validation", note, element("div", *figures, class_="pair curves"))
    names = [words(system.name) for system in found.systems]
    rows = [
        [words(name), *(words(value, 80) or "–" for value in values)]
        for name, values in found.settings.items()
    ]
    if rows:
        yield section("settings", "Settings that differ", "", table("Settings", ["", *names], rows, ()))
    yield sentences_section(found)


def contrast_table(found: Comparison) -> str:
    """Return the scores in columns: of each system but the first also its difference and p."""
    first, *others = found.systems
    against = {(one.system, one.metric): one for one in found.contrasts}
    head = ["", words(first.name)]
    for system in others:
        head += [words(system.name), "difference", "p"]
    rows = []
    for place, score in enumerate(first.scores):
        row = [words(score.title) + (" ↓" if score.is_error else ""), score_figure(score, score.value)]
        for system in others:
            row.append(element("td", score_figure(score, system.scores[place].value), class_="number strong"))
            row += contrast_cells(against.get((system.name, score.metric)))
        rows.append(row)
    return table("Scores", head, rows, range(1, len(head)))


def contrast_cells(one: Contrast | None) -> list[str]:
    if one is None:
        return ["–", "–"]
    arrow = {True: " ▲", False: " ▼", None: ""}[one.is_better]
    return [words(f"{one.difference:+.2f}".replace("-", "−") + arrow), words(p_text(one.p_value))]


def sentences_section(found: Comparison) -> str:
    names = [system.name for system in found.systems]
    measure = found.sentence_score
    some = [sentence(one, names, measure, SHOWN) for one in found.sentences[:MOST]]
    rest = [sentence(one, names, measure, CLIPPED) for one in found.sentences[MOST:LISTED]]
    return section(
        "sentences",
        "Sentence by sentence",
        f"{len(found.sentences):,} of {found.test.sentences:,} outputs differ; the largest differences in "
        f"{measure} first. Words that the others do not have are marked.",
        element("ol", *some, "", class_="sentences"),
        folded(f"More sentences ({len(rest):,})", element("ol", *rest, class_="sentences")) if rest else "",
    )


def sentence(one: ComparedSentence, names: Sequence[str], measure: str, longest: int) -> str:
    scores = " → ".join(f"{score:.0f}" for score in one.scores)
    about = element("p", words(f"line {one.line:,}, {measure} {scores}"), class_="about")
    parts = [element("dt", "Source"), element("dd", words(one.source, longest), dir="auto")]
    parts += [element("dt", "Reference"), element("dd", words(one.reference, longest), dir="auto")]
    clipped = [output[:longest] for output in one.outputs]
    for place, (name, output) in enumerate(zip(names, clipped, strict=True)):
        other = clipped[0] if place else clipped[1]
        parts += [element("dt", words(name, 40)), element("dd", differing(output, other), dir="auto")]
    return element("li", about, element("dl", *parts))
