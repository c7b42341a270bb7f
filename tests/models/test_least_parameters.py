"""How many parameters a model has at least is known from its settings: never too many, and nearly all."""

from __future__ import annotations

import pytest

from dragoman.config.load import validate
from dragoman.config.model import ModelConfig
from dragoman.config.parameters import largest_table, least_parameters
from dragoman.models.build import build_model
from support.pairs import DECODERS, ENCODERS, PAIRS, V

LOOSE = 1.6  # times as many, at most: biases and norms, and what only some decoders have


def share(model: ModelConfig, entries: int, spelling: list[list[int]] | None = None) -> float:
    """Parameters over those that were foreseen."""
    spellings = spelling or []
    built = build_model(
        model, entries, entries, smoothing=0.0, seed=1, src_spelling=spellings, tgt_spelling=spellings
    )
    return sum(p.numel() for p in built.parameters()) / least_parameters(model, entries, entries)


@pytest.mark.parametrize(("encoder", "decoder"), PAIRS)
def test_every_pair_has_hardly_more(encoder: str, decoder: str) -> None:
    parts = {"encoder": ENCODERS[encoder], "decoder": DECODERS[decoder], "tied": "none"}
    assert 1 <= share(ModelConfig.model_validate(parts), V) < LOOSE


@pytest.mark.parametrize("preset", ["transformer-tiny", "rnn-small", "gru-small", "elman", "conv-small"])
def test_presets_too(preset: str) -> None:
    assert 1 <= share(validate({"data": {"train": "x.tsv"}, "model": {"preset": preset}}).model, 3000) < 1.2


def test_words_made_of_characters() -> None:
    table = {
        "data": {"train": "x.tsv"},
        "text": {"kind": "word"},
        "model": {
            "src_embedding": {"kind": "characters"},
            "tgt_embedding": {"kind": "characters", "filters": 9, "highways": 2},
            "tied": "none",
        },
    }
    assert 1 <= share(validate(table).model, V, [[1, 3 + n % 5, 2] for n in range(V)]) < LOOSE


def test_a_large_preset_is_known_to_be_large() -> None:
    model = validate({"data": {"train": "x.tsv"}, "model": {"preset": "transformer-big"}}).model
    assert least_parameters(model, 32_000, 32_000) == pytest.approx(209e6, rel=0.05)
    assert largest_table(model) == model.longest_target * 1024
