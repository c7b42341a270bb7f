"""Every module of nn/ is what its definition says, in values and gradients; a new module needs a row."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dragoman.nn.bridge import LastStateBridge, ZeroBridge
from dragoman.nn.dropout import Dropout
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.position import NoRelativePositions
from dragoman.nn.recurrent.dropout import VariationalDropout
from dragoman.nn.transformer.residual import LayerDrop, StochasticDepth
from nn.test_gradcheck import defined, name_of
from support.definition import apart, made, values_and_gradients
from support.definition_rows import ROWS

F32, F64 = torch.float32, torch.float64
# What draws is held against its expectation, and what has no equation has no definition.
WITHOUT = {
    *(Dropout, VariationalDropout, StochasticDepth, LayerDrop),
    *(TypedModuleList, NoRelativePositions, LastStateBridge, ZeroBridge),
}
KINDS = [kind for kind in defined(nn.Module) if kind not in WITHOUT]


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@pytest.mark.parametrize(("dtype", "forward", "backward"), [(F64, 1e-12, 1e-12), (F32, 1e-6, 2e-6)])
def test_it_is_its_definition(
    kind: type[nn.Module], dtype: torch.dtype, forward: float, backward: float
) -> None:
    """The definition is computed in float64 from the same weights and inputs."""
    assert kind in ROWS, f"{name_of(kind)} has no definition row"
    row = ROWS[kind]
    module, exact = made(row.make, dtype), made(row.make, F64)
    exact.load_state_dict(module.state_dict())
    inputs = [torch.randn(*shape, dtype=dtype) for shape in row.shapes]
    values, gradients = values_and_gradients(row.ours, module, inputs)
    expected, slopes = values_and_gradients(row.theirs, exact, [x.double() for x in inputs])
    assert max(apart(a, b) for a, b in zip(values, expected, strict=True)) <= forward
    assert max((apart(a, b) for a, b in zip(gradients, slopes, strict=True)), default=0.0) <= backward
