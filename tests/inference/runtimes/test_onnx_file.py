"""ONNX Runtime is given graphs that hold all they need, and nothing that the exporter does not write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from dragoman.errors import ModelError
from dragoman.export.onnx.graphs import write
from dragoman.inference.runtimes.onnx_file import ENCODER, STATE, STEP, read_onnx
from support.tiny_bundle import RNN, tiny

Model = onnx.ModelProto


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder with them, and the entries of the target's vocabulary."""
    folder, bundle = tmp_path_factory.mktemp("graphs"), tiny(RNN)
    write(bundle.model, 64, folder)
    return folder, bundle.text.tgt.size


@pytest.mark.slow
def test_what_the_exporter_writes_passes(graphs: tuple[Path, int]) -> None:
    folder, entries = graphs
    state, files = read_onnx(folder, Path.read_bytes, entries)
    assert state.attends
    assert files == {name: (folder / name).read_bytes() for name in (ENCODER, STEP)}
    with pytest.raises(ModelError, match=r"step\.onnx .* log_p has the shape .* the vocabulary 5 entries"):
        read_onnx(folder, Path.read_bytes, 5)


def elsewhere(model: Model) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../etc/passwd")


def elsewhere_in_a_node(model: Model) -> None:
    tensor = onnx.helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], b"abcd", raw=True)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    model.graph.node.append(onnx.helper.make_node("Constant", [], ["c"], value=tensor))


def within(model: Model) -> None:
    inner = onnx.helper.make_graph([], "inner", [], [])
    model.graph.node.append(onnx.helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner))


def huge(model: Model) -> None:
    model.graph.initializer[0].dims[0] = 1 << 40


def other_type(model: Model) -> None:
    model.graph.initializer[0].data_type = onnx.TensorProto.STRING


CHANGES: dict[str, tuple[Callable[[Model], object], str]] = {
    "weights elsewhere": (elsewhere, "is in another file"),
    "weights of a node elsewhere": (elsewhere_in_a_node, "is in another file"),
    "a graph within": (within, "subgraphs"),
    "operators of others": (lambda m: m.opset_import.add(domain="com.evil", version=1), "operators of com"),
    "an operator of others": (lambda m: setattr(m.graph.node[0], "domain", "com.evil"), "an operator of com"),
    "functions": (lambda m: m.functions.add(name="f"), "functions of its own"),
    "training": (lambda m: m.training_info.add(), "functions of its own"),
    "one input more": (lambda m: m.graph.input.append(m.graph.output[0]), "its inputs are"),
    "no output": (lambda m: m.graph.ClearField("output"), ", its outputs "),
    "an input that is no tensor": (lambda m: m.graph.input[0].ClearField("type"), "is not a tensor"),
    "a tensor without its bytes": (huge, "do not match its shape"),
    "texts": (other_type, "do not match its shape"),
    "sparse weights": (lambda m: m.graph.sparse_initializer.add(), "sparse weights"),
    "no graph": (lambda m: m.ClearField("graph"), "not as dragoman export writes it"),
}  # fmt: skip


@pytest.mark.parametrize("name", [ENCODER, STEP])
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_graph_is_refused_by_name(
    change: str, name: str, graphs: tuple[Path, int], tmp_path: Path
) -> None:
    for file in graphs[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    model = onnx.load(tmp_path / name, load_external_data=False)
    CHANGES[change][0](model)
    (tmp_path / name).write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=CHANGES[change][1]) as refused:
        read_onnx(tmp_path, Path.read_bytes, graphs[1])
    assert name in refused.value.what


@pytest.mark.parametrize("text", [
    "", "[]", "{}", '{"format": 2, "fixed": [], "moving": {}, "attention": true}',
    '{"format": 1, "fixed": [3], "moving": {}, "attention": true}',
    '{"format": 1, "fixed": ["a", "a"], "moving": {}, "attention": true}',
    '{"format": 1, "fixed": {}, "moving": [], "attention": true}', "[" * 100_000,
])  # fmt: skip
def test_another_state_is_refused_by_name(text: str, graphs: tuple[Path, int], tmp_path: Path) -> None:
    for file in graphs[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / STATE).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"state\.json is not as dragoman export writes it"):
        read_onnx(tmp_path, Path.read_bytes, graphs[1])


def test_every_cut_is_refused(graphs: tuple[Path, int], tmp_path: Path) -> None:
    for file in graphs[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    raw = (tmp_path / STEP).read_bytes()
    assert json.loads((tmp_path / STATE).read_text("utf-8"))["format"] == 1
    for end in range(0, len(raw) - 60, len(raw) // 150):
        (tmp_path / STEP).write_bytes(raw[:end])
        with pytest.raises(ModelError, match=r"step\.onnx"):
            read_onnx(tmp_path, Path.read_bytes, graphs[1])
