"""An ONNX export of a tagger or a classifier answers as PyTorch does, alone and in batches, without torch."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch

pytest.importorskip("onnxscript", reason='pip install "dragoman[onnx-export]"')

import onnx

import dragoman
from dragoman.cli.main import main
from dragoman.config.load import validate
from dragoman.errors import ModelError
from dragoman.export.onnx.networks import write_network
from dragoman.export.verify_answers import compare, prove_answers
from dragoman.inference.runtimes.exports import ExportParts, open_parts
from dragoman.inference.runtimes.onnx_file import NETWORK
from dragoman.inference.runtimes.runtime import RuntimeName
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.tasks import answerers, exported
from dragoman.tasks.examples import build_examples
from dragoman.tasks.load import TaskModel, settings_of
from dragoman.tasks.task import Answerer
from dragoman.text.build import learn
from support.tiny_bundle import saved
from support.without_torch import run_without_torch
from tasks.test_words_battery import NUMBERS, SETTINGS

# These are tried each time, all others when there is time: a graph takes seconds to trace.
QUICK = ("label 0", "crf and label")
DRAW = random.Random(4)
TAGS = ["O", "B-a", "I-a", "B-b", "I-b"]
LABELS = ["Travel", "Weather", "Music", "Home", "Other"]


def drawn(count: int, words: list[str]) -> list[str]:
    return [" ".join(DRAW.choices(words, k=DRAW.randint(1, 8))) for _ in range(count)]


TRAIN = drawn(40, NUMBERS)
LINES = ["", "Xyzzy", "ein Wort außerhalb", *drawn(60, [*NUMBERS, "Quux"])]


@pytest.fixture(autouse=True, scope="module")
def unchecked() -> Iterator[None]:
    """A size that is free in a graph is no int, which the checks of shapes ask for."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def files_of(name: str, folder: Path) -> list[str]:
    """Write words, tags and labels, as many of them as the model reads."""
    head = SETTINGS[name]["model"].get("head", {})
    is_tagger = SETTINGS[name]["task"] == "tag"
    sides = {"words": TRAIN}
    if is_tagger:
        sides["tags"] = [" ".join(TAGS[len(word) % 5] for word in line.split()) for line in TRAIN]
    if not is_tagger or head.get("label"):
        sides["labels"] = [LABELS[len(line) % 5] for line in TRAIN]
    for side, lines in sides.items():
        (folder / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(folder / side) for side in sides]


def lively(name: str, folder: Path) -> Bundle:
    """A model whose answers depend on its inputs."""
    config = validate({**SETTINGS[name], "data": {"train": [files_of(name, folder)]}})
    pairs = build_examples(config).read(config.data.train[0].files, None, None)
    text = learn(config.text, ((pair.src, pair.tgt) for pair in pairs))
    built, noise = new_model(config, text).eval(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in built.parameters():
            p.mul_(2.0).add_(torch.randn(p.shape, generator=noise), alpha=0.3)
    return Bundle(config, text, built)


def both(bundle: Bundle, folder: Path) -> tuple[Answerer, Answerer]:
    """The model, and the export that is written to a folder."""
    write_network(bundle.model, bundle.config, folder)
    parts = ExportParts(folder, Path.read_bytes, bundle.config, bundle.text, None)
    return answerers.build_answerer(bundle), exported.build_answerer(parts, "cpu")


def rounded(answers: Sequence[Any]) -> list[Any]:
    """Everything but the digits that two engines may compute differently."""
    return [json.loads(json.dumps(a.asdict()), parse_float=lambda x: "p") for a in answers]


def assert_same(ours: Answerer, theirs: Answerer) -> None:
    wanted = ours(LINES)
    for found in (theirs(LINES), [theirs([line])[0] for line in LINES], theirs(LINES[::-1])[::-1]):
        agreement = compare(wanted, found)
        assert agreement.same == agreement.sentences == len(LINES)
        assert agreement.worst < 1e-4
        assert rounded(found) == rounded(wanted)
    assert len({answer.text for answer in wanted}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in QUICK])
def test_answers_of_every_kind_are_those_of_torch(name: str, tmp_path: Path) -> None:
    assert_same(*both(lively(name, tmp_path), tmp_path))


@pytest.fixture(scope="module", params=QUICK)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that holds its export, and its test set beside it."""
    made = tmp_path_factory.mktemp("run")
    saved(made / "model", lively(request.param, made))
    assert main(["export", str(made / "model"), "--to", "onnx"]) == 0
    return made / "model"


def answerer(folder: Path, runtime: RuntimeName | None = None) -> Answerer:
    model = dragoman.load(folder, runtime=runtime)
    assert isinstance(model, TaskModel)
    return model.answerer


def test_answers_are_those_of_torch_alone_and_in_batches(folder: Path) -> None:
    ours, theirs = answerer(folder, "torch"), answerer(folder)
    assert_same(ours, theirs)
    long = [" ".join(DRAW.choices(NUMBERS, k=length)) for length in (30, 1, 64, 9)]
    assert compare(ours(long), theirs(long)).same == len(long)


def test_one_spoilt_weight_is_found(folder: Path, tmp_path: Path) -> None:
    bundle, graph = load_bundle(folder), onnx.load(folder / "onnx" / NETWORK)
    weight = max(graph.graph.initializer, key=lambda x: len(x.raw_data) if x.data_type == 1 else 0)
    raw = bytearray(weight.raw_data)
    raw[len(raw) // 8 * 4 + 3] ^= 0x40  # the exponent of one number
    weight.raw_data = bytes(raw)
    onnx.save(graph, tmp_path / NETWORK)
    parts = ExportParts(tmp_path, Path.read_bytes, bundle.config, bundle.text, None)
    spoilt = exported.build_answerer(parts, "cpu")
    with pytest.raises(ModelError, match="does not match the model"):
        prove_answers(bundle, answerers.build_answerer(bundle), spoilt, tmp_path)


def test_the_folder_runs_without_torch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in LINES if line]
    wanted = [answer.text for answer in answerer(folder, "torch")(lines)]
    assert run_without_torch("run", str(folder), *lines).splitlines() == wanted
    alone = json.loads(run_without_torch("run", str(folder / "onnx"), lines[4], "--json"))
    assert alone["text"] == wanted[4]
    files = settings_of(folder).data.train[0].files
    report = json.loads(run_without_torch("score", str(folder), *files, "--json"))
    capsys.readouterr()
    assert main(["score", str(folder), *files, "--json", "--runtime", "torch"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert report.pop("calibration_error") == pytest.approx(expected.pop("calibration_error"), abs=1e-3)
    assert report == expected


def test_the_folder_is_whole_and_its_graph_is_checked(folder: Path) -> None:
    assert main(["check", str(folder)]) == 0
    proof = json.loads((folder / "onnx" / "proof.json").read_text())["float32"]["searches"]["answers"]
    assert proof["same"] == proof["sentences"] > 40
    assert proof["worst"] < 1e-4
    parts, _ = open_parts(folder, "onnx")
    other = parts._replace(config=parts.config.model_copy(update={"task": "transcribe"}))
    with pytest.raises(ModelError, match=r"network\.onnx is not as dragoman export writes it"):
        exported.build_answerer(other, "cpu")
