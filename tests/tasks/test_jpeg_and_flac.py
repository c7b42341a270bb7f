"""JPEG and FLAC, end to end: prepared, trained on, scored, and read by name, by CTC and by captions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import soundfile
from PIL import Image

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import load
from dragoman.training.run import Run
from support.signals import write_pictures, write_tones

TEXTS = ["abc", "ba", "cab", "bc", "acb", "ca", "bac", "ab"]
RNN = {"kind": "rnn", "layers": 1, "width": 16, "embedding": 16, "dropout": 0.0}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "jpg": (write_pictures, {"kind": "picture", "height": 16}),
    "flac": (write_tones, {"kind": "sound", "sample_rate": 8000, "mels": 16}),
}
TASKS: dict[str, dict[str, Any]] = {
    "transcribe": {"model": {"encoder": RNN}},
    "translate": {
        "model": {"encoder": RNN, "decoder": RNN},
        "text": {"kind": "char"},
        "search": {"max_length": 8, "size": 2},
    },
}


def without_loss(file: Path) -> Path:
    """The same picture or sound in the other format."""
    if file.suffix == ".flac":
        samples, rate = soundfile.read(file, dtype="int16")
        soundfile.write(file.with_suffix(".wav"), samples, rate)
        return file.with_suffix(".wav")
    Image.open(file).save(file.with_suffix(".png"))
    return file.with_suffix(".png")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("suffix", KINDS)
def test_a_model_learns_from_them_and_reads_them(
    tmp_path: Path, suffix: str, task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write, source = KINDS[suffix]
    train, valid = (write(tmp_path, TEXTS, name=name, suffix=suffix) for name in ("train", "valid"))
    tables = {
        "task": task,
        "data": {"train": [{"files": [str(train)]}], "valid": {"files": [str(valid)]}, "source": source},
        "training": {"updates": 4, "batch_tokens": 400, "threads": 1, "precision": "fp32"},
        **TASKS[task],
    }
    tables["model"]["src_embedding"] = {"channels": [8, 8], "halvings": 1}
    run = tmp_path / "run"
    assert Run(load(None, base=tables), run, [], lambda _: True).train().reason == "done"
    assert main(["score", str(run), str(valid), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == len(TEXTS)
    file = tmp_path / "valid" / f"0.{suffix}"
    same = without_loss(file)
    assert main(["run", str(run), str(file), str(same), "--json"]) == 0
    captured = capsys.readouterr()
    one, other = (json.loads(line) for line in captured.out.split("\n")[:-1])
    assert "its name is the text" not in captured.err
    assert (one["source"], other["source"]) == (str(file), str(same))
    assert {**one, "source": "", "line": 0} == {**other, "source": "", "line": 0}
    assert dragoman.load(run)(str(file)).text == one["text"]
