"""Reports in Chromium: nothing runs, nothing is fetched, nothing overflows, and the page is there at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.analysis.reasons import Reason
from dragoman.inference.model import Model
from dragoman.reports.compare import compare_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.report import EvaluationSet, Example, Report
from support.browser import axe, chromium, serious_findings
from support.hostile_strings import HOSTILE

pytestmark = pytest.mark.slow

LOOKS = [(width, scheme) for width in (390, 1400) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(report: Report, model: Model, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report as it is, one on a thousand sentences, one of hostile strings, and a comparison."""
    line = "Ein Satz mit einigen Wörtern, wie er in einem Text vorkommt."
    many = [Example(n, n / 10, line, f"{line} {n}", f"{n} {line}") for n in range(1, 1001)]
    hostile = [
        Example(n, 1.0, one, one, f"{one} {one}", (Reason("omission", (one,)),))
        for n, one in enumerate(HOSTILE, start=1)
    ]
    run = replace(report.run, settings={one: one for one in HOSTILE}, command=HOSTILE[1], model=HOSTILE[2])
    pairs, test, outputs = measured_on(model, ())
    found = {
        "report": report,
        "thousand": replace(report, sentences=tuple(many)),
        "hostile": replace(
            report,
            sentences=tuple(hostile),
            name=HOSTILE[0],
            test=EvaluationSet("test set", tuple(HOSTILE[:40]), len(HOSTILE)),
            run=run,
            notes=tuple(HOSTILE[:40]),
        ),
        "comparison": compare_on([model, model], pairs, test, [outputs, [pair.tgt for pair in pairs]]),
    }
    home = tmp_path_factory.mktemp("pages")
    for name, one in found.items():
        one.save(home / f"{name}.html")
    return {name: home / f"{name}.html" for name in found}


@contextmanager
def visit(browser: Any, file: Path, width: int, scheme: str) -> Iterator[tuple[Any, list[str]]]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("data:", file.as_uri()))
            else wrong.append(f"request: {request.url}")
        ),
    )
    page.goto(file.as_uri())
    yield page, wrong
    context.close()


@pytest.mark.parametrize("name", ["thousand", "hostile", "comparison"])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_nothing_runs_is_fetched_or_overflows(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    with visit(browser, pages[name], width, scheme) as (page, wrong):
        for summary in page.locator("summary").all():
            summary.focus()
            page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == page.locator("details").count(), "by keyboard"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main, header, footer").count() == 3, "nothing has closed them"
        assert page.evaluate("document.scripts.length") == 0
        assert not wrong


def test_a_table_that_is_cut_off_can_be_scrolled(browser: Any, pages: dict[str, Path]) -> None:
    with visit(browser, pages["report"], 390, "light") as (page, _):
        table = page.locator("#scores .wide")
        assert table.evaluate("t => t.scrollWidth > t.clientWidth")
        baseline = page.locator("#scores thead th", has_text="copy of the source").bounding_box()
        assert baseline["x"] + baseline["width"] < 390, "what the model is compared with is seen first"


def test_the_page_of_one_text_does_not_scroll_sideways(browser: Any, report: Report, tmp_path: Path) -> None:
    file = tmp_path / "inside.html"
    report.explained[0].explanation.save(file)
    with visit(browser, file, 390, "light") as (page, _):
        page.wait_for_selector(".vega-embed svg")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_links_lead_to_sections(browser: Any, pages: dict[str, Path]) -> None:
    with visit(browser, pages["thousand"], 1400, "light") as (page, wrong):
        names = [link.get_attribute("href") for link in page.locator("nav a").all()]
        assert all(page.locator(f"section{name}").count() == 1 for name in names)
        page.locator("nav a").last.click()
        assert page.evaluate("scrollY") > 0
        assert not wrong


def test_a_thousand_sentences_are_painted_within_a_second(browser: Any, pages: dict[str, Path]) -> None:
    assert pages["thousand"].stat().st_size < 5e6
    times = []
    for _ in range(3):  # another process may take the processor for a moment
        with visit(browser, pages["thousand"], 1400, "light") as (page, _):
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(times) < 1000, times


@pytest.mark.parametrize("name", ["report", "hostile", "comparison"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_axe_finds_nothing_serious(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    script = axe()
    with visit(browser, pages[name], width, scheme) as (page, _):
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert not serious_findings(page, script)
