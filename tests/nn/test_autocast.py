"""Training under autocast: sums over tokens are in fp32, as is every loss, and no gradient is far off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from dragoman.config.model import ModelConfig
from dragoman.config.parts.recurrent import RNNEncoderPart
from dragoman.models.build import build_model
from dragoman.models.builders.recurrent import around
from dragoman.models.builders.transformer import NORMS
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.embedding import PlainEmbedding, PositionedEmbedding, ScaledEmbedding, embedding_matrix
from dragoman.nn.position import Learned, RelativeBias, Sinusoidal
from dragoman.protocols import Batch
from support.pairs import DECODERS, ENCODERS, PAIRS, batch_of, parts_of

ROWS, D = 4096, 16
ONES = torch.ones(64, 64, dtype=torch.long)  # 4096 times token 1


def gradients(module: nn.Module, call: Callable[[nn.Module], Tensor]) -> dict[str, Tensor]:
    """Of the sum of all that comes out, under autocast."""
    with torch.autocast("cpu"):
        out = call(module)
    out.float().sum().backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("kind", NORMS)
def test_a_norm_sums_all_rows(kind: str) -> None:
    x = torch.randn(ROWS, D, generator=torch.Generator().manual_seed(1)).bfloat16() + 1
    found = gradients(NORMS[kind](D), lambda norm: norm(x))
    if "bias" in found:
        assert found["bias"].tolist() == [ROWS] * D
    exact = NORMS[kind](D).double()
    exact(x.double()).sum().backward()
    assert exact.weight.grad is not None
    assert float((found["weight"] - exact.weight.grad).norm() / exact.weight.grad.norm()) < 0.01


EMBEDDINGS: dict[str, tuple[Callable[[], nn.Module], Callable[[nn.Module], Tensor], dict[str, float]]] = {
    "plain": (lambda: PlainEmbedding(embedding_matrix(3, D), 0.0), lambda e: e(ONES), {"matrix": 1}),
    "scaled": (lambda: ScaledEmbedding(embedding_matrix(3, D), 0.0), lambda e: e(ONES), {"matrix": 4}),
    "sinusoidal": (
        lambda: PositionedEmbedding(embedding_matrix(3, D), Sinusoidal(64, D), 0.0),
        lambda e: e(ONES),
        {"matrix": 4},
    ),
    "learned": (
        lambda: PositionedEmbedding(embedding_matrix(3, D), Learned(1, D), 0.0),
        lambda e: e(ONES.view(-1, 1)),
        {"matrix": 4, "positions.table": 1},
    ),
    "placed": (
        lambda: PositionalEmbedding(embedding_matrix(3, D), 1, D, 0.0),
        lambda e: e(ONES.view(-1, 1)),
        {"matrix": 1, "places": 1},
    ),
    "placed, a step": (
        lambda: PositionalEmbedding(embedding_matrix(3, D), 1, D, 0.0),
        lambda e: e.at(ONES.flatten(), torch.zeros(ROWS, dtype=torch.long)),  # type: ignore[operator]
        {"matrix": 1, "places": 1},
    ),
}


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_an_embedding_sums_all_tokens(kind: str) -> None:
    make, call, times = EMBEDDINGS[kind]
    found = gradients(make(), call)
    for name, scale in times.items():
        row = 1 if name == "matrix" else 0
        assert found[name][row].tolist() == [scale * ROWS] * D, name
    assert found["matrix"][0].tolist() == [0] * D


def test_a_bias_of_distances_sums_all_places() -> None:
    """Far keys share a bucket: nearly all of 150 × 150 places are in two of them."""
    bias = RelativeBias(2, ahead=True)
    found = gradients(bias, lambda b: b.bias(150, 150, 0))["table"]  # type: ignore[operator]
    counts = RelativeBias(2, ahead=True).double()
    counts.bias(150, 150, 0).sum().backward()
    assert counts.table.grad is not None
    assert float(((found - counts.table.grad) / counts.table.grad).abs().nan_to_num().max()) < 0.005
    assert float(counts.table.grad.max()) > 1000


def gradients_of(pair: tuple[str, str], batch: Batch, *, mixed: bool) -> dict[str, Tensor]:
    config = {**parts_of(pair), "encoder": still(ENCODERS[pair[0]]), "decoder": still(DECODERS[pair[1]])}
    model: Seq2Seq = build_model(ModelConfig.model_validate(config), 23, 23, smoothing=0.1, seed=3)
    with torch.autocast("cpu", enabled=mixed):
        loss, nll = model.train()(batch)
    assert (loss.dtype, nll.dtype) == (torch.float32, torch.float32)
    (loss / 1000).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def still(part: dict[str, object]) -> dict[str, object]:
    """Without what is left out at random."""
    random = {"stochastic_depth": 0.0} if part["kind"] == "transformer" else {}
    return {**part, "dropout": 0.0, **random}


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_every_pair_trains_under_autocast(pair: tuple[str, str]) -> None:
    batch = batch_of([(3 + n % 6, 3 + n % 7) for n in range(8)])
    exact, mixed = (gradients_of(pair, batch, mixed=mixed) for mixed in (False, True))
    assert mixed.keys() == exact.keys()
    whole, rounded = (torch.cat([grad.flatten() for grad in each.values()]) for each in (exact, mixed))
    assert float((rounded - whole).norm() / whole.norm()) < 0.1


LARGE = [
    ("transformer", "transformer"),
    ("post-norm learned", "post-norm learned"),
    ("relative", "relative"),
    ("gnmt", "transformer"),
    ("conv", "conv"),
]


@pytest.mark.parametrize("pair", LARGE, ids=" ".join)
def test_no_gradient_of_a_batch_is_far_from_that_in_fp32(pair: tuple[str, str]) -> None:
    batch = batch_of([(24 + n % 9, 20 + n % 13) for n in range(128)])
    exact, mixed = (gradients_of(pair, batch, mixed=mixed) for mixed in (False, True))
    errors = {n: float((mixed[n] - exact[n]).norm() / exact[n].norm()) for n in exact}
    assert {name: error for name, error in errors.items() if error > 0.06} == {}


def test_recurrent_layers_have_these_norms() -> None:
    part = RNNEncoderPart.model_validate({"kind": "rnn", "norm": True})
    x = torch.ones(ROWS, D, dtype=torch.bfloat16)
    found = gradients(around(part, D + 1, D), lambda layer: layer(x, x))
    assert found["norm.bias"].tolist() == [ROWS] * D
