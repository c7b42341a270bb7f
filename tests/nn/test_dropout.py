"""Dropout is a function of its key, unbiased, and the same for a residual."""

import pytest
import torch

from dragoman.nn.dropout import Dropout, noise


def test_same_key_same_mask_and_another_key_another() -> None:
    drop, x = Dropout(0.3), torch.ones(1000)
    with noise(1, 2, 3):
        first, second = drop(x), drop(x)
    with noise(1, 2, 3):
        again = drop(x)
    with noise(1, 2, 4):
        other = drop(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rate_and_expectation(rate: float, dtype: torch.dtype) -> None:
    drop = Dropout(rate)
    with noise(7):
        y = drop(torch.ones(1_000_003, dtype=dtype)).float()
    assert float((y == 0).float().mean()) == pytest.approx(rate, abs=0.005)
    assert float(y.double().mean()) == pytest.approx(1.0, abs=5 * (rate / (1 - rate) / 1e6) ** 0.5 + 1e-5)
    assert y.unique().numel() == 2


def test_residual_equals_sum() -> None:
    drop = Dropout(0.1)
    x, y = torch.randn(40, 7), torch.randn(40, 7)
    with noise(3):
        together = drop.add(x, y)
    with noise(3):
        apart = x + drop(y)
    assert torch.allclose(together, apart, rtol=0.0, atol=1e-6)


def test_gradient_passes_where_the_input_did() -> None:
    drop, x = Dropout(0.5), torch.ones(100, requires_grad=True)
    with noise(5):
        y = drop(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_nothing_is_dropped_when_not_training_or_at_rate_zero() -> None:
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_masks_without_a_key_differ() -> None:
    drop, x = Dropout(0.5), torch.ones(1000)
    assert not torch.equal(drop(x), drop(x))
