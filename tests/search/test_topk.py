"""The k best by blocks of tokens: the same as by the definition, ties and all."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.search.topk import BLOCK_TOKENS, mask_never_written, topk, topk_sums

INF = torch.inf


def by_definition(p: torch.Tensor, log_p: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    sums = p.unsqueeze(-1) + mask_never_written(log_p).view(*p.shape, -1)
    return topk(sums.flatten(1), k)


def assert_alike(p: torch.Tensor, log_p: torch.Tensor, k: int) -> None:
    (value, index), (want, places) = topk_sums(p, log_p, k), by_definition(p, log_p, k)
    assert torch.equal(value, want)
    assert torch.equal(index[value.isfinite()], places[want.isfinite()])
    assert int(index.max()) < p.shape[1] * log_p.shape[1]


@pytest.mark.parametrize(
    "V", [5, BLOCK_TOKENS - 1, BLOCK_TOKENS, BLOCK_TOKENS + 1, 7 * BLOCK_TOKENS, 7 * BLOCK_TOKENS + 5, 1000]
)
@pytest.mark.parametrize(("W", "k"), [(1, 2), (5, 10), (4, 3)])
def test_the_k_best_by_blocks_are_the_k_best(V: int, W: int, k: int) -> None:
    generator = torch.Generator().manual_seed(V)
    log_p = torch.randn(6 * W, V, generator=generator).log_softmax(-1)
    log_p[:, 2] = 0.0  # <s> is likely, and never written
    p = -torch.rand(6, W, generator=generator)
    p[0, 1:] = -INF  # a beam that has just begun
    assert_alike(p, log_p, k)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    values=st.sampled_from([[-1.0, -2.0], [-1.0, -1.5, -2.0, -INF], [-3.0] + [-INF] * 9]),
    V=st.sampled_from([2 * BLOCK_TOKENS, 5 * BLOCK_TOKENS + 3]),
)
def test_equal_sums_come_in_the_order_they_stand(seed: int, values: list[float], V: int) -> None:
    """A few values only: the k-th best is nearly always tied, within blocks and between them."""
    generator = torch.Generator().manual_seed(seed)
    few = torch.tensor(values)
    log_p = few[torch.randint(len(few), (6, V), generator=generator)]
    p = torch.tensor([-0.5, 0.0, -1.0])[torch.randint(3, (2, 3), generator=generator)]
    assert_alike(p, log_p, 6)


def test_sums_that_become_equal_by_rounding_are_ties() -> None:
    log_p = -1.0 - torch.arange(4 * BLOCK_TOKENS).float().flip(0).unsqueeze(0) * 1e-7
    assert_alike(torch.tensor([[-1000.0]]), log_p, 2)
