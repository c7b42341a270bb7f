"""Any encoder and any decoder may read words by their characters."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.load import validate
from dragoman.config.model import ModelConfig
from dragoman.errors import ConfigError
from dragoman.models.build import build_model
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import load_bundle, save_bundle
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.characters import CharacterCNN
from dragoman.nn.dropout import noise
from dragoman.text.build import learn
from support.pairs import DECODERS, ENCODERS, V, batch_of, features
from support.pairs import PAIRS as BATTERY
from support.tiny_bundle import TRANSFORMER, WORDS

CHARACTERS = {"kind": "characters", "features": 3, "widths": [1, 2, 3], "filters": 2}
SPELLING = [[1, 3 + word % 5, *[8] * (word % 4), 2] for word in range(V)]
PAIRS = [pair for pair in BATTERY if pair[0] == "gru" or pair[1] == "lstm plain"]


def model_of(encoder: str, decoder: str) -> Seq2Seq:
    parts: dict[str, Any] = {
        "encoder": ENCODERS[encoder],
        "decoder": DECODERS[decoder],
        "tied": "none",
        "src_embedding": CHARACTERS,
        "tgt_embedding": CHARACTERS,
    }
    config = ModelConfig.model_validate(parts)
    return build_model(config, V, V, smoothing=0.1, seed=3, src_spelling=SPELLING, tgt_spelling=SPELLING)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_any_part_reads_words_by_their_characters(pair: tuple[str, str]) -> None:
    model = model_of(*pair)
    batch = batch_of([(7, 5), (3, 5), (1, 5)])
    with noise(1):
        model.train()(batch).loss.backward()
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert bool((p.grad != 0).any()), name
    model.double().eval()
    whole = features(model, batch)
    state = model.start(batch.src, batch.src_keep, 1)
    for t in range(5):
        h, state, _ = model.decoder.step(batch.tgt_in[:, t], state)
        assert torch.allclose(h, whole[:, t], rtol=0.0, atol=1e-12)


def table(**model: Any) -> dict[str, Any]:
    return {
        "data": {"train": "train.tsv"},
        "text": {"kind": "word", "size": 100},
        "model": {"encoder": TRANSFORMER, "decoder": TRANSFORMER, **model},
    }


def test_model_folder_spells_the_words_again(tmp_path: Path) -> None:
    config = validate(table(src_embedding=CHARACTERS, tied="target"))
    text = learn(config.text, zip([" ".join(WORDS)], [" ".join(WORDS)], strict=True))
    model = new_model(config, text)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    save_bundle(tmp_path / "model", config, text, weights, "A tiny model.\n")
    loaded = load_bundle(tmp_path / "model").model
    src, keep = torch.tensor([[4, 5, 6]]), torch.ones(1, 3, dtype=torch.bool)
    assert isinstance(loaded.encoder.embed.matrix, CharacterCNN)
    assert torch.equal(loaded.encoder(src, keep).states, model.eval().encoder(src, keep).states)


def refusal(settings: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        validate(settings)
    return caught.value.what


def test_characters_that_cannot_be_are_refused() -> None:
    said = refusal(table(src_embedding=CHARACTERS, tied="all"))
    assert "no table to share with the target" in said
    assert said.endswith('set model.tied = "target".')
    said = refusal(table(tgt_embedding=CHARACTERS, tied="target"))
    assert "no table to share with the output" in said
    assert said.endswith('set model.tied = "none".')
    said = refusal({**table(src_embedding=CHARACTERS, tied="target"), "text": {"kind": "bpe"}})
    assert 'needs word units, but the units are "bpe"' in said
    assert said.endswith('set text.src.kind = "word".')
