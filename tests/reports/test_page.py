"""The page of a report: well-formed, without scripts and without a network, whatever the texts hold."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dragoman.analysis.reasons import Reason
from dragoman.cli.main import main
from dragoman.inference.model import Model
from dragoman.reports.gather import Effort, report_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.pages import SHOWN, pictures_of
from dragoman.reports.report import EvaluationSet, Example, Report
from support.hostile_strings import HOSTILE

VOID = {"meta", "source", "img"}
TAGS = """
    html head meta title style body header main footer nav section h1 h2 h3 p span a div table thead tbody tr
    th td ol li dl dt dd mark figure figcaption picture source img pre code details summary svg rect circle
    line path text g polyline polygon b tspan
"""


class Checked(HTMLParser):
    """Checks that elements are closed in order, and that nothing in them runs or is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS.split(), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("style", "srcdoc", "action"), name
            if name in ("src", "href", "srcset"):
                assert value is not None
                assert value.startswith(("data:image/svg+xml;base64,", "#")), value[:80]
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def checked(page: str) -> Checked:
    found = Checked()
    found.feed(page)
    found.close()
    assert not found.open
    return found


def test_it_is_well_formed_and_says_it_all(report: Report) -> None:
    page = report.html()
    found = checked(page)
    assert "default-src 'none'" in page
    first, *others = report.verdict.replace(" %", "\u00a0%").split(". ")
    assert all(sentence in found.text for sentence in (first, *others))
    for name in ("scores", "examples", "losses", "worst", "curves", "inside", "data", "again"):
        assert f'<section id="{name}">' in page
        assert f'href="#{name}"' in page
    assert report.scores[1].signature in found.text
    assert report.run.command in found.text
    assert report.run.corpora[0].sha256[0] in found.text
    assert page.count("<picture>") == len(report.explained), "an attention map each"


def test_a_perfect_model_loses_nowhere(model: Model) -> None:
    pairs, test, _ = measured_on(model, ())
    found = report_on(model, pairs, test, [pair.tgt for pair in pairs], Effort(explained=0))
    assert found.verdict.startswith("All 40 held-out examples are right: of new ones expect at least 91 %.")
    page = found.html()
    checked(page)
    for name in ("losses", "worst", "inside"):
        assert f'id="{name}"' not in page
        assert f'href="#{name}"' not in page
    assert "100.00 – 100.00" not in page, "an interval by resampling what is all the same"
    assert "91.24 % – 100.00 %" in page


def test_a_search_that_keeps_one_candidate_has_no_tree(model: Model) -> None:
    greedy, beam = (model.explain("abc", beam=size, saliency=False) for size in (1, 3))
    assert [picture.name for picture in pictures_of(beam)] == ["attention", "beam"]
    assert [picture.name for picture in pictures_of(greedy)] == ["attention"]


def test_hostile_strings_are_only_text(report: Report) -> None:
    assert len(HOSTILE) >= 300
    examples = tuple(
        Example(n, 1.0, one, one, f"{one} {one}", (Reason("omission", (one,)),))
        for n, one in enumerate(HOSTILE, start=1)
    )
    hostile = replace(
        report,
        sentences=examples,
        drawn=(0, 5, 9),
        name=HOSTILE[0],
        test=EvaluationSet("test set", tuple(HOSTILE[:20]), len(HOSTILE)),
        run=replace(report.run, settings={one: one for one in HOSTILE}, command=HOSTILE[1], model=HOSTILE[2]),
        notes=tuple(HOSTILE),
    )
    page = hostile.html()
    checked(page)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)
    page.encode()  # no half of a surrogate pair
    assert "x" * (SHOWN + 1) not in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", str(hostile))


def test_without_vl_convert_the_page_says_what_to_install(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = report.html()
    assert 'pip install "dragoman[show]"' in checked(page).text
    assert "<picture>" not in page
    assert page.count("<figure>") >= 2 + 2 * len(report.explained), "curves, ribbons and beam trees stay"


def test_a_thousand_sentences_stay_below_five_megabytes(report: Report) -> None:
    long = [Example(n, 1.0, "word " * 200, "字" * 400, "ein " * 200) for n in range(1, 1001)]
    page = replace(report, sentences=tuple(long), drawn=tuple(range(10))).html()
    assert len(page.encode()) < 5e6


def test_in_a_notebook_it_shows_the_verdict_and_the_scores(report: Report) -> None:
    shown = report._repr_html_()
    checked(shown)
    assert report.verdict in shown
    assert "<table>" in shown


def test_the_verb_prints_and_writes(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("cat\ttac\ndog\tgod\n", encoding="utf-8")
    assert main(["show", str(run), str(test)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("run: ")
    assert "2 examples of the test set" in out
    assert f"Next: dragoman show {run} {test} -o report.html" in err
    assert main(["show", str(run), str(test), "-o", str(tmp_path / "report.html")]) == 0
    checked((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert main(["show", str(run), str(test), "--dark"]) == 2
    assert "for the pictures of one text" in capsys.readouterr().err
    assert main(["show", str(run), "--", str(test)]) == 0, "after dashes, a text"
    assert "instead of" in capsys.readouterr().out
