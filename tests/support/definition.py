"""What a module is held against: torch's own, or its equation written out, with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.nn.attention.attend import padding_bias

Values = Tensor | tuple[Tensor, ...]
B, S = 3, 4
HALF = 0.5**0.5
KEEP = torch.arange(S) < torch.tensor([[4], [3], [1]])
WORDS = torch.tensor([[0, 2, 1, 4], [1, 2, 2, 0], [3, 0, 0, 1]])


class Definition(NamedTuple):
    make: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]  # of the inputs
    theirs: Callable[..., Values]  # of the module, for its weights, and the inputs
    ours: Callable[..., Values]


def row(
    make: Callable[[], nn.Module],
    *shapes: tuple[int, ...],
    theirs: Callable[..., Values],
    ours: Callable[..., Values] = lambda m, *inputs: m(*inputs),
) -> Definition:
    return Definition(make, shapes, theirs, ours)


def hidden(x: Tensor) -> Tensor:
    return padding_bias(KEEP, x.dtype)


def made(make: Callable[[], nn.Module], dtype: torch.dtype) -> nn.Module:
    """With every weight at work: what starts as 0 or 1 would hide a wrong equation."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        torch.manual_seed(0)
        module = make()
        for p in module.parameters():
            p.data.add_(0.3 * torch.randn_like(p))
    finally:
        torch.set_default_dtype(usual)
    return module


def values_and_gradients(
    function: Callable[..., Values], module: nn.Module, inputs: list[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The gradients of all weights and inputs, from some weight for each number of the result."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    found = function(module, *leaves)
    values = list(found) if isinstance(found, tuple) else [found]
    total = sum((x * torch.arange(x.numel()).sin().view(x.shape).to(x)).sum() for x in values)
    options: dict[str, Any] = {"allow_unused": True, "materialize_grads": True}
    return values, list(torch.autograd.grad(total, [*leaves, *module.parameters()], **options))


def apart(found: Tensor, expected: Tensor) -> float:
    """‖a − b‖ / ‖b‖"""
    found, expected = found.detach().double(), expected.detach()
    return float((found - expected).norm() / (expected.norm() if expected.any() else 1.0))
