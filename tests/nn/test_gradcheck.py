"""The gradient of every module in nn/ against differences of its own values; a new module needs a row."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest
import torch
from torch import nn
from torch.autograd.gradcheck import GradcheckError

import dragoman.nn
from dragoman.nn.conv.scaling import scale_gradient
from dragoman.nn.dropout import noise
from support.gradcheck import Check, check, drawn
from support.gradcheck_rows import FUNCTIONS, ROWS

MANY = 40


def defined(base: type) -> list[type]:
    """Every class of this kind that is written under nn/, but for those that only others can be made of."""
    found = []
    for module in pkgutil.walk_packages(dragoman.nn.__path__, "dragoman.nn."):
        for value in vars(import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module.name:
                found += [] if inspect.isabstract(value) else [value]
    return found


def name_of(kind: type) -> str:
    return f"{kind.__module__.removeprefix('dragoman.nn.')}.{kind.__qualname__}"


def passes(row: Check, *, whole: bool) -> bool:
    """Each number of the Jacobian, or (where there are many) the Jacobian along random directions.

    By itself, torch is content with a gradient that is wrong by a thousandth; float64 can tell more.
    """

    def keyed(*given: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        with noise(2):
            return row.function(*given)

    return torch.autograd.gradcheck(keyed, row.inputs, atol=1e-7, rtol=1e-6, fast_mode=not whole)


@pytest.mark.parametrize("kind", defined(nn.Module), ids=name_of)
def test_gradcheck(kind: type[nn.Module]) -> None:
    assert kind in ROWS, f"{name_of(kind)} has no gradcheck row"
    torch.manual_seed(0)
    row = ROWS[kind]()
    assert passes(row, whole=sum(x.numel() for x in row.inputs) < MANY)


@pytest.mark.parametrize("kind", defined(torch.autograd.Function), ids=name_of)
def test_gradcheck_where_the_gradient_is_written_by_hand(kind: type) -> None:
    assert name_of(kind) in FUNCTIONS, f"{name_of(kind)} has no gradcheck row"
    torch.manual_seed(0)
    assert all(passes(make(), whole=True) for make in FUNCTIONS[name_of(kind)])


@pytest.mark.parametrize("whole", [True, False])
def test_a_wrong_gradient_is_found(whole: bool) -> None:
    torch.manual_seed(0)
    linear = nn.Linear(2, 3)
    right = check(linear, linear, drawn(2, 2))
    wrong = check(linear, lambda x: x @ scale_gradient(linear.weight, 0.9999).T, drawn(2, 2))
    assert passes(right, whole=whole)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        passes(wrong, whole=whole)
