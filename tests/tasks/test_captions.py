"""Captions: pictures described by an encoder over frames and a decoder with attention, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.exportable import reasons
from dragoman.config.load import load, validate
from dragoman.errors import UsageError
from dragoman.inference.model import load as load_translation
from dragoman.tasks.load import TaskModel
from dragoman.training.run import Run
from support.signals import write_pictures

# Each letter of a picture has a name, so that a caption is neither as long as its source nor in its letters.
NAMES = {"a": "one", "b": "two", "c": "many", "d": "dogs", "e": "birds"}
PICTURES = [first + second for first in "abc" for second in "de"]


def caption(letters: str) -> str:
    return " ".join(NAMES[letter] for letter in letters)


def write(folder: Path, name: str) -> None:
    """Write pictures of two letters, and the list of them with captions instead of the letters."""
    file = write_pictures(folder, PICTURES, name=name)
    paths = [line.partition("\t")[0] for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    lines = [f"{path}\t{caption(letters)}\n" for path, letters in zip(paths, PICTURES, strict=True)]
    file.write_text("".join(lines), encoding="utf-8")


def settings(folder: Path) -> dict[str, Any]:
    return {
        "data": {
            "train": [{"files": [str(folder / "train.tsv")]}],
            "valid": {"files": [str(folder / "valid.tsv")]},
            "source": {"kind": "picture", "height": 16},
        },
        "text": {"kind": "word"},
        "model": {
            "encoder": {"kind": "rnn", "layers": 1, "width": 16, "embedding": 16, "dropout": 0.0},
            "decoder": {"kind": "rnn", "layers": 1, "width": 32, "embedding": 32, "dropout": 0.0},
            "src_embedding": {"channels": [8, 8], "halvings": 1},
        },
        "training": {
            "updates": 60,
            "batch_tokens": 200,
            "threads": 1,
            "lr": 0.01,
            "warmup": 4,
            "checkpoint_every": 30,
            "validate_every": 30,
            "precision": "fp32",
        },
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captions")
    for name in ("train", "valid"):
        write(folder, name)
    config = load(None, base=settings(folder))
    assert Run(config, folder / "run", [], lambda _: True).train().reason == "done"
    return folder


def test_the_pictures_are_learned_and_scored(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(home / "run"), str(home / "train.tsv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact_match"] == 100
    assert dragoman.score(home / "run", home / "train.tsv").scores["exact_match"].value == 100
    report = dragoman.report(home / "run", home / "train.tsv")
    assert (report.scores[0].metric, report.scores[0].value) == ("chrf", 100), "captions of a word or two"
    assert report.explained[0].explanation.attention


def test_pictures_are_run_by_their_names(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = [str(home / "train" / f"{number}.png") for number in (5, 0)]
    assert main(["run", str(home / "run"), *pictures]) == 0
    assert capsys.readouterr().out == "many birds\none dogs\n"
    assert main(["run", str(home / "run"), pictures[0], "--json", "--details", "search.size=2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["flags"] == []
    assert [token["piece"] for token in answer["tokens"]] == ["many", "birds", "</s>"]
    assert main(["run", str(home / "run"), pictures[0], "--forbid", "many"]) == 0
    assert "many" not in capsys.readouterr().out
    sampled = ["--sample", "temperature=5,seed=1"]
    assert main(["run", str(home / "run"), *pictures, *sampled]) == 0
    both = capsys.readouterr().out
    for picture in pictures:  # a draw depends on the picture, not on the others
        assert main(["run", str(home / "run"), picture, *sampled]) == 0
    assert capsys.readouterr().out == both
    assert main(["check", str(home / "run")]) == 0
    assert f"Next: dragoman run {home / 'run'} FILE.png" in capsys.readouterr().err


def test_one_picture_has_the_same_caption_alone_and_in_a_batch(home: Path) -> None:
    model = dragoman.load(home / "run")
    assert isinstance(model, TaskModel)
    files = sorted(str(file) for file in (home / "valid").iterdir())
    together = model([*files, ""])
    assert [model(file) for file in files] == together[:-1]
    assert together[-1].text == ""


def test_a_picture_that_cannot_be_read_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = home / "broken.png"
    broken.write_bytes(b"no picture")
    assert main(["run", str(home / "run"), str(broken)]) == 3
    assert "broken.png" in capsys.readouterr().err


def test_what_compares_texts_refuses_pictures(home: Path) -> None:
    with pytest.raises(UsageError, match="models that translate text only"):
        load_translation(home / "run")


def test_no_engine_but_pytorch_runs_it(home: Path) -> None:
    model = validate(settings(home)).model
    assert all("it runs with PyTorch" in reasons(model, target)[0] for target in ("ct2", "onnx"))
