"""An ONNX export says what the model says, form by form; or it is refused. ONNX Runtime is the real one."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

pytest.importorskip("onnxscript", reason='pip install "dragoman[onnx-export]"')

import onnx

from dragoman.cli.main import main
from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate_sources
from dragoman.durable import verify_folder
from dragoman.errors import ModelError, UsageError
from dragoman.export.onnx import export as exporting
from dragoman.export.onnx.export import export_onnx
from dragoman.export.onnx.graphs import write
from dragoman.export.probe_sentences import Sentences
from dragoman.export.verify import prove
from dragoman.inference.model import load
from dragoman.inference.runtimes.onnx import OnnxEngine
from dragoman.inference.runtimes.onnx_file import STATE, STEP
from dragoman.models.bundle import Bundle
from dragoman.search.forced import forced
from dragoman.text.specials import EOS
from support.pairs import DECODERS, ENCODERS, PAIRS
from support.tiny_bundle import RNN, tiny, tiny_folder

RANDOM = random.Random(3)
SAMPLES = Sentences([RANDOM.choices(range(4, 20), k=RANDOM.randint(1, 9)) for _ in range(8)], "made up")
ROWS = SAMPLES.rows
# These are tried each time, all other pairs when there is time: a graph takes seconds to trace.
DEEP: dict[str, Any] = {
    "encoder": {**RNN, "width": 12, "layers": 2, "bidirectional": "bottom", "norm": True},
    "decoder": {**RNN, "width": 12, "attention": "additive"},
}
OTHERS = [
    pair
    for pair in PAIRS
    if not any(part["kind"] == "transformer" for part in (ENCODERS[pair[0]], DECODERS[pair[1]]))
]


def lively(model: dict[str, Any]) -> Bundle:
    """Random weights, no two alike, that come to an end now and then."""
    bundle = tiny(model=model)
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in bundle.model.parameters():
            p.mul_(0.5).add_(torch.randn(p.shape, generator=noise), alpha=0.1)
        if hasattr(bundle.model.head, "b"):
            bundle.model.head.b[EOS] += 4.0
    return bundle


@pytest.fixture(autouse=True, scope="module")
def unchecked() -> Iterator[None]:
    """A size that is free in a graph is no int, which the checks of shapes ask for."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def deep() -> Bundle:
    return lively(DEEP)


