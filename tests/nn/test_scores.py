"""Each score against its formula, state by state, and the poolings that need no query from outside."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from dragoman.config.model import ModelConfig
from dragoman.nn.attention.pooling import LearnedQuery, PositionBiasPooling
from dragoman.nn.attention.scores import (
    Additive,
    Concat,
    Cosine,
    Dot,
    Multiplicative,
    ProjectedKeys,
    ScaledDot,
    Score,
)

Formula = Callable[[Score, Tensor, Tensor], Tensor]


def additive(m: Additive, s: Tensor, h: Tensor) -> Tensor:
    return m.v @ torch.tanh(m.W_1.weight @ h + m.W_2.weight @ s)


def concat(m: Concat, s: Tensor, h: Tensor) -> Tensor:
    return m.v @ torch.tanh(m.W_1.weight @ torch.cat((s, h)))


def projected(m: ProjectedKeys, s: Tensor, h: Tensor) -> Tensor:
    return s @ (m.W_k.weight @ h) / math.sqrt(3)


SCORES: dict[str, tuple[Callable[[], nn.Module], int, Formula]] = {
    "additive": (lambda: Additive(3, 4, 5), 4, additive),
    "multiplicative": (lambda: Multiplicative(3, 4), 4, lambda m, s, h: s @ m.W.weight @ h),
    "concat": (lambda: Concat(3, 4, 5), 4, concat),
    "dot": (Dot, 3, lambda m, s, h: s @ h),
    "scaled dot": (ScaledDot, 3, lambda m, s, h: s @ h / math.sqrt(3)),
    "cosine": (Cosine, 3, lambda m, s, h: m.beta[0] * (s @ h) / (s.norm() * h.norm())),
    "projected keys": (lambda: ProjectedKeys(ScaledDot(), 4, 3), 4, projected),
}


@pytest.mark.parametrize("name", SCORES)
def test_score_is_the_formula(name: str) -> None:
    make, key_size, formula = SCORES[name]
    torch.manual_seed(0)
    module = make().double()
    for p in module.parameters():
        nn.init.normal_(p)
    s = torch.randn(2, 2, 3, dtype=torch.float64)
    h = torch.randn(2, 3, key_size, dtype=torch.float64)
    e = module.score(s, module.keys(h))
    for b, t, i in ((0, 0, 0), (0, 1, 2), (1, 1, 1)):
        assert torch.allclose(e[b, t, i], formula(module, s[b, t], h[b, i]), rtol=0.0, atol=1e-12)


def test_learned_query_pools_the_real_tokens() -> None:
    torch.manual_seed(0)
    pooling = LearnedQuery(Multiplicative(3, 4), 3, nn.Linear(4, 2)).double()
    h = torch.randn(2, 5, 4, dtype=torch.float64)
    keep = torch.tensor([[True] * 5, [True, True, False, False, False]])
    c, alpha = pooling(h, keep)
    expected = torch.softmax(torch.stack([pooling.q @ pooling.score.W.weight @ x for x in h[1, :2]]), dim=0)
    assert torch.allclose(alpha[1], torch.cat((expected, torch.zeros(3).double())), rtol=0.0, atol=1e-12)
    assert torch.allclose(c[1], expected @ pooling.values(h[1, :2]), rtol=0.0, atol=1e-12)


def test_learned_query_without_projections_mixes_the_states_themselves() -> None:
    pooling = LearnedQuery(Dot(), 4)
    h = torch.randn(1, 3, 4)
    c, alpha = pooling(h, torch.ones(1, 3, dtype=torch.bool))
    assert torch.allclose(c[0], alpha[0] @ h[0], rtol=0.0, atol=1e-6)
    assert [name for name, _ in pooling.named_parameters()] == ["q"]


def test_placed_pooling_is_the_formula() -> None:
    torch.manual_seed(0)
    pooling = PositionBiasPooling(3, 2).double()
    nn.init.normal_(pooling.b)
    h = torch.randn(1, 3, 2, dtype=torch.float64)
    c, alpha = pooling(h, torch.tensor([[True, True, False]]))
    e = [torch.tanh(pooling.w @ h[0, i] + pooling.b[i]) for i in range(2)]
    assert torch.allclose(alpha[0, :2], torch.softmax(torch.stack(e), dim=0), rtol=0.0, atol=1e-12)
    assert torch.allclose(c[0], alpha[0] @ h[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("attention", ["dot", "scaled-dot", "cosine"])
def test_products_of_unequal_widths_are_refused_with_a_way_out(attention: str) -> None:
    encoder = {"kind": "rnn", "width": 8, "bidirectional": True}
    with pytest.raises(ValueError, match=r"decoder\.width = 16 or decoder\.attention"):
        ModelConfig.model_validate(
            {"encoder": encoder, "decoder": {"kind": "rnn", "width": 8, "attention": attention}}
        )
    ModelConfig.model_validate(
        {"encoder": encoder, "decoder": {"kind": "rnn", "width": 16, "attention": attention}}
    )
