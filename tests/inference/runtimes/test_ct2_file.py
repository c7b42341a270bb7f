"""What CTranslate2 is given is what the exporter writes for the settings, whatever they are."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import validate
from dragoman.errors import ModelError
from dragoman.export.ct2_spec import Quantization, write
from dragoman.inference.runtimes.ct2_file import CONFIG, MODEL, read_ct2, read_variables
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.text.build import learn

LINES = ["the cat sat on the mat", "a dog and a cat"] * 4
PART: dict[str, Any] = {"kind": "transformer", "layers": 2, "width": 32, "heads": 4, "ffn": 48}
CHOICES: list[tuple[dict[str, Any], Quantization]] = [
    ({}, "float32"),
    ({"norm": "post", "norm_kind": "rms", "positions": "relative", "activation": "swiglu"}, "int8"),
    ({"norm_kind": "rms", "positions": "rotary", "activation": "gelu", "kv_heads": 1}, "bfloat16"),
    ({"norm": "post", "positions": "learned", "activation": "swish", "reads_end": False}, "float16"),
    ({"max_positions": 1500, "kv_heads": 2, "norm_eps": 1e-6}, "int8"),
]


def bundle(choices: dict[str, Any], **text: Any) -> Bundle:
    part = {**PART, **choices}
    table = {
        "data": {"train": "x.tsv"},
        "text": {"kind": "bpe", "size": 310, **text},
        "model": {"encoder": part, "decoder": {**part, "width": 16, "heads": 2}, "tied": "none"},
    }
    if choices.get("kv_heads"):
        table["model"]["decoder"]["kv_heads"] = 1
    config = validate(table)
    learned = learn(config.text, zip(LINES, LINES, strict=True))
    return Bundle(config, learned, new_model(config, learned).eval())


@pytest.mark.parametrize(("choices", "quantization"), CHOICES)
def test_an_export_passes(choices: dict[str, Any], quantization: Quantization, tmp_path: Path) -> None:
    made = bundle(choices)
    write(made, tmp_path, quantization, bars_specials=False)
    files = read_ct2(tmp_path, Path.read_bytes, made.config.model, made.text)
    assert files[MODEL] == (tmp_path / MODEL).read_bytes()
    assert json.loads(files[CONFIG]) == json.loads((tmp_path / CONFIG).read_text("utf-8"))


def test_two_vocabularies(tmp_path: Path) -> None:
    made = bundle({}, kind="word", joint=False)
    write(made, tmp_path, "float32", bars_specials=False)
    assert read_ct2(tmp_path, Path.read_bytes, made.config.model, made.text)


OTHERS: dict[str, Any] = {
    "layers": 3, "width": 48, "heads": 2, "ffn": 64, "kv_heads": 2, "norm": "post", "norm_kind": "rms",
    "activation": "gelu", "positions": "rotary", "max_positions": 2000, "norm_eps": 1e-7, "reads_end": False,
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_the_export_of_other_settings_does_not(name: str, tmp_path: Path) -> None:
    made = bundle({})
    write(made, tmp_path, "float32", bars_specials=False)
    encoder = made.config.model.encoder.model_copy(update={name: OTHERS[name]})
    decoder = made.config.model.decoder
    if name == "norm_eps":  # there is one for both
        decoder = decoder.model_copy(update={name: OTHERS[name]})
    other = made.config.model.model_copy(update={"encoder": encoder, "decoder": decoder})
    with pytest.raises(ModelError, match="does not belong to the model that"):
        read_ct2(tmp_path, Path.read_bytes, other, made.text)


def test_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    made = bundle({})
    write(made, tmp_path, "int8", bars_specials=False)
    raw = (tmp_path / MODEL).read_bytes()
    assert "encoder/embeddings_0/weight_scale" in read_variables(raw)
    for end in [*range(0, 400, 7), *range(400, len(raw) - 1, 997)]:
        with pytest.raises((ValueError, struct.error)):
            read_variables(raw[:end])
