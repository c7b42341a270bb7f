"""What gradcheck is given: a function and its inputs, of a module whose every weight is at work.

Dropout is at work in every row, under one key, so that a row is a function like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dragoman.nn.attention.attend import padding_bias

F64 = torch.float64
DROP = 0.25
KEEP = torch.tensor([[True, True, True], [True, True, False]])
HIDDEN = padding_bias(KEEP, F64)
WORDS = torch.tensor([[0, 2, 1], [1, 2, 2]])


class Check(NamedTuple):
    """A function of tensors; those that need a gradient are its inputs and the parameters that it uses."""

    function: Callable[..., Tensor | tuple[Tensor, ...]]
    inputs: tuple[Tensor, ...]


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=F64, requires_grad=True)


def check(module: nn.Module, function: Callable[..., Tensor | tuple[Tensor, ...]], *inputs: Tensor) -> Check:
    """Of a module whose every weight is at work: what starts as 0 would hide a wrong gradient."""
    module.double().train()
    for p in module.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return Check(lambda *given: function(*given[: len(inputs)]), (*inputs, *module.parameters()))


def plain(module: nn.Module, *inputs: Tensor) -> Check:
    return check(module, module, *inputs)
