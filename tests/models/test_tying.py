"""One matrix for source, target and output, for two of them, or a matrix each (Press & Wolf 2017)."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.load import validate
from dragoman.config.model import ModelConfig
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import ConfigError
from dragoman.models.build import build_model
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle, save_bundle
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch
from dragoman.text.build import learn
from support.tiny_bundle import TRANSFORMER, WORDS

V, E = 23, 32
TIES = ("all", "target", "none")


def model_of(tied: str, decoder: Any = TRANSFORMER) -> Seq2Seq:
    config = ModelConfig.model_validate({"encoder": TRANSFORMER, "decoder": decoder, "tied": tied})
    return build_model(config, V, V, smoothing=0.1, seed=3)


def matrices(model: Seq2Seq) -> list[torch.nn.Parameter]:
    return [model.encoder.embed.matrix, model.decoder.embed.matrix, model.head.W]


def batch() -> Batch:
    draw = torch.Generator().manual_seed(1)
    src, tgt = (torch.randint(4, V, (3, 6), generator=draw) for _ in range(2))
    keep = torch.ones(3, 6, dtype=torch.bool)
    return Batch(src, keep, tgt, tgt.roll(-1, dims=1), keep)


def test_each_tie_saves_a_matrix_of_parameters() -> None:
    all_three, two, none = (sum(p.numel() for p in model_of(tied).parameters()) for tied in TIES)
    assert two - all_three == V * E
    assert none - two == V * E


@pytest.mark.parametrize("tied", ["all", "target"])
def test_gradient_of_a_shared_matrix_is_the_sum_over_its_uses(tied: str) -> None:
    shared, apart = model_of(tied).double().eval(), model_of("none").double().eval()
    with torch.no_grad():  # the same numbers in matrices of their own
        rest = dict(shared.named_parameters(remove_duplicate=False))
        for name, p in apart.named_parameters():
            p.copy_(rest[name])
    for model in (shared, apart):
        model(batch()).loss.backward()
    source, target, output = (m.grad for m in matrices(apart))
    expected = source + target + output if tied == "all" else target + output
    assert float((shared.head.W.grad - expected).norm() / expected.norm()) < 2e-6  # the loss is in fp32


@pytest.mark.parametrize("tied", TIES)
def test_saved_and_loaded_matrices_are_tied_as_before(tied: str, tmp_path: Path) -> None:
    table = {
        "data": {"train": "train.tsv"},
        "text": {"kind": "word", "size": 100},
        "model": {"encoder": TRANSFORMER, "decoder": TRANSFORMER, "tied": tied},
    }
    config = validate(table)
    text = learn(config.text, zip([" ".join(WORDS)], [" ".join(WORDS)], strict=True))
    bundle = Bundle(config, text, new_model(config, text))
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    save_bundle(tmp_path / "model", config, text, weights, "A tiny model.\n")
    loaded = load_bundle(tmp_path / "model").model
    for old, new in zip(matrices(bundle.model), matrices(loaded), strict=True):
        assert torch.equal(old, new)
    for (a, b), (c, d) in zip(
        combinations(matrices(bundle.model), 2), combinations(matrices(loaded), 2), strict=True
    ):
        assert (a is b) == (c is d)


class WideOutput(TransformerPart):
    """A decoder whose features are not as many as its embeddings have."""

    @property
    def features(self) -> int:
        return 40


def test_output_of_another_width_has_a_matrix_of_its_own() -> None:
    model = model_of("none", WideOutput.model_validate(TRANSFORMER))
    assert model.decoder.embed.matrix.shape == (V, E)
    assert model.head.W.shape == (V, 40)


def refusal(**model: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        validate({"data": {"train": "train.tsv"}, "model": model})
    return caught.value.what


def test_ties_between_unlike_matrices_are_refused() -> None:
    wide = {**TRANSFORMER, "width": 64}
    said = refusal(encoder=wide, decoder=TRANSFORMER, tied="all")
    assert "source embeddings of 64 features and target embeddings of 32" in said
    assert said.endswith('or set model.tied = "target".')
    ModelConfig.model_validate({"encoder": wide, "decoder": TRANSFORMER, "tied": "target"})
    said = refusal(encoder=TRANSFORMER, decoder=WideOutput.model_validate(TRANSFORMER), tied="target")
    assert "embeddings of 32 features and an output of 40" in said
    assert said.endswith('or set model.tied = "none".')
