"""Coverage by hand numbers."""

import pytest
import torch

from dragoman.losses.coverage import coverage


def test_by_hand() -> None:
    alpha = torch.tensor([[[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    # cov: 0, then (.5 .5 0), then (.75 .75 .5); min with α: 0, .5, .75
    assert float(coverage(alpha).sum()) == 1.25
    assert float(coverage(alpha)[:, :2].sum()) == 0.5


def test_looking_at_each_token_once_costs_nothing() -> None:
    assert float(coverage(torch.eye(4).unsqueeze(0)).sum()) == 0.0
    twice = torch.tensor([[[1.0, 0.0]] * 5])
    assert float(coverage(twice).sum()) == pytest.approx(4.0)


def test_gradient() -> None:
    torch.manual_seed(0)
    e = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda e: coverage(e.softmax(dim=2)), e)
