"""Checks of the graphs of an ONNX directory, before ONNX Runtime loads them.

Each graph must contain all its weights, use only standard ONNX operators, have no subgraphs, and have the
inputs and outputs that its task, state.json and the vocabulary require. What its operators compute is not
checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.errors import ModelError
from dragoman.manifest import Read
from dragoman.protobuf import Field, fields, varints

ENCODER, STEP, STATE = "encoder.onnx", "step.onnx", "state.json"
NETWORK = "network.onnx"  # of a model without a decoder
SCORE = "score.onnx"  # of a language model
FORMAT = 1
# The outputs of a network of each task, with and without a chain of tags, a label, and weights of words.
OUTPUTS = {
    "classify": [("p",), ("p", "weights")],
    "tag": [
        ("scores", *chain, *label)
        for chain in ((), ("start", "steps", "end"))
        for label in ((), ("p",), ("p", "weights"))
    ],
    "transcribe": [("log_y", "frames")],
}
MOST_NODES, DEEPEST = 100_000, 8
# Field numbers of onnx.proto, and the bytes per number of its data types.
GRAPH, OPSET, FUNCTIONS, TRAINING = 7, 8, 25, 20
NODE, TENSOR, INPUT, OUTPUT, SPARSE = 1, 5, 11, 12, 15
SIZES = {1: 4, 2: 1, 3: 1, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 16: 2}
OWN = ("", "ai.onnx")  # domains of the standard ONNX operators

Shapes = dict[str, list[int | None]]  # by name; None is a dynamic size


class State(NamedTuple):
    """The names of the state tensors: constant ones, and the output that replaces each changing one."""

    fixed: list[str]
    moving: dict[str, str]
    attends: bool


def read_onnx(folder: Path, read: Read, entries: int | None) -> tuple[State, dict[str, bytes]]:
    """Return the state and both graphs; raise a ModelError if they are not as the exporter writes them.

    `entries` is the size of the target vocabulary, if it is known.
    """
    files = {name: read(folder / name) for name in (STATE, ENCODER, STEP)}
    with as_exported(folder / STATE):
        state = state_of(json.loads(files[STATE].decode("utf-8")))
    tensors = [*state.fixed, *state.moving]
    outputs = ["log_p", *state.moving.values(), *["attention"] * state.attends]
    with as_exported(folder / ENCODER):
        refuse_other_graph(files[ENCODER], ["src", "keep"], tensors)
    with as_exported(folder / STEP):
        found = refuse_other_graph(files[STEP], ["y", *tensors], outputs)
        refuse_other_vocabulary("log_p", found, entries)
    return state, {name: files[name] for name in (ENCODER, STEP)}


def read_network(folder: Path, read: Read, task: str, entries: int) -> tuple[list[str], bytes]:
    """Return the names of the outputs of network.onnx, and the graph; `entries` is the target vocabulary."""
    raw = read(folder / NETWORK)
    with as_exported(folder / NETWORK):
        found = refuse_other_graph(raw, ["src", "keep"], *OUTPUTS[task])
        names = [*found]
        has_blank = task == "transcribe"
        refuse_other_vocabulary(names[0], found, entries + has_blank)
    return names, raw


def read_score(folder: Path, read: Read) -> bytes:
    """Return score.onnx of a language model."""
    raw = read(folder / SCORE)
    with as_exported(folder / SCORE):
        refuse_other_graph(raw, ["before", "y"], ["log_p"])
    return raw


@contextmanager
def as_exported(file: Path) -> Iterator[None]:
    """Raise a ModelError about this file if it is not as the exporter writes it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{file.name} is not as dragoman export writes it: {error}.",
            where=str(file),
            expected="a graph of this model; ONNX Runtime has not loaded it",
            hint="Export the model again: dragoman export MODEL --to onnx",
        ) from None


def refuse_other_vocabulary(name: str, shapes: Shapes, entries: int | None) -> None:
    if entries is not None and shapes[name][-1:] != [entries]:
        raise ValueError(f"{name} has the shape {shapes[name]}, but the vocabulary {entries:,} entries")


