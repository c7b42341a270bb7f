"""Models in columns: paired tests against the first, settings that differ, and sentence by sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.data.pair import Pair
from dragoman.errors import UsageError
from dragoman.inference.model import Model
from dragoman.metrics.names import USUAL
from dragoman.metrics.significance import compare as paired_tests
from dragoman.reports.compare import compare_on
from dragoman.reports.measured_on import measured_on
from dragoman.reports.report import ComparedSentence, Comparison, EvaluationSet
from dragoman.tasks.load import TaskModel, load, settings_of
from dragoman.tasks.tag import Tag
from reports.test_page import checked
from support.hostile_strings import HOSTILE
from support.tiny_bundle import RNN, saved, tiny, tiny_folder, tiny_lm


@pytest.fixture(scope="module")
def compared(model: Model) -> Comparison:
    """The model beside one whose outputs are the references, but for the first."""
    pairs, test, outputs = measured_on(model, ())
    assert outputs is not None
    return compare_on([model, model], pairs, test, [outputs, [outputs[0], *(pair.tgt for pair in pairs[1:])]])


def test_differences_are_those_of_the_paired_test(compared: Comparison, model: Model) -> None:
    pairs, _, outputs = measured_on(model, ())
    assert outputs is not None
    wanted = [pair.tgt for pair in pairs]
    (row,) = paired_tests([outputs[0], *wanted[1:]], outputs, wanted, metrics=["chrf"])
    (found,) = [one for one in compared.contrasts if one.metric == "chrf"]
    assert (found.difference, found.p_value) == (row.system - row.baseline, row.p_value)
    better = {one.metric for one in compared.contrasts if one.is_better}
    assert better >= {"chrf", "exact_match", "wer", "cer"}, "an error rate is better when lower"
    main_metric = [one for one in compared.contrasts if one.interval]
    assert [one.metric for one in main_metric] == ["exact_match"]
    assert " is better than " in compared.verdict


def test_sentences_are_those_that_differ(compared: Comparison) -> None:
    assert 1 not in [one.line for one in compared.sentences]
    assert [one.spread for one in compared.sentences] == sorted(
        (one.spread for one in compared.sentences), reverse=True
    )
    assert all(one.scores[1] == 100 for one in compared.sentences)
    assert [system.name for system in compared.systems] == ["run (1)", "run (2)"]


def test_it_is_a_page_a_text_and_plain_data(compared: Comparison, tmp_path: Path) -> None:
    page = compared.html()
    found = checked(page)
    assert compared.verdict.replace(" %", "\u00a0%") in found.text
    assert 'id="sentences"' in page
    assert "paired bootstrap" in found.text
    told = json.loads(json.dumps(compared.asdict(), allow_nan=False))
    assert len(told["systems"]) == 2
    assert "difference" in str(compared)
    checked(compared._repr_html_())


def test_hostile_strings_are_only_text(compared: Comparison) -> None:
    sentences = tuple(
        ComparedSentence(n, one, one, (one, f"{one} x"), (1.0, 2.0)) for n, one in enumerate(HOSTILE, 1)
    )
    systems = tuple(replace(one, name=HOSTILE[n]) for n, one in enumerate(compared.systems))
    settings = {one: (one, one) for one in HOSTILE}
    checked(replace(compared, sentences=sentences, systems=systems, settings=settings).html())


def test_the_verb_compares_folders(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tiny_folder(tmp_path / "other", part=RNN)
    (tmp_path / "test.tsv").write_text("cat\ttac\na b c\tc b a\n", encoding="utf-8")
    files = [str(run), str(other), str(tmp_path / "test.tsv")]
    assert main(["show", *files, "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    checked(page)
    assert "model.encoder.kind" in page
    assert "other against run" in page
    assert main(["show", *files]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("other scores the same as run: chrF 0.0.")
    assert "Next: dragoman show" in err


@pytest.mark.parametrize("is_first", [True, False])
def test_all_models_are_measured_without_capitals_if_one_has_none(tmp_path: Path, is_first: bool) -> None:
    bundle = tiny()
    small = bundle.config.text.model_copy(update={"lowercase": True})
    other = replace(bundle, config=bundle.config.model_copy(update={"text": small}))
    models = [load(saved(tmp_path / name, one)) for name, one in (("cased", bundle), ("small", other))]
    pairs = [Pair("a b", "A b c d", 1), Pair("c d", "C d e f", 2)]
    outputs = [["A b c d", "C d e f"], ["a b c d", "c d e"]]
    order = slice(None, None, -1 if is_first else 1)
    found = compare_on(models[order], pairs, EvaluationSet("test set", (), 2), outputs[order])
    first, second = ({one.metric: one.value for one in system.scores} for system in found.systems)
    assert {one.metric: one.difference for one in found.contrasts} == pytest.approx(
        {metric: second[metric] - first[metric] for metric in first}
    )
    assert {first["exact_match"], second["exact_match"]} == {50.0, 100.0}


def test_models_of_two_tasks_are_measured_by_the_metrics_of_the_first(tmp_path: Path) -> None:
    model = load(tiny_folder(tmp_path / "model"))
    assert isinstance(model, Model)
    tagger = TaskModel(model.folder, settings_of(model.folder), Tag(settings_of(model.folder)), lambda _: [])
    pairs = [Pair("a b", "O B-X", 1), Pair("c d", "B-X O", 2)]
    outputs = [["O B-X", "B-X O"], ["O B-X", "O O"]]
    found = compare_on([model, tagger], pairs, EvaluationSet("test set", (), 2), outputs)
    assert [[one.metric for one in system.scores] for system in found.systems] == [[*USUAL]] * 2
    assert "model (2) is " in found.verdict
    checked(found.html())


def test_the_python_functions(run: Path) -> None:
    found = dragoman.compare([run, run])
    assert found.sentences == ()
    assert " scores the same as " in found.verdict
    assert dragoman.report(run).test == found.test
    with pytest.raises(UsageError, match="models"):
        dragoman.compare([run])


def test_language_models_are_refused(tmp_path: Path) -> None:
    model = load(saved(tmp_path / "lm", tiny_lm()))
    (tmp_path / "test.txt").write_text("a b c\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no answers that could be compared"):
        dragoman.compare([model, model], tmp_path / "test.txt")
