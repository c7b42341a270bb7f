"""What the guard may cut is learned from the references of a task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.inference.model import load

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SETTINGS = [
    "text.kind=char",
    "model.preset=transformer-tiny",
    "model.encoder.width=32",
    "model.decoder.width=32",
    "training.updates=1",
    "training.threads=1",
    "training.valid_decode=8",
    "training.report=false",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An update on digits and their names: the bounds are those of the task, whatever was learned."""
    home = tmp_path_factory.mktemp("digits")
    rows = [f"{n}\t{' '.join(DIGITS[int(digit)] for digit in str(n))}\n" for n in range(100_000, 100_300)]
    (home / "train.tsv").write_text("".join(rows[:250]), encoding="utf-8")
    (home / "valid.tsv").write_text("".join(rows[250:258]), encoding="utf-8")
    data = [str(home / "train.tsv"), "--valid", str(home / "valid.tsv")]
    assert main(["train", *data, "-o", str(home / "run"), "--yes", *SETTINGS]) == 0
    return home


def test_every_reference_is_short_enough(folder: Path) -> None:
    """Six digits are thirty letters and more: a bound of 3 × source + 20, of a source that is rounded down,
    was 23."""
    model = load(folder / "run", runtime="torch")
    for line in (folder / "valid.tsv").read_text("utf-8").splitlines():
        source, target = line.split("\t")
        read = model.translator.text.src.encode(source)
        written = model.translator.text.tgt.encode(target)
        assert model.translator.checker.longest(model.translator.search, len(read)) > len(written)


def test_score_is_what_validation_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text("utf-8").splitlines()]
    (finished,) = [event for event in events if event["event"] == "finished"]
    assert main(["score", str(folder / "run"), str(folder / "valid.tsv"), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["runtime"] == "torch"
    for metric in ("bleu", "chrf", "exact_match"):
        assert scored[metric] == pytest.approx(finished["valid"][metric], abs=1e-9)