def state_of(facts: Any) -> State:
    fixed, moving = facts["fixed"], facts["moving"]
    words = [*fixed, *moving, *moving.values()]
    if facts["format"] != FORMAT or not isinstance(fixed, list) or type(facts["attention"]) is not bool:
        raise ValueError("its format is not supported")
    if len(set(words)) < len(words) or not all(isinstance(word, str) for word in words):
        raise ValueError("a tensor name is not a string or appears twice")
    return State(fixed, moving, facts["attention"])


def refuse_other_graph(raw: bytes, inputs: Sequence[str], *outputs: Sequence[str]) -> Shapes:
    """Return the shapes of the outputs, which must have one of these sequences of names."""
    given, found = shapes_of(raw)
    if [*given] != [*inputs] or [*found] not in [[*names] for names in outputs]:
        raise ValueError(f"its inputs are {', '.join(given)[:80]}, its outputs {', '.join(found)[:80]}")
    return found


def shapes_of(raw: bytes) -> tuple[Shapes, Shapes]:
    """Return the shapes of the inputs and of the outputs of a graph; raise ValueError if it is not safe."""
    graphs = []
    for field in fields(raw):
        match field.number:
            case number if number in (FUNCTIONS, TRAINING):
                raise ValueError("it defines functions of its own")
            case number if number == OPSET and domain(field, 1) not in OWN:
                raise ValueError(f"it needs the operators of {domain(field, 1)[:40]}")
            case number if number == GRAPH:
                graphs.append(field.inner)
    (graph,) = graphs
    shapes: dict[int, Shapes] = {INPUT: {}, OUTPUT: {}}
    nodes = 0
    for field in fields(graph):
        if field.number == NODE:
            nodes += 1
            refuse_other_node(field)
        elif field.number == TENSOR:
            refuse_other_tensor(field)
        elif field.number == SPARSE or nodes > MOST_NODES:
            raise ValueError("it has sparse weights or too many nodes")
        elif field.number in shapes:
            name, shape = value_of(field)
            if name in shapes[field.number]:
                raise ValueError(f"{name[:80]} appears twice")
            shapes[field.number][name] = shape
    return shapes[INPUT], shapes[OUTPUT]


def domain(field: Field, number: int) -> str:
    return next((inner.text for inner in fields(field.inner) if inner.number == number), "")


def refuse_other_node(node: Field) -> None:
    for field in fields(node.inner):
        if field.number == 7 and field.text not in OWN:
            raise ValueError(f"it needs an operator of {field.text[:40]}")
        if field.number == 5:  # an attribute
            for inner in fields(field.inner):
                if inner.number in (6, 11, 22, 23):
                    raise ValueError("it has subgraphs or sparse weights")
                if inner.number in (5, 10):
                    refuse_other_tensor(inner)


def refuse_other_tensor(tensor: Field) -> None:
    shape: list[int] = []
    kind, size, name = 0, 0, ""  # the exporter writes weights as raw bytes
    for field in fields(tensor.inner):
        match field.number, field.value:
            case 1, int() as one:
                shape.append(one)
            case 1, _:
                shape += varints(field.inner)
            case 2, int() as found:
                kind = found
            case 8, _:
                name = field.text
            case ((13 | 14), value) if value != 0:
                raise ValueError(f"{name[:80] or 'a tensor'} is in another file")
            case 9, _:
                size = len(field.inner)
    if kind not in SIZES or len(shape) > DEEPEST or size != math.prod(shape) * SIZES[kind]:
        raise ValueError(f"{name[:80] or 'a tensor'} has {size:,} bytes, which do not match its shape")


def value_of(field: Field) -> tuple[str, list[int | None]]:
    """Return the name and the shape of an input or output, which must be a tensor."""
    name, shape = "", None
    for inner in fields(field.inner):
        if inner.number == 1:
            name = inner.text
        elif inner.number == 2:
            shape = list(shape_of(inner))
    if not name or shape is None:
        raise ValueError("an input or output is not a tensor")
    return name, shape


def shape_of(type: Field) -> Iterator[int | None]:
    for tensor in fields(type.inner):
        for part in fields(tensor.inner):
            if (tensor.number, part.number) == (1, 2):
                for axis in fields(part.inner):
                    sizes = [s.value for s in fields(axis.inner) if s.number == 1]
                    yield sizes[0] if sizes and isinstance(sizes[0], int) else None
