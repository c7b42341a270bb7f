"""Checks of the files of a CTranslate2 directory against the settings, before CTranslate2 loads them.

Its parser trusts them: 0 heads abort the process, and an embedding with fewer rows than the vocabulary is
read out of bounds. So every name, shape and scalar of model.bin must be what the exporter writes for these
settings, and the vocabularies must be those in text/.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.config.model import ModelConfig
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import ModelError
from dragoman.manifest import Read
from dragoman.text.specials import BOS, EOS, SPECIALS, UNK
from dragoman.text.tokenizer import unique_token_names
from dragoman.text.tokenizer_pair import TokenizerPair

MODEL, CONFIG = "model.bin", "config.json"
VERSION, SPEC, REVISION = 6, "TransformerSpec", 7
TYPES = ("f", "b", "h", "i", "e", "")  # float32, int8, int16, int32, float16; bfloat16 has no letter
SIZES = (4, 1, 2, 4, 2, 2)  # bytes
FLOAT32, INT8, FLOATS = 0, 1, (0, 4, 5)
MIN_POSITIONS = 1024  # positions that the exporter writes at least
BUCKETS, FARTHEST = 32, 128  # of relative positions
ACTIVATIONS = {"relu": 0, "gelu": 3, "swish": 2, "swiglu": 2}
MOST_VARIABLES, LONGEST_NAME, DEEPEST = 20_000, 200, 4
MAX_NAME_BYTES = 1000  # bytes of a variable in addition to its numbers, at most

Shape = tuple[int, ...]


class Variable(NamedTuple):
    shape: Shape
    type: int  # an index into TYPES
    value: int | float | None  # of a scalar


def read_ct2(folder: Path, read: Read, model: ModelConfig, text: TokenizerPair) -> dict[str, bytes]:
    """Return the files that CTranslate2 may load; raise a ModelError if they do not fit the settings."""
    sources, targets = unique_token_names(text.src), unique_token_names(text.tgt)
    vocabularies = {"shared": sources} if sources == targets else {"source": sources, "target": targets}
    lists = {f"{side}_vocabulary.json": entries for side, entries in vocabularies.items()}
    try:
        name = "settings.toml"
        encoder, decoder = transformers(model)
        arrays, scalars = expected(encoder, decoder, len(sources), len(targets))
        name = MODEL
        most = SIZES[FLOAT32] * sum(map(math.prod, arrays.values())) + MAX_NAME_BYTES * len(arrays | scalars)
        if (size := (folder / MODEL).stat().st_size) > most:
            raise ValueError(f"it has {size:,} bytes, at most {most:,} are expected")
        files = {name: read(folder / name) for name in (MODEL, CONFIG, *lists)}
        for name, facts in {**lists, CONFIG: config_of(encoder)}.items():
            written = json.dumps(facts, sort_keys=True)
            if json.dumps(json.loads(files[name].decode("utf-8")), sort_keys=True) != written:
                raise ValueError(f"expected {written:.200}")
            files[name] = written.encode()  # two JSON parsers may disagree; this text is our own
        name = MODEL
        compare(read_variables(files[MODEL]), arrays, scalars)
    except (ValueError, struct.error, RecursionError) as error:
        raise ModelError(
            f"{name} does not belong to the model that settings.toml describes: {error}.",
            where=str(folder / name),
            expected="the file as dragoman export wrote it; CTranslate2 has not loaded it",
            hint="Export the model again: dragoman export MODEL --to ct2",
        ) from None
    return files


def transformers(model: ModelConfig) -> tuple[TransformerPart, TransformerPart]:
    if not isinstance(model.encoder, TransformerPart) or not isinstance(model.decoder, TransformerPart):
        raise ValueError("CTranslate2 runs only Transformers")
    return model.encoder, model.decoder


def config_of(encoder: TransformerPart) -> dict[str, Any]:
    return {
        "unk_token": SPECIALS[UNK],
        "bos_token": SPECIALS[BOS],
        "eos_token": SPECIALS[EOS],
        "decoder_start_token": SPECIALS[BOS],
        "add_source_bos": False,
        "add_source_eos": encoder.reads_end,
        "layer_norm_epsilon": encoder.norm_eps,
        "multi_query_attention": False,
    }


def expected(
    encoder: TransformerPart, decoder: TransformerPart, sources: int, targets: int
) -> tuple[dict[str, Shape], dict[str, int]]:
    """Return the shape of each array that the exporter writes, and the value of each scalar."""
    arrays: dict[str, Shape] = {
        "encoder/embeddings_0/weight": (sources, encoder.width),
        "decoder/embeddings/weight": (targets, decoder.width),
        "decoder/projection/weight": (targets, decoder.width),
        "decoder/projection/bias": (targets,),
    }
    scalars: dict[str, int] = {
        "encoder/embeddings_merge": 0,
        "encoder/multi_query_attention": 0,
        "decoder/alibi": 0,
        "decoder/alibi_use_positive_positions": 0,
        "decoder/scale_alibi": 0,
        "decoder/start_from_zero_embedding": 0,
        "decoder/alignment_heads": decoder.heads,
        "decoder/alignment_layer": -1,
    }
    for side, part in (("encoder", encoder), ("decoder", decoder)):
        arrays.update(of_side(side, part))
        scalars.update(
            {
                f"{side}/num_heads": part.heads,
                f"{side}/pre_norm": int(part.norm == "pre"),
                f"{side}/activation": ACTIVATIONS[part.activation],
                f"{side}/scale_embeddings": 1,
            }
        )
        for number in range(part.layers):
            arrays.update(of_layer(f"{side}/layer_{number}", side, part, encoder.width))
            scalars.update(scalars_of_layer(f"{side}/layer_{number}", side, part))
    return arrays, scalars


def of_side(side: str, part: TransformerPart) -> Iterator[tuple[str, Shape]]:
    if part.positions in ("sinusoidal", "learned"):
        yield f"{side}/position_encodings/encodings", (max(MIN_POSITIONS, part.max_positions), part.width)
    if part.norm == "pre":
        yield from of_norm(f"{side}/layer_norm", part)


def of_layer(layer: str, side: str, part: TransformerPart, memory: int) -> Iterator[tuple[str, Shape]]:
    D = part.width
    shared = D // part.heads * (part.kv_heads or part.heads)
    yield from of_norm(f"{layer}/self_attention/layer_norm", part)
    yield from of_linear(f"{layer}/self_attention/linear_0", D + 2 * shared, D)
    yield from of_linear(f"{layer}/self_attention/linear_1", D, D)
    if part.positions == "relative":
        yield f"{layer}/self_attention/relative_attention_bias", (BUCKETS, part.heads)
    if side == "decoder":
        yield from of_norm(f"{layer}/attention/layer_norm", part)
        yield from of_linear(f"{layer}/attention/linear_0", D, D)
        yield from of_linear(f"{layer}/attention/linear_1", 2 * shared, memory)
        yield from of_linear(f"{layer}/attention/linear_2", D, D)
    has_bias = part.activation != "swiglu"
    yield from of_norm(f"{layer}/ffn/layer_norm", part)
    yield from of_linear(f"{layer}/ffn/linear_0", part.ffn, D, has_bias=has_bias)
    yield from of_linear(f"{layer}/ffn/linear_1", D, part.ffn, has_bias=has_bias)
    if part.activation == "swiglu":
        yield from of_linear(f"{layer}/ffn/linear_0_noact", part.ffn, D, has_bias=False)


def of_linear(name: str, rows: int, columns: int, *, has_bias: bool = True) -> Iterator[tuple[str, Shape]]:
    yield f"{name}/weight", (rows, columns)
    if has_bias:
        yield f"{name}/bias", (rows,)


def of_norm(name: str, part: TransformerPart) -> Iterator[tuple[str, Shape]]:
    yield f"{name}/gamma", (part.width,)
    if part.norm_kind == "layer":
        yield f"{name}/beta", (part.width,)


def scalars_of_layer(layer: str, side: str, part: TransformerPart) -> Iterator[tuple[str, int]]:
    if part.kv_heads is not None:
        for attention in ("self_attention", "attention")[: 1 + (side == "decoder")]:
            yield f"{layer}/{attention}/num_heads_kv", part.kv_heads
    if part.positions == "relative":
        yield f"{layer}/self_attention/relative_attention_max_distance", FARTHEST
    if part.positions == "rotary":
        for name, value in (("rotary_base", 10_000), ("rotary_dim", 0), ("rotary_interleave", 0)):
            yield f"{layer}/self_attention/{name}", value


def compare(found: dict[str, Variable], arrays: Mapping[str, Shape], scalars: Mapping[str, int]) -> None:
    scales = {f"{name}_scale": v.shape[:1] for name, v in found.items() if v.type == INT8 and v.shape}
    shapes = {**arrays, **scales, **dict.fromkeys(scalars, ())}
    for name in sorted(found.keys() ^ shapes.keys()):
        raise ValueError(f"{name[:80]} is {'missing from it' if name in shapes else 'not expected'}")
    for name, variable in found.items():
        if variable.shape != shapes[name]:
            raise ValueError(f"{name} has the shape {variable.shape}, not {shapes[name]}")
        if name in scalars and variable.value != scalars[name]:
            raise ValueError(f"{name} is {variable.value:g}, not {scalars[name]:g}")
        fits = FLOATS if not name.endswith("/weight") else (*FLOATS, INT8)
        if name not in scalars and variable.type not in ((FLOAT32,) if name in scales else fits):
            raise ValueError(f"{name} has an unexpected data type")


class Bytes:
    """A cursor over the file; reading past its end raises struct.error or ValueError."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.offset = raw, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self.raw, self.offset)
        self.offset += struct.calcsize(f"<{form}")
        return int(value)

    def take(self, size: int) -> memoryview:
        if size > len(self.raw) - self.offset:
            raise ValueError("it is truncated")
        self.offset += size
        return memoryview(self.raw)[self.offset - size : self.offset]

    def text(self) -> str:
        """Read a string with its length before it and a zero byte after it."""
        size = self.number("H")
        if not 1 < size <= LONGEST_NAME:
            raise ValueError("a name in it is empty or too long")
        return str(self.take(size)[:-1], "ascii")


