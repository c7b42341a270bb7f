"""The page of one model: the verdict, then each part of the report as a section."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from dragoman.analysis.differences import marked
from dragoman.analysis.reasons import REASONS
from dragoman.errors import MissingExtra
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.learning_curve import learning_curve_panels
from dragoman.inspection.pictures.page import INHERITED
from dragoman.inspection.pictures.picture import Picture, vl_convert
from dragoman.inspection.pictures.svg import element
from dragoman.metrics.sentence_buckets import SentenceBucket
from dragoman.metrics.word_buckets import WordBucket
from dragoman.reports.data import Example, Score
from dragoman.reports.html import SHOWN, figure, folded, page, prose, section, table, words
from dragoman.reports.plots import bar, interval_plot, key_of_dot, key_of_tick
from dragoman.reports.run_section import data_section, reproduction_section
from dragoman.reports.text import PERFECT, reason_text, score_figure

if TYPE_CHECKING:
    from dragoman.reports.report import Report

WORST = 20
LISTED = 1000  # sentences, at most, in the list of all
CLIPPED = 300  # characters of a sentence in that list
USUAL_PICTURES = ("tags", "ctc", "attention", "beam")
FOUND_BY_RULES = "Reasons are found by rules and say where to look, not what is true."


def report_page(report: Report) -> str:
    sections = [one for one in sections_of(report) if one]
    return page(report.name, header(report), sections, f"Made by Dragoman {version('dragoman')}.")


def summary(report: Report) -> str:
    """Return the verdict and the scores, for a notebook."""
    return element("div", element("p", element("b", words(report.verdict))), score_rows(report.scores))


def header(report: Report) -> Iterator[str]:
    yield element("h1", words(report.name), element("span", " · a report by Dragoman"), dir="auto")
    yield element("p", words(report.verdict), class_="verdict")
    run = report.run
    facts = [
        report.test.described,
        run.model,
        f"{run.parameters:,} parameters" if run.parameters else "",
        f"{run.updates:,} updates in {run.seconds / 60:.0f} min" if run.updates else "",
    ]
    yield element("p", *(element("span", words(fact)) for fact in facts if fact), class_="facts")
    yield element("nav", *(element("a", words(title), href=f"#{name}") for name, title in contents(report)))


def contents(report: Report) -> Iterator[tuple[str, str]]:
    yield "scores", "Scores"
    yield "examples", "Examples"
    if report.errors:
        yield "losses", "Where it loses"
    yield "worst", "Worst sentences"
    if report.curves:
        yield "curves", "Learning"
    if report.explained:
        yield "inside", "Inside"
    yield "data", "Data"
    yield "again", "Reproduction"


def sections_of(report: Report) -> Iterator[str]:
    yield scores_section(report)
    some = sorted((report.sentences[place] for place in report.drawn), key=lambda one: one.line)
    listed = sentence_list(some, report.sentence_score, columns=True)
    yield section("examples", "Random examples", "Words that differ are marked.", listed)
    if report.errors:
        yield losses_section(report)
    worst = [one for one in report.sentences[:WORST] if one.score < PERFECT]
    note = (FOUND_BY_RULES if report.errors else "") if worst else "All sentences are answered perfectly."
    yield section(
        "worst",
        "Worst sentences",
        note,
        sentence_list(worst, report.sentence_score),
        folded(
            f"All sentences, the worst first ({min(len(report.sentences), LISTED):,})",
            sentence_list(report.sentences[:LISTED], report.sentence_score, CLIPPED),
        ),
    )
    if report.curves:
        charts = [element("figure", chart) for chart in learning_curve_panels(report.curves, INHERITED)]
        yield section("curves", "Learning", "", element("div", *charts, class_="pair curves"))
    if report.explained:
        yield inside_section(report)
    yield data_section(report.run, report.test)
    yield reproduction_section(report.run)


def scores_section(report: Report) -> str:
    signatures = [
        element("p", element("code", words(f"{one.title}  {one.signature}")))
        for one in report.scores
        if one.signature
    ]
    notes = [element("p", words(note), class_="note") for note in report.notes]
    return section(
        "scores",
        "Scores",
        f"On {report.test.described}: {' + '.join(report.test.files) or 'held out of the training data'}.",
        score_rows(report.scores),
        key(report.scores),
        folded("Signatures, for comparison with other work", *signatures) if signatures else "",
        *notes,
    )


def score_rows(scores: Sequence[Score]) -> str:
    names = list(dict.fromkeys(name for one in scores for name in one.baselines))
    is_percentage = all(max(one.interval) <= 200 for one in scores)
    head = ["", "value", "95 % interval", *map(words, names), ""]
    rows = [
        [
            words(one.title) + (" ↓" if one.is_error else ""),
            element("td", score_figure(one, one.value), class_="number strong"),
            f"{score_figure(one, one.interval[0])} – {score_figure(one, one.interval[1])}",
            *(score_figure(one, one.baselines[name]) if name in one.baselines else "–" for name in names),
            interval_plot(one.value, one.interval, one.baselines.values()) if is_percentage else "",
        ]
        for one in scores
    ]
    return table("Scores", head, rows, range(1, 3 + len(names)))


def key(scores: Sequence[Score]) -> str:
    parts = [element("span", key_of_dot(), " the model, with its interval")]
    if any(one.baselines for one in scores):
        parts.append(element("span", key_of_tick(), " what needs no model"))
    if any(one.is_error for one in scores):
        parts.append(element("span", "↓ lower is better"))
    return element("p", *parts, class_="key")


def sentence_list(
    sentences: Sequence[Example], measure: str, longest: int = SHOWN, *, columns: bool = False
) -> str:
    items = [sentence(one, measure, longest) for one in sentences]
    return element("ol", *items, "", class_="sentences columns" if columns else "sentences")


def sentence(one: Example, measure: str, longest: int) -> str:
    tags = [element("span", words(reason_text(why), 80), class_="tag") for why in one.reasons]
    facts = (f"line {one.line:,}", f"{measure} {one.score:.0f}")
    about = element("p", *(element("span", words(fact)) for fact in facts), *tags, class_="about")
    parts = [element("dt", "Source"), element("dd", words(one.source, longest), dir="auto")]
    if one.reference or one.output:
        output, reference = one.output[:longest], one.reference[:longest]
        parts += [element("dt", "Output"), element("dd", differing(output, reference), dir="auto")]
        parts += [element("dt", "Reference"), element("dd", differing(reference, output), dir="auto")]
    return element("li", about, element("dl", *parts))


def differing(text: str, other: str) -> str:
    """Return a text with the words that the other does not have marked."""
    return "".join(
        element("mark", words(part)) if is_marked else words(part) for part, is_marked in marked(text, other)
    )


def losses_section(report: Report) -> str:
    assert report.errors is not None
    errors = report.errors
    most = max((one.lost for one in errors.reasons), default=1.0)
    reasons = [
        [words(REASONS[one.tag]), f"{one.sentences:,}", f"{one.lost:.0f} %", bar(one.lost, most)]
        for one in errors.reasons
    ]
    tables = [
        *(bucket_table(name, buckets) for name, buckets in errors.sentence_buckets.items()),
        *(word_table(name, buckets) for name, buckets in errors.word_buckets.items()),
    ]
    return section(
        "losses",
        "Where it loses",
        f"By the chrF of each sentence, {errors.mean:.1f} on average. Blue groups are below the mean; a line "
        "is a 95 % interval.",
        element("div", *tables, class_="pair"),
        element("h3", "Reasons", class_="apart") if reasons else "",
        table("Reasons", ["", "sentences", "of the loss", ""], reasons, (1, 2)) if reasons else "",
    )


def bucket_table(name: str, buckets: Sequence[SentenceBucket]) -> str:
    rows = [
        [
            words(one.label),
            f"{one.sentences:,}",
            f"{one.mean:.1f}",
            bar(one.mean, strong=one.loses, interval=one.interval),
        ]
        for one in buckets
    ]
    head = ["", "sentences", "chrF", ""]
    return element("div", element("h3", words(name.capitalize())), table(name, head, rows, (1, 2)))


def word_table(name: str, buckets: Sequence[WordBucket]) -> str:
    rows = [
        [
            words(one.label),
            f"{one.wanted:,}",
            f"{one.f1:.1f}",
            bar(one.f1, strong=False),
        ]
        for one in buckets
    ]
    title = f"Words by {name}"
    head = ["", "wanted", "F1", ""]
    return element("div", element("h3", words(title)), table(title, head, rows, (1, 2)))


def inside_section(report: Report) -> str:
    parts = []
    for one in report.explained:
        found = one.explanation
        command = shlex.join(["dragoman", "show", report.name, found.text, "-o", "inside.html"])
        parts += [
            element("h3", words(f"Line {one.line:,}, {one.why}"), class_="apart"),
            element("p", prose("span", found.text), " → ", prose("span", found.output)),
            *map(figure, pictures_of(found)),
            folded("All pictures of it", element("pre", words(command))),
        ]
    note = "What the model did, and the candidates of its search. Attention is what was read, not why."
    return section("inside", "Inside", note, *parts)


def pictures_of(found: Explanation) -> list[Picture]:
    """Return the usual pictures of a task; where no chart can be drawn, ribbons in place of the attention."""
    pictures = found.pictures
    names: list[str] = [name for name in USUAL_PICTURES if name in pictures] or ["steps"]
    if "attention" in names and not can_draw_charts():
        names.insert(names.index("attention") + 1, "ribbons")
    return [pictures[name] for name in names if name in pictures]


def can_draw_charts() -> bool:
    try:
        vl_convert()
    except MissingExtra:
        return False
    return True
