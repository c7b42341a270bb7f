"""Transcription of pictures, sounds and numbers, end to end: trained, resumed, saved, run and scored."""

import json
import os
import random
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.config.load import load
from dragoman.errors import DataError
from dragoman.tasks.load import TaskModel
from dragoman.training.run import Run
from support import runs
from support.runs import ROUNDING, losses, record
from support.signals import write_pictures, write_series, write_tones

SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "picture": (write_pictures, {"kind": "picture", "height": 16}),
    "sound": (write_tones, {"kind": "sound", "sample_rate": 8000, "mels": 16}),
    "numbers": (write_series, {"kind": "numbers", "features": 3}),
}


READERS: dict[str, dict[str, Any]] = {
    "rnn": {"kind": "rnn", "layers": 1, "width": 24, "embedding": 24, "dropout": 0.1},
    "transformer": {"kind": "transformer", "layers": 1, "width": 24, "heads": 2, "ffn": 32, "dropout": 0.1},
    "conv": {"kind": "conv", "layers": 2, "width": 24, "embedding": 24, "dropout": 0.1},
}


def texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdef", k=draw.randint(2, 6))) for _ in range(count)]


def settings(folder: Path, kind: str, reader: str = "rnn", **training: Any) -> dict[str, Any]:
    write, source = SOURCES[kind]
    train, valid = (
        write(folder, texts(count, count), name=name) for name, count in (("train", 200), ("valid", 20))
    )
    halvings = {} if kind == "numbers" else {"channels": [8, 8], "halvings": 1}
    return {
        "task": "transcribe",
        "data": {"train": [{"files": [str(train)]}], "valid": {"files": [str(valid)]}, "source": source},
        "model": {
            "encoder": READERS[reader],
            "src_embedding": halvings,
        },
        "training": {
            "updates": 8,
            "batch_tokens": 400,
            "threads": 1,
            "lr": 0.01,
            "warmup": 4,
            "checkpoint_every": 4,
            "validate_every": 8,
            "valid_decode": 5,
            "precision": "fp32",
            **training,
        },
    }


def train(tables: dict[str, Any], out: Path, *listeners: Any) -> str:
    return Run(load(None, base=tables), out, list(listeners), lambda _: True).train().reason


@pytest.mark.slow
def test_pictures_are_learned_and_the_commands_run_the_model(tmp_path: Path, dragoman: list[str]) -> None:
    longer = {"updates": 300, "batch_tokens": 1000, "checkpoint_every": 100, "validate_every": 100}
    train(settings(tmp_path, "picture", **longer), tmp_path / "run")
    pictures = [str(tmp_path / "valid" / f"{n}.png") for n in range(3)]

    def command(*arguments: str) -> str:
        done = subprocess.run([*dragoman, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert (
        json.loads(command("score", str(tmp_path / "run"), str(tmp_path / "valid.tsv"), "--json"))["cer"] < 10
    )
    report = json.loads(command("show", str(tmp_path / "run"), str(tmp_path / "valid.tsv"), "--json"))
    assert "held-out examples" in report["verdict"]
    assert report["explained"][0]["explanation"]["ctc"]
    (tmp_path / "list.txt").write_text("".join(f"{picture}\n" for picture in pictures), encoding="utf-8")
    lines = command("run", str(tmp_path / "run"), "--file", str(tmp_path / "list.txt"), "--json").split("\n")
    found = [json.loads(line) for line in lines if line]
    assert [one["source"] for one in found] == pictures
    assert all(len(one["characters"]) == len(one["text"]) for one in found)


@pytest.mark.parametrize(
    ("kind", "reader"),
    [
        ("picture", "rnn"),
        pytest.param("picture", "transformer", marks=pytest.mark.slow),
        pytest.param("picture", "conv", marks=pytest.mark.slow),
        pytest.param("sound", "rnn", marks=pytest.mark.slow),
        pytest.param("numbers", "rnn", marks=pytest.mark.slow),
    ],
)
def test_resumed_equals_uninterrupted_and_one_equals_a_batch(tmp_path: Path, kind: str, reader: str) -> None:
    tables = settings(tmp_path, kind, reader)

    def stop(event: Any) -> None:
        if event["event"] == "step" and event["step"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    assert train(tables, tmp_path / "whole") == "done"
    assert train(tables, tmp_path / "halved", stop) == "asked"
    assert train(tables, tmp_path / "halved") == "done"
    assert record(tmp_path / "halved") == record(tmp_path / "whole")
    model = dragoman.load(tmp_path / "whole")
    assert isinstance(model, TaskModel)
    files = sorted(str(file) for file in (tmp_path / "valid").iterdir())[:6]
    assert [model(file) for file in files] == model(files)


@pytest.mark.slow
def test_two_ranks_have_the_losses_of_one(tmp_path: Path) -> None:
    for ranks in (1, 2):
        runs.train(settings(tmp_path, "picture", micro_batches=2 // ranks), tmp_path / str(ranks), ranks)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=ROUNDING)


def test_a_text_that_is_too_long_for_its_picture_is_refused_by_its_line(tmp_path: Path) -> None:
    tables = settings(tmp_path, "picture")
    file = tmp_path / "train.tsv"
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[6] = lines[6].partition("\t")[0] + "\t" + "ab" * 100
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match="The target needs 200 frames") as error:
        train(tables, tmp_path / "run")
    assert error.value.where.endswith("train.tsv:7")
    tables["data"]["skip_bad"] = True
    assert train(tables, tmp_path / "run") == "done"