@pytest.fixture(scope="module")
def graphs(deep: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    write(deep.model, 1024, folder)
    return folder


def test_an_export_of_a_recurrent_model_is_the_same(deep: Bundle, graphs: Path) -> None:
    proof = prove(deep, OnnxEngine(graphs, threads=1), graphs / STEP, SAMPLES)
    assert proof.greedy.same == proof.greedy.sentences == 8
    assert proof.beam.same == proof.beam.sentences == 8
    assert max(proof.greedy.worst, proof.beam.worst, proof.worst_token) < 1e-5


def test_an_encoder_is_one_operator_a_layer_and_nothing_hangs_on_a_size(graphs: Path) -> None:
    encoder, step = (onnx.load(graphs / name) for name in ("encoder.onnx", STEP))
    kinds = [node.op_type for node in encoder.graph.node]
    assert kinds.count("LSTM") == 2
    assert not {"Loop", "Scan", "If"} & {*kinds, *(node.op_type for node in step.graph.node)}
    axes = [
        [axis.dim_param or axis.dim_value for axis in each.type.tensor_type.shape.dim]
        for graph in (encoder.graph, step.graph)
        for each in graph.input
    ]
    assert axes[:3] == [["B", "S"], ["B", "S"], ["B", "W"]]
    assert all(shape[0] == "B" for shape in axes)
    facts = json.loads((graphs / STATE).read_text())
    assert facts["fixed"] == ["fixed_0", "fixed_1", "fixed_2"]  # keys, values, where no token is
    assert list(facts["moving"].values()) == ["next_0", "next_1", "next_2"]  # h and c of the cell, h̃
    assert facts["attention"] is True


def test_one_alone_is_the_same_as_in_company(graphs: Path) -> None:
    engine, search = OnnxEngine(graphs, threads=1), SearchConfig(size=3, n_best=3, max_length=12)
    together = engine.search(ROWS, search)
    for row, found in zip(ROWS, together, strict=True):
        (alone,) = engine.search([row], search)
        assert [h.tokens for h in alone] == [h.tokens for h in found]
        assert [h.score for h in alone] == pytest.approx([h.score for h in found], abs=1e-5)


def test_a_system_without_affinity_runs_it_too(graphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    search = SearchConfig(kind="greedy", max_length=9)
    assert OnnxEngine(graphs).search(ROWS, search) == OnnxEngine(graphs, threads=1).search(ROWS, search)


def test_each_token_is_known_as_torch_knows_it(deep: Bundle, graphs: Path) -> None:
    outputs = [[5, 6, 7, EOS], [8], [9, EOS], [4, 4, 4]]
    steps = OnnxEngine(graphs, threads=1).score_details(ROWS[:4], outputs)
    known = forced(deep.model, *collate_sources(ROWS[:4]), outputs)
    assert known.attention is not None
    for n, (step, row, output) in enumerate(zip(steps, ROWS, outputs, strict=False)):
        T, S = len(output), len(row) + 1
        assert step.attention is not None
        assert np.allclose(step.log_p, known.log_p[n, :T], atol=1e-5)
        assert np.allclose(step.entropy, known.entropy[n, :T], atol=1e-5)  # type: ignore[arg-type]
        assert np.allclose(step.attention, known.attention[n, :T, :S], atol=1e-5)


def test_a_beginning_is_gone_on_with(graphs: Path) -> None:
    engine, search = OnnxEngine(graphs, threads=1), SearchConfig(kind="greedy", max_length=9)
    prefixes = [[5, 6], [], [7], [4, 4, 4]]
    found = [best[0] for best in engine.search(ROWS[:4], search, prefixes)]
    log_p = engine.next_log_probs(ROWS[:4], prefixes)
    for row, prefix, one, next_p in zip(ROWS, prefixes, found, log_p, strict=False):
        assert list(one.tokens[: len(prefix)]) == prefix
        rest = [*one.tokens[len(prefix) :], *[EOS] * one.finished]
        assert list(engine.stream(row, search, prefix)) == rest
        assert float(np.delete(next_p, [0, 2]).max()) == pytest.approx(float(next_p[rest[0]]))


@pytest.mark.parametrize("file", ["encoder.onnx", STEP])
def test_one_spoilt_weight_is_found(file: str, deep: Bundle, graphs: Path, tmp_path: Path) -> None:
    copied(graphs, tmp_path)
    model = onnx.load(tmp_path / file)
    weights = [
        x for x in model.graph.initializer if x.data_type == onnx.TensorProto.FLOAT and len(x.dims) > 1
    ]
    weight = max(weights, key=lambda x: len(x.raw_data))
    values = np.frombuffer(weight.raw_data, np.float32).copy()
    values[len(values) // 2 + 3] += 3.0
    weight.raw_data = values.tobytes()
    onnx.save(model, tmp_path / file)
    with pytest.raises(ModelError, match="does not match the model") as caught:
        prove(deep, OnnxEngine(tmp_path, threads=1), tmp_path / STEP, SAMPLES)
    assert caught.value.where == str(tmp_path / STEP)


@pytest.fixture(scope="module")
def conv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that holds its export."""
    part = {"kind": "conv", "layers": 1, "width": 16, "kernel": 3, "embedding": 16}
    model = tiny_folder(tmp_path_factory.mktemp("run") / "model", part=part)
    assert main(["export", str(model), "--to", "onnx"]) == 0
    return model


@pytest.mark.slow
def test_the_folder_is_whole_and_a_copy_of_it_is_enough(conv: Path) -> None:
    assert verify_folder(conv / "onnx") is None
    assert verify_folder(conv) is None
    assert {path.name for path in (conv / "onnx").iterdir()} == {
        "MANIFEST.json", "card.md", "encoder.onnx", "proof.json", "settings.toml", "state.json", "step.onnx",
        "text",
    }  # fmt: skip
    proof = json.loads((conv / "onnx" / "proof.json").read_text())
    assert proof["float32"]["greedy"]["same"] == proof["float32"]["beam"]["same"] > 0
    assert main(["check", str(conv)]) == 0
    (mine,) = load(conv / "onnx")(["a b c"])
    assert mine.tokens == load(conv)("a b c").tokens


def test_what_runs_without_torch_is_what_torch_runs(conv: Path) -> None:
    texts = ["a b c", "", "p o n m l k", "d"]
    mine, theirs = load(conv), load(conv, runtime="torch")
    assert (mine.runtime.name, theirs.runtime.name) == ("onnx", "torch")
    for search in ({"kind": "greedy"}, {"size": 3, "n_best": 2, "stop": "all"}, {"min_length": 4}):
        for a, b in zip(mine(texts, search, details=True), theirs(texts, search, details=True), strict=True):
            assert (a.text, a.tokens, a.flags, a.alignment) == (b.text, b.tokens, b.flags, b.alignment)
            assert a.score == pytest.approx(b.score, abs=1e-4)
    streamed = "".join(mine.stream("a b c", prefix="h"))
    assert streamed == mine("a b c", {"kind": "greedy"}, prefix="h").text


def test_a_wrong_call_is_refused_in_words(conv: Path) -> None:
    model: Any = load(conv, runtime="onnx")
    with pytest.raises(UsageError, match='Did you mean "prefix"'):
        model("a b c", prefx="h")
    with pytest.raises(UsageError, match="texts cannot be None"):
        model(None)


def test_torch_is_not_needed(conv: Path) -> None:
    program = """
import sys
sys.modules["torch"] = sys.modules["jaxtyping"] = None
from dragoman.cli.main import main
raise SystemExit(main())
"""
    command = [sys.executable, "-c", program, "run", str(conv), "a b c", "--runtime", "onnx"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == load(conv)("a b c").text + "\n"
    blocked = 'import sys\nsys.modules["onnxruntime"] = None' + program
    command = [sys.executable, "-c", blocked, "run", str(conv), "a b c"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2, done.stderr
    assert 'pip install "dragoman[onnx]"' in done.stderr  # ct2 cannot run it, and PyTorch is not needed


def test_a_mismatch_leaves_nothing_behind(
    conv: Path, graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graphs of another model are no export of this one."""
    monkeypatch.setattr(exporting, "write", lambda model, longest, folder: copied(graphs, folder))
    with pytest.raises(ModelError, match="does not match the model"):
        export_onnx(conv, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(UsageError, match="not an export"):
        export_onnx(conv, conv)


def test_a_damaged_graph_is_refused_by_name(conv: Path, tmp_path: Path) -> None:
    shutil.copytree(conv / "onnx", tmp_path / "onnx")
    raw = bytearray((tmp_path / "onnx" / "encoder.onnx").read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "onnx" / "encoder.onnx").write_bytes(raw)
    with pytest.raises(ModelError, match=r"encoder\.onnx"):
        load(tmp_path / "onnx")
    (tmp_path / STEP).write_bytes(b"no graph")
    shutil.copyfile(conv / "onnx" / STATE, tmp_path / STATE)
    (tmp_path / "encoder.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"encoder\.onnx is not as dragoman export writes it"):
        OnnxEngine(tmp_path)
    (tmp_path / STATE).write_text("[]")
    with pytest.raises(ModelError, match=r"state\.json is not as dragoman export writes it"):
        OnnxEngine(tmp_path)


def copied(source: Path, target: Path) -> None:
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())


def test_transformers_and_rounding_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tiny_folder(tmp_path / "model"))
    assert main(["export", model, "--to", "onnx"]) == 1
    said = capsys.readouterr().err
    assert "transformer encoder" in said
    assert "--to ct2" in said
    assert main(["export", model, "--to", "onnx", "--quantization", "int8"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("pair", OTHERS, ids=" → ".join)
def test_every_pair_is_the_same_after_export(pair: tuple[str, str], tmp_path: Path) -> None:
    bundle = lively({"encoder": ENCODERS[pair[0]], "decoder": DECODERS[pair[1]], "tied": "target"})
    samples = Sentences([row[:7] for row in ROWS], "made up")
    write(bundle.model, bundle.config.model.longest_source + 1, tmp_path)
    proof = prove(bundle, OnnxEngine(tmp_path, threads=1), tmp_path / STEP, samples)
    assert proof.greedy.same == proof.beam.same == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "choice",
    [
        {"head": {"kind": "adaptive", "cutoffs": [6, 12], "shrink": 2}},
        {"src_embedding": {"kind": "characters"}},
    ],
)
def test_heads_and_embeddings_are_the_same(choice: dict[str, Any], tmp_path: Path) -> None:
    bundle = lively({**DEEP, "tied": "none", **choice})
    write(bundle.model, bundle.config.model.longest_source + 1, tmp_path)
    assert prove(bundle, OnnxEngine(tmp_path, threads=1), tmp_path / STEP, SAMPLES).beam.same == 8