def read_variables(raw: bytes) -> dict[str, Variable]:
    """Return each variable by its name and its aliases; raise a ValueError for any other file."""
    left = Bytes(raw)
    if (left.number("I"), left.text(), left.number("I")) != (VERSION, SPEC, REVISION):
        raise ValueError(f"it is not a {SPEC} of revision {REVISION}")
    found: dict[str, Variable] = {}
    for _ in range(count(left)):
        add(found, left.text(), read_variable(left))
    stored = dict(found)
    for _ in range(count(left)):
        alias, name = left.text(), left.text()
        if name not in stored:
            raise ValueError(f"{alias} is an alias of {name}, which is missing from it")
        add(found, alias, stored[name])
        if f"{name}_scale" in stored:  # CTranslate2 resolves the scale of an alias itself
            add(found, f"{alias}_scale", stored[f"{name}_scale"])
    if left.offset != len(raw):
        raise ValueError("it has extra bytes at its end")
    return found


def count(left: Bytes) -> int:
    if (number := left.number("I")) > MOST_VARIABLES:
        raise ValueError(f"it has too many variables: {number:,}")
    return number


def add(found: dict[str, Variable], name: str, variable: Variable) -> None:
    if name in found:
        raise ValueError(f"{name} appears twice")
    found[name] = variable


def read_variable(left: Bytes) -> Variable:
    axes = left.number("B")
    shape = tuple(left.number("I") for _ in range(min(axes, DEEPEST + 1)))
    type, size = left.number("B"), left.number("I")
    if axes > DEEPEST or type >= len(TYPES) or size != math.prod(shape) * SIZES[type]:
        raise ValueError("the size of a variable does not match its shape")
    raw = left.take(size)
    return Variable(
        shape, type, None if shape or not TYPES[type] else struct.unpack(f"<{TYPES[type]}", raw)[0]
    )
