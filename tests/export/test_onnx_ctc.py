"""An ONNX export of a model that transcribes reads what PyTorch reads, from every kind of source."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

pytest.importorskip("onnxscript", reason='pip install "dragoman[onnx-export]"')

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import validate
from dragoman.config.search import SearchConfig
from dragoman.export.onnx.networks import write_network
from dragoman.export.probe_inputs import signals
from dragoman.export.verify_answers import compare
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inference.runtimes.exports import ExportParts
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.heads.ctc import CTCHead
from dragoman.tasks import answerers, exported
from dragoman.tasks.load import TaskModel
from dragoman.text.build import learn
from support.pairs import ENCODERS
from support.signals import write_pictures, write_series, write_tones
from support.tiny_bundle import saved
from support.without_torch import run_without_torch

DRAW = random.Random(1)
TEXTS = ["".join(DRAW.choices("abcdef", k=DRAW.randint(1, 9))) for _ in range(60)]
RNN = {"kind": "rnn", "layers": 1, "width": 12, "embedding": 12}
POOLED = {"kind": "conv-pool", "channels": [4, 5, 6], "halvings": 2}
STRIDED = {"kind": "conv-stride", "channels": [4, 5], "halvings": 2}
SOURCES: dict[str, Any] = {
    "picture": (write_pictures, {"kind": "picture", "height": 16}, POOLED),
    "sound": (write_tones, {"kind": "sound", "sample_rate": 8000, "mels": 15}, STRIDED),
    "numbers": (write_series, {"kind": "numbers", "features": 3}, {"kind": "projection"}),
}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "picture": ("picture", RNN, {"kind": "ctc"}),
    "sound": ("sound", RNN, {"kind": "ctc"}),
    "numbers": ("numbers", ENCODERS["bilstm"], {"kind": "ctc", "split": 2}),
    "letters": ("text", RNN, {"kind": "ctc", "split": 3}),
    "picture, transformer": ("picture", ENCODERS["transformer"], {"kind": "ctc"}),
    "sound, relative window": ("sound", ENCODERS["relative window"], {"kind": "ctc"}),
    "sound, conv": ("sound", ENCODERS["conv"], {"kind": "ctc"}),
    "letters, rotary": ("text", ENCODERS["rotary"], {"kind": "ctc"}),
}


@pytest.fixture(autouse=True, scope="module")
def unchecked() -> Iterator[None]:
    """A size that is free in a graph is no int, which the checks of shapes ask for."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def bundle_of(name: str, folder: Path) -> Bundle:
    """A model with random weights that reads a label now and then, and its data."""
    kind, encoder, head = CASES[name]
    if kind == "text":
        file, more = folder / "train.tsv", {}
        file.write_text("".join(f"{text}\t{text[::-1]}\n" for text in TEXTS), encoding="utf-8")
        data: dict[str, Any] = {}
    else:
        write, source, frames = SOURCES[kind]
        file, data, more = write(folder, TEXTS), {"source": source}, {"src_embedding": frames}
    config = validate(
        {
            "task": "transcribe",
            "data": {"train": [{"files": [str(file)]}], **data},
            "model": {"encoder": encoder, "head": head, **more},
        }
    )
    text = learn(config.text, [(text, text) for text in TEXTS])
    built, noise = new_model(config, text).eval(), torch.Generator().manual_seed(3)
    assert isinstance(built.head, CTCHead)
    with torch.no_grad():
        for p in built.parameters():
            p.mul_(2.0).add_(torch.randn(p.shape, generator=noise), alpha=0.3)
        built.head.output.bias[-1] += 1.0  # the blank
    return Bundle(config, text, built)


def assert_same(bundle: Bundle, folder: Path) -> None:
    """The model reads the same as the export in a folder, alone and in batches."""
    parts = ExportParts(folder, Path.read_bytes, bundle.config, bundle.text, None)
    ours, theirs = answerers.build_answerer(bundle), exported.build_answerer(parts, "cpu")
    assert isinstance(ours, CTCRuntime)
    assert isinstance(theirs, CTCRuntime)
    rows, _ = signals(bundle)
    assert len(rows) >= 50
    for search in (SearchConfig(kind="greedy"), SearchConfig(size=4, n_best=3)):
        wanted = ours.transcribe(rows, search)
        alone = [theirs.transcribe([row], search)[0] for row in rows[:20]]
        for found, expected in ((theirs.transcribe(rows, search), wanted), (alone, wanted[:20])):
            agreement = compare(expected, found)
            assert agreement.same == len(expected)
            assert agreement.worst < 1e-4
            assert [[c[:3] for c in one.characters] for one in found] == [
                [c[:3] for c in one.characters] for one in expected
            ]
    assert len({one.text for one in wanted}) > 4


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "picture"])
def test_every_source_and_encoder_is_read_as_by_torch(name: str, tmp_path: Path) -> None:
    bundle = bundle_of(name, tmp_path)
    write_network(bundle.model, bundle.config, tmp_path)
    assert_same(bundle, tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that holds its export, of pictures."""
    made = tmp_path_factory.mktemp("pictures")
    saved(made / "model", bundle_of("picture", made))
    assert main(["export", str(made / "model"), "--to", "onnx"]) == 0
    return made / "model"


def test_pictures_are_read_as_by_torch(folder: Path) -> None:
    assert_same(load_bundle(folder), folder / "onnx")


def test_pictures_are_read_without_torch(folder: Path) -> None:
    files = sorted(str(file) for file in (folder.parent / "train").glob("*.png"))
    model = dragoman.load(folder, runtime="torch")
    assert isinstance(model, TaskModel)
    wanted = [answer.text for answer in model(files)]
    assert run_without_torch("run", str(folder / "onnx"), *files).splitlines() == wanted
    found = json.loads(run_without_torch("run", str(folder), files[3], "--json", "--nbest", "2"))
    assert [c["text"] for c in found["characters"]] == list(found["text"])
    report = json.loads(run_without_torch("score", str(folder), str(folder.parent / "train.tsv"), "--json"))
    assert report["sentences"] == len(TEXTS)
    aligned = model.answerer.align(files[:1], ["ab"])[0]
    again = dragoman.load(folder).answerer.align(files[:1], ["ab"])[0]  # type: ignore[union-attr]
    assert [(c.start, c.end) for c in again] == [(c.start, c.end) for c in aligned]


def test_random_frames_stand_in_for_data_that_is_gone(folder: Path) -> None:
    bundle = bundle_of("picture", folder.parent)
    gone = bundle.config.data.model_copy(update={"train": ()})
    rows, origin = signals(Bundle(bundle.config.model_copy(update={"data": gone}), bundle.text, bundle.model))
    assert origin == "of random frames"
    assert {row.dtype for row in map(np.asarray, rows)} == {np.dtype(np.uint8)}


def test_a_decoder_beside_ctc_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.tsv"
    file.write_text("ab\tba\n", encoding="utf-8")
    config = validate(
        {
            "task": "transcribe",
            "data": {"train": [{"files": [str(file)]}]},
            "model": {"encoder": RNN, "decoder": RNN, "head": {"kind": "ctc-attention"}, "tied": "none"},
        }
    )
    text = learn(config.text, [("ab", "ba")])
    saved(tmp_path / "model", Bundle(config, text, new_model(config, text)))
    assert main(["export", str(tmp_path / "model"), "--to", "onnx"]) == 1
    assert "ctc-attention head (its decoder ranks what CTC reads" in capsys.readouterr().err
    assert not (tmp_path / "model" / "onnx").exists()
