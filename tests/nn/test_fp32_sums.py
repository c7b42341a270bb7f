"""Gradients that are sums over tokens: in bf16 on a CPU as large as they are, in fp32 as torch has them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.model import ModelConfig
from dragoman.config.parts.recurrent import RNNEncoderPart
from dragoman.models.build import build_model
from dragoman.models.builders.recurrent import around
from dragoman.models.builders.transformer import NORMS
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.characters import CharacterCNN
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.embedding import PlainEmbedding, PositionedEmbedding, ScaledEmbedding, embedding_matrix
from dragoman.nn.fp32_sums import embedding, layer_norm
from dragoman.nn.position import Learned, RelativeBias, Sinusoidal
from dragoman.protocols import Batch
from support.pairs import DECODERS, ENCODERS, batch_of, parts_of

ROWS, D = 4096, 16
ONES = torch.ones(64, 64, dtype=torch.long)  # 4096 times token 1


def gradients(module: nn.Module, call: Callable[[nn.Module], Tensor]) -> dict[str, Tensor]:
    """Of the sum of all that comes out, in bf16."""
    module.to(torch.bfloat16).zero_grad()
    call(module).float().sum().backward()
    return {name: p.grad.float() for name, p in module.named_parameters() if p.grad is not None}


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


def test_characters_sum_all_words() -> None:
    """All words begin with one character, and what fills them up is not trained."""
    spelling = torch.tensor([[1, 2 + n % 3, 0] for n in range(ROWS)], dtype=torch.int32)
    made = CharacterCNN(spelling, features=4, widths=[1], filters=4, highways=1, size=D)
    words = torch.arange(ROWS)

    def table(module: nn.Module, dtype: torch.dtype) -> Tensor:
        module.to(dtype).zero_grad()
        module(words).to(torch.float64).sum().backward()
        grad = module.get_parameter("characters.weight").grad
        assert grad is not None
        return grad.double()

    bf16 = table(made, torch.bfloat16)
    exact = table(made, torch.float64)
    assert float((bf16 - exact).norm() / exact.norm()) < 0.02
    assert bf16[0].tolist() == [0] * 4


def test_fp32_is_bit_for_bit_as_torch_has_it() -> None:
    draw = torch.Generator().manual_seed(1)
    x, g, b, W = (torch.randn(*shape, generator=draw) for shape in ((70, D), (D,), (D,), (9, D)))
    y = torch.randint(0, 9, (5, 7), generator=draw)
    for mine, theirs in (
        (lambda x, g, b, W: layer_norm(x, g, b, 1e-5), lambda x, g, b, W: F.layer_norm(x, (D,), g, b, 1e-5)),
        (lambda x, g, b, W: embedding(y, W, 0), lambda x, g, b, W: F.embedding(y, W, 0)),
    ):
        both = []
        for f in (mine, theirs):
            given = [t.clone().requires_grad_() for t in (x, g, b, W)]
            out = f(*given)
            (out * out.cos()).sum().backward()
            both.append([out, *(t.grad for t in given if t.grad is not None)])
        assert all(torch.equal(a, b) for a, b in zip(*both, strict=True))


PAIRS = [
    ("transformer", "transformer"),
    ("post-norm learned", "post-norm learned"),
    ("relative", "relative"),
    ("gnmt", "transformer"),
    ("conv", "conv"),
]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_no_gradient_of_a_batch_is_far_from_that_in_fp32(pair: tuple[str, str]) -> None:
    """Weights are rounded for both, so that only arithmetic differs."""
    batch = batch_of([(24 + n % 9, 20 + n % 13) for n in range(128)])
    exact, rough = whole(pair, torch.float32, batch), whole(pair, torch.bfloat16, batch)
    errors = {n: float((rough[n] - exact[n]).norm() / exact[n].norm()) for n in exact}
    assert {name: error for name, error in errors.items() if error > 0.06} == {}


def whole(pair: tuple[str, str], dtype: torch.dtype, batch: Batch) -> dict[str, Tensor]:
    config = {**parts_of(pair), "encoder": still(ENCODERS[pair[0]]), "decoder": still(DECODERS[pair[1]])}
    model: Seq2Seq = build_model(ModelConfig.model_validate(config), 23, 23, smoothing=0.1, seed=3)
    model.to(torch.bfloat16).to(dtype).train()
    (model(batch).loss / 1000).backward()
    return {name: p.grad.float() for name, p in model.named_parameters() if p.grad is not None}


def still(part: dict[str, object]) -> dict[str, object]:
    """Without what is left out at random."""
    random = {"stochastic_depth": 0.0} if part["kind"] == "transformer" else {}
    return {**part, "dropout": 0.0, **random}


def test_recurrent_layers_have_these_norms() -> None:
    part = RNNEncoderPart.model_validate({"kind": "rnn", "norm": True})
    x = torch.ones(ROWS, D, dtype=torch.bfloat16)
    found = gradients(around(part, D + 1, D), lambda layer: layer(x, x))
    assert found["norm.bias"].tolist() == [ROWS] * D
