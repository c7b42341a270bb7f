"""The softmax over few keys beside torch's own."""

from __future__ import annotations

import pytest
import torch

from dragoman.nn.fast.activations import softmax
from dragoman.shapes import Tensor

KEYS = [1, 2, 3, 4, 5, 8, 13, 15, 16, 17, 31, 32, 33, 40]
TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float64: 1e-12}


def scores(keys: int, dtype: torch.dtype) -> Tensor:
    """Of three heads and five queries; the last two keys are hidden from the last query."""
    e = torch.randn(3, 5, keys, generator=torch.Generator().manual_seed(keys)).to(dtype)
    if keys > 2:
        e[:, -1, -2:] = -torch.inf
    return e.requires_grad_()


def test_weights_and_gradients_are_those_of_torch() -> None:
    for dtype, close in TOLERANCE.items():
        for keys in KEYS:
            e, g = scores(keys, dtype), torch.rand(3, 5, keys).to(dtype)
            ours, theirs = softmax(e), torch.softmax(e, dim=-1)
            torch.testing.assert_close(ours, theirs, rtol=close, atol=close)
            pair = (torch.autograd.grad(alpha, e, g)[0] for alpha in (ours, theirs))
            torch.testing.assert_close(*pair, rtol=close, atol=close)
            assert ours.shape == e.shape


def test_a_row_is_the_same_alone_as_among_others() -> None:
    for keys in KEYS:
        e = torch.randn(500, keys)
        assert torch.equal(softmax(e)[7:8], softmax(e[7:8]))


@pytest.mark.parametrize("keys", [3, 8, 16])
def test_where_all_is_hidden_there_is_no_number(keys: int) -> None:
    assert softmax(torch.full((1, keys), -torch.inf)).isnan().all()
