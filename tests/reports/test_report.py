"""A report is plain data: the scores of `score`, baselines, sentences, and what the run was made of."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import sys
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.data.pair import Pair
from dragoman.errors import DataError, UsageError
from dragoman.inference.model import Model
from dragoman.reports.answered import labels_right
from dragoman.reports.compare import compare_on
from dragoman.reports.gather import Effort, report_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.pages import environment
from dragoman.reports.report import Editing, EvaluationSet, Report
from dragoman.tasks.load import load, score
from support.runs import record
from support.tiny_bundle import saved, tiny_folder, tiny_lm


def test_scores_are_those_of_score(report: Report, run: Path, model: Model) -> None:
    valid = run.parent / "valid.tsv"
    lines = valid.read_text(encoding="utf-8").split("\n")[:40]
    (run.parent / "some.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    expected = score(model, run.parent / "some.tsv")
    assert {one.metric: one.value for one in report.scores} == pytest.approx(
        {name: found.value for name, found in expected.scores.items()}
    )
    assert report.scores[0].metric == "exact_match", "most targets are one word"
    assert all(one.signature for one in report.scores if one.metric in ("bleu", "chrf"))
    assert report.test.kind == "validation set"
    assert report.test.files == ("valid.tsv",)


def test_gains_are_over_each_baseline(report: Report) -> None:
    first = report.scores[0]
    assert [gain.baseline for gain in report.gains] == ["copy of the source", "nearest training pair"]
    for gain in report.gains:
        assert gain.difference == pytest.approx(first.value - first.baselines[gain.baseline])
        assert gain.interval[0] <= gain.difference <= gain.interval[1]


def test_sentences_are_all_and_the_worst_first(report: Report) -> None:
    assert sorted(one.line for one in report.sentences) == list(range(1, 41))
    scores = [one.score for one in report.sentences]
    assert scores == sorted(scores)
    assert all(one.reasons for one in report.sentences if one.output != one.reference)
    assert len(set(report.drawn)) == 10
    assert report.errors is not None
    assert set(report.errors.word_buckets) == {"kind", "occurrences in training"}


def test_a_report_without_a_word_has_a_page(report: Report) -> None:
    assert report.errors is not None
    nothing = replace(report.errors, word_buckets={"kind": ()})
    assert "Words by kind" not in replace(report, errors=nothing).html()


def test_it_is_plain_data(report: Report, tmp_path: Path) -> None:
    told = json.loads(json.dumps(report.asdict(), allow_nan=False))
    assert told["verdict"] == report.verdict
    assert len(told["sentences"]) == 40
    assert told["errors"]["sentences"] == [], "they are in the report"
    assert told["explained"][0]["explanation"]["attention"]
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == told
    with pytest.raises(UsageError, match="cannot be written"):
        report.save(tmp_path / "report.pdf")
    with pytest.raises(UsageError, match="There is no folder"):
        report.save(tmp_path / "none" / "report.html")


def test_the_data_card_has_what_the_run_recorded(report: Report, run: Path) -> None:
    (corpus,) = report.run.corpora
    file = run.parent / "train.tsv"
    assert corpus.files == ("train.tsv",)
    assert corpus.sha256 == (hashlib.sha256(file.read_bytes()).hexdigest(),)
    assert corpus.read == 600
    assert corpus.kept + sum(corpus.left_out.values()) == 600
    assert report.run.validation == "40 pairs of valid.tsv"
    assert report.run.updates == 14
    assert report.run.settings["training.batch_tokens"] == "300"
    assert "training.lr" not in report.run.settings, "that of the preset"
    assert report.curves is not None
    assert [curve.name for curve in report.curves.losses] == ["training", "validation"]


def test_the_command_repeats_the_run(
    report: Report, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run.parent)
    assert report.run.is_exact
    program, *arguments = shlex.split(report.run.command)
    assert program == "dragoman"
    assert arguments[:2] == ["train", "-c"]
    assert main([*arguments, "--yes"]) == 0
    assert record(run.parent / "run-again") == record(run)
    assert f"Report: run-again/report.html. {report.verdict}" in capsys.readouterr().err
    assert (run.parent / "run-again" / "report.html").is_file()


def test_training_data_that_is_large_or_gone_is_left_out(model: Model) -> None:
    pairs, test, outputs = measured_on(model, ())
    quick = report_on(model, pairs, test, outputs, Effort(training_pairs=599, explained=0))
    assert [gain.baseline for gain in quick.gains] == ["copy of the source"]
    assert "so that training ends soon" in quick.notes[0]
    assert not quick.explained


def test_a_copied_model_has_a_report_without_a_run(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "copied")
    (tmp_path / "test.tsv").write_text("a b\tb a\nc d e\te d c\n", encoding="utf-8")
    model = load(folder)
    found = report_on(model, *measured_on(model, [tmp_path / "test.tsv"]))
    assert found.name == "copied"
    assert found.curves is None
    assert found.run.corpora[0].read == 0
    assert "not there any more" in found.notes[0]
    with pytest.raises(UsageError, match="nothing to report on"):
        measured_on(model, ())


def test_a_notebook_without_jinja_shows_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(tiny_folder(tmp_path / "model"))
    (tmp_path / "test.tsv").write_text("a b\tb <a>\nc d e\te d c\n", encoding="utf-8")
    pairs, test, _ = measured_on(model, [tmp_path / "test.tsv"])
    outputs = ["b <a>", "c"]
    found = report_on(model, pairs, test, outputs, Effort(explained=0))
    compared = compare_on([model, model], pairs, test, [outputs, ["b", "c"]])
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    for one in (found, compared):
        assert one._repr_html_() == f"<pre>{escape(str(one))}</pre>"
    environment.cache_clear()


@pytest.mark.parametrize(
    ("output", "error"),
    [("a.pdf", "cannot be written as"), ("no/a.html", "There is no folder"), ("a.html", "Jinja2")],
)
def test_an_output_that_cannot_be_written_is_refused_before_decoding(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    error: str,
) -> None:
    model = tiny_folder(tmp_path / "model")
    (tmp_path / "test.tsv").write_text("a b\tb a\n", encoding="utf-8")
    monkeypatch.setattr("dragoman.cli.reports.report_of", lambda *_: pytest.fail("it was decoded"))
    if output == "a.html":
        monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    assert main(["show", str(model), str(tmp_path / "test.tsv"), "-o", str(tmp_path / output)])
    assert error in capsys.readouterr().err
    environment.cache_clear()


@pytest.mark.parametrize("text", ['msgid ""\nmsgstr ""\n', 'msgid "a b"\nmsgstr ""\n'])
def test_a_test_set_without_references_is_refused(tmp_path: Path, text: str) -> None:
    model = load(tiny_folder(tmp_path / "model"))
    (tmp_path / "test.po").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="no pair of these files has a reference"):
        measured_on(model, [tmp_path / "test.po"])


def test_a_language_model_is_measured_by_its_text(tmp_path: Path) -> None:
    model = load(saved(tmp_path / "lm", tiny_lm()))
    (tmp_path / "test.txt").write_text("a b c\nd e f g\n", encoding="utf-8")
    found = report_on(model, *measured_on(model, [tmp_path / "test.txt"]))
    assert found.scores[0].metric == "perplexity"
    assert found.verdict.startswith("On 2 test lines it is as unsure of each token as if it chose among ")
    assert [one.source for one in found.sentences] in (["a b c", "d e f g"], ["d e f g", "a b c"])
    assert 'id="inside"' in found.html()


def test_only_a_test_set_is_called_one(model: Model, run: Path, tmp_path: Path) -> None:
    words = run.parent
    new = tmp_path / "new.tsv"
    new.write_text("abc\tcba\n", encoding="utf-8")
    moved = Path(shutil.copy(words / "valid.tsv", tmp_path / "moved.tsv"))
    files = {"test set": new, "training data": words / "train.tsv", "validation set": words / "valid.tsv"}
    for kind, file in (*files.items(), ("validation set", moved)):
        assert measured_on(model, [file]).test.kind == kind, file


def test_sentences_are_left_edited_or_retyped_by_their_match(model: Model) -> None:
    wanted = ["one two three four", "eins zwei drei vier", "un deux trois quatre", "yksi kaksi kolme neljä"]
    pairs = [Pair(text, text, line) for line, text in enumerate(wanted, start=1)]
    test = EvaluationSet("test set", (), len(pairs))
    outputs = [wanted[0], "eins zwei drei fünf", "une paire de choses", ""]  # the second has 15 letters of 19
    found = report_on(model, pairs, test, outputs, Effort(explained=0))
    assert found.editing == Editing(1, 1, 2)
    assert "Of 4 sentences you would leave 1, edit 1 and retype 2." in str(found)


def test_words_and_numbers_are_not_edited(report: Report) -> None:
    assert report.editing is None
    assert " examples " in report.test.described


def test_labels_are_right_in_their_place() -> None:
    assert labels_right("B-x O O", "B-x O B-x") == pytest.approx(200 / 3)
    assert labels_right("B-x", "B-x O") == 50
