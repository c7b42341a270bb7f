"""A report is plain data: the scores of `score`, baselines, sentences, and what the run was made of."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.errors import UsageError
from dragoman.inference.model import Model
from dragoman.inspection.data import Curve
from dragoman.reports.answered import labels_right
from dragoman.reports.data import Gain, Score
from dragoman.reports.gather import Effort, report_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.report import Report
from dragoman.reports.verdict import learning, verdict
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
    assert "Report: run-again/report.html. Not clearly better" in capsys.readouterr().err
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


def test_a_language_model_is_measured_by_its_text(tmp_path: Path) -> None:
    model = load(saved(tmp_path / "lm", tiny_lm()))
    (tmp_path / "test.txt").write_text("a b c\nd e f g\n", encoding="utf-8")
    found = report_on(model, *measured_on(model, [tmp_path / "test.txt"]))
    assert found.scores[0].metric == "perplexity"
    assert found.verdict.startswith("perplexity ")
    assert [one.source for one in found.sentences] in (["a b c", "d e f g"], ["d e f g", "a b c"])
    assert 'id="inside"' in found.html()


@pytest.mark.parametrize(
    ("difference", "interval", "expected"),
    [
        (23.1, (21.9, 24.3), "Better than copying the source by 23.1 BLEU (95 % interval 21.9–24.3)."),
        (-2.0, (-3.0, -1.0), "Worse than copying the source by 2.0 BLEU (95 % interval 1.0–3.0)."),
        (
            0.3,
            (-0.5, 1.1),
            "Not clearly better than copying the source: +0.3 BLEU (95 % interval −0.5 to +1.1).",
        ),
    ],
)
def test_the_verdict_is_against_the_strongest_baseline(
    difference: float, interval: tuple[float, float], expected: str
) -> None:
    weak = Gain("bleu", "BLEU", "nearest training pair", 90.0, (80.0, 99.0))
    strong = replace(weak, baseline="copy of the source", difference=difference, interval=interval)
    assert verdict([], [weak, strong], None) == expected


def test_without_a_baseline_the_verdict_is_the_score() -> None:
    cer = Score("cer", "CER", 4.2, (3.1, 5.3), "%", True)
    assert verdict([cer], [], None) == "CER 4.20 % (95 % interval 3.10–5.30)."


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([4, 3, 2, 1.5, 1], "with a validation loss that was still falling"),
        ([4, 2, 1, 1, 1], "with a validation loss that no longer fell"),
        ([4, 1, 2, 2, 2], "with a validation loss that rose after update 200 of 500"),
        ([4, 1], ""),
    ],
)
def test_the_verdict_says_whether_it_still_learns(losses: list[float], expected: str) -> None:
    points = tuple((100.0 * n, loss) for n, loss in enumerate(losses, start=1))
    assert learning(Curve("validation", points)) == expected


def test_labels_are_right_in_their_place() -> None:
    assert labels_right("B-x O O", "B-x O B-x") == pytest.approx(200 / 3)
    assert labels_right("B-x", "B-x O") == 50
