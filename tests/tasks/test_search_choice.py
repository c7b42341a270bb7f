"""The engine's beam is the default; a model gets the careful one if the beam scores below greedy search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.models.bundle import load_bundle
from dragoman.tasks.search_choice import MOST_PAIRS, SearchChoice, choose, is_open
from dragoman.training import select_model
from dragoman.training.run import Run
from dragoman.training.validation_outputs import read_outputs
from support.runs import TRANSFORMER, settings, write_words

WORDS = ["one two", "three", "four five six"]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load(None, base=settings(tmp_path, TRANSFORMER))


def test_a_tie_leaves_the_beam_of_the_engine(config: Config) -> None:
    worse = ["one two", "three", "four"]
    assert not choose(config, WORDS, WORDS, WORDS).is_careful
    assert not choose(config, WORDS, worse, WORDS).is_careful
    assert choose(config, WORDS, WORDS, worse).is_careful
    assert not SearchChoice(3, "cer", greedy=9.0, beam=8.0).is_careful, "fewer errors are better"


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({}, True),
        ({"stop": "heuristic"}, False),
        ({"stop": "all"}, False),
        ({"size": 1}, False),
        ({"kind": "greedy"}, False),
    ],
    ids=str,
)
def test_only_a_beam_that_nobody_set_is_chosen(
    config: Config, search: dict[str, object], expected: bool
) -> None:
    assert is_open(config.model_copy(update={"search": config.search.model_copy(update=search)})) is expected


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, beam: float) -> tuple[Path, SearchChoice]:
    """Train for a few updates, where the beam is said to score `beam` and greedy search 50."""
    write_words(tmp_path)
    monkeypatch.setattr(
        select_model, "choose", lambda _, pairs, *__: SearchChoice(len(pairs), "chrf", 50.0, beam)
    )
    out = tmp_path / "run"
    Run(load(None, base=settings(tmp_path, TRANSFORMER)), out, [], lambda _: True).train()
    events = [json.loads(line) for line in (out / "events.jsonl").read_text("utf-8").splitlines()]
    return out, SearchChoice(**events[-1]["search"])


@pytest.mark.parametrize(("beam", "stop"), [(50.0, "n_best"), (49.9, "heuristic")])
def test_the_end_of_training_chooses(
    beam: float,
    stop: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, choice = run(tmp_path, monkeypatch, beam=beam)
    found = read_outputs(out)
    assert found
    pairs, outputs = found
    assert choice.pairs == len(pairs) == len(outputs) > 100
    assert choice.pairs <= MOST_PAIRS
    model = dragoman.load(out)
    assert model.runtime.search.stop == stop
    assert [result.text for result in model([pair.src for pair in pairs])] == outputs
    assert choice.sentence in (out / "model" / "card.md").read_text("utf-8")
    assert main(["info", str(out)]) == 0
    said = capsys.readouterr().out
    assert choice.sentence in said
    assert ("careful beam of 5" in said) == (stop == "heuristic")


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_a_search_that_was_set_is_calibrated_on_more_pairs_than_are_decoded_on_the_way(
    search: str, tmp_path: Path
) -> None:
    write_words(tmp_path)
    base = {**settings(tmp_path, TRANSFORMER), "search": {"kind": search, "stop": "all"}}
    out = tmp_path / "run"
    Run(load(None, base=base), out, [], lambda _: True).train()
    found, calibration = read_outputs(out), load_bundle(out / "model").calibration
    assert found
    assert calibration
    assert len(found[0]) == len(found[1]) == calibration.sentences > 100


def test_an_export_chooses_again_while_the_validation_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(tmp_path, monkeypatch, beam=50.0)
    again = SearchChoice(3, "chrf", 50.0, 49.0)
    monkeypatch.setattr("dragoman.export.chosen_search.choose", lambda *_: again)
    assert main(["export", str(out), "--to", "ct2"]) == 0
    assert again.sentence in capsys.readouterr().out
    assert dragoman.load(out, runtime="ct2").runtime.search.stop == "heuristic"
    (tmp_path / "valid.tsv").unlink()
    assert main(["export", str(out), "--to", "ct2"]) == 0
    assert "as chosen for the model" in capsys.readouterr().out
    assert dragoman.load(out, runtime="ct2").runtime.search.stop == "n_best"
