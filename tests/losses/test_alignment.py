"""Guided alignment against torch's cross-entropy."""

import torch
from torch.nn import functional as F

from dragoman.losses.alignment import guided_alignment


def test_equals_torch() -> None:
    torch.manual_seed(0)
    e, A = torch.randn(2, 3, 5, dtype=torch.float64), torch.rand(2, 3, 5, dtype=torch.float64).softmax(dim=2)
    expected = F.cross_entropy(e.flatten(0, 1), A.flatten(0, 1), reduction="sum")
    assert torch.allclose(guided_alignment(e.softmax(dim=2), A), expected, rtol=0.0, atol=1e-12)


def test_no_weight_where_there_is_padding() -> None:
    alpha = torch.tensor([[[0.5, 0.5, 0.0]]], requires_grad=True)
    guided_alignment(alpha, torch.tensor([[[1.0, 0.0, 0.0]]])).backward()
    assert alpha.grad is not None
    assert alpha.grad.tolist() == [[[-2.0, 0.0, 0.0]]]


def test_gradient() -> None:
    torch.manual_seed(0)
    e = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    A = torch.rand(2, 3, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda e: guided_alignment(e.softmax(dim=2), A), e)
