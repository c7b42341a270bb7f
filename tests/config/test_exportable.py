"""What is said about an export before training."""

from typing import Any

import pytest

from dragoman.config.exportable import reasons
from dragoman.config.model import ModelConfig
from dragoman.config.presets import PRESETS

EXPRESSIBLE: list[dict[str, Any]] = [
    {"norm": "post"},
    {"norm_kind": "rms"},
    {"activation": "gelu"},
    {"activation": "swiglu"},
    {"activation": "swish", "reads_end": False},
    {"positions": "learned"},
    {"positions": "rotary"},
    {"positions": "relative"},
    {"kv_heads": 1},
    {"layers": 1},
    {"layer_drop": 0.1, "stochastic_depth": 0.1},
]


def model(encoder: dict[str, Any], decoder: dict[str, Any]) -> ModelConfig:
    sides = ({"kind": "transformer", **side} for side in (encoder, decoder))
    return ModelConfig.model_validate(dict(zip(("encoder", "decoder"), sides, strict=True)))


@pytest.mark.parametrize("choice", EXPRESSIBLE, ids=str)
def test_what_ctranslate2_can_express_has_no_reason_against_it(choice: dict[str, Any]) -> None:
    assert reasons(model(choice, choice), "ct2") == []
    assert reasons(model({}, choice), "ct2") == []


def test_each_choice_that_forbids_an_export_is_named_with_its_side() -> None:
    assert reasons(model({"window": 8}, {"window": 9}), "ct2") == [
        "window of 8 in the encoder (in ct2 a token attends to all others)",
        "window of 9 in the decoder (in ct2 a token attends to all others)",
    ]
    gru = {"kind": "rnn", "cell": "gru"}
    assert reasons(model({}, gru), "ct2") == ["gru decoder (ct2 runs only Transformers)"]  # nor to ONNX
    assert reasons(model(gru, gru), "ct2") == [
        "gru encoder (ct2 runs only Transformers; use ONNX)",
        "gru decoder (ct2 runs only Transformers; use ONNX)",
    ]
    adaptive = ModelConfig.model_validate({"tied": "none", "head": {"kind": "adaptive"}})
    assert reasons(adaptive, "ct2") == ["adaptive head (ct2 has one softmax over all tokens)"]


def test_what_only_matters_in_training_forbids_nothing() -> None:
    assert reasons(ModelConfig.model_validate({"head": {"kind": "sampled"}}), "ct2") == []
    characters = {"tied": "target", "src_embedding": {"kind": "characters"}}
    assert reasons(ModelConfig.model_validate(characters), "ct2") == []


@pytest.mark.parametrize("preset", [name for name in PRESETS if name.startswith("transformer")])
def test_every_transformer_preset_goes_to_ctranslate2(preset: str) -> None:
    assert reasons(ModelConfig.model_validate(PRESETS[preset]()), "ct2") == []
