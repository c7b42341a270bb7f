"""Cells against torch's own, and the fused run against the definition."""

import pytest
import torch
from torch import nn

from dragoman.nn.cells.cell import CellState
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.unroll import last, reorder, reversal, unroll
from dragoman.nn.fast.recurrent import run


def test_lstm_cell_equals_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = LSTMCell(3, 5).double(), nn.LSTMCell(3, 5, dtype=torch.float64)
    theirs.weight_ih.data, theirs.weight_hh.data = ours.W_x.data, ours.W_h.data
    theirs.bias_ih.data, theirs.bias_hh.data = ours.b.data, torch.zeros_like(ours.b)
    x, h, c = (torch.randn(2, n, dtype=torch.float64) for n in (3, 5, 5))
    state = ours(x, CellState(h, c))
    h_t, c_t = theirs(x, (h, c))
    assert torch.allclose(state.h, h_t, atol=1e-12)
    assert torch.allclose(state.c, c_t, atol=1e-12)


def test_gru_cell_equals_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = GRUCell(3, 5).double(), nn.GRUCell(3, 5, dtype=torch.float64)
    nn.init.normal_(ours.b_h)
    theirs.weight_ih.data, theirs.weight_hh.data, theirs.bias_ih.data = (
        ours.W_x.data,
        ours.W_h.data,
        ours.b.data,
    )
    theirs.bias_hh.data = torch.cat((torch.zeros(10, dtype=torch.float64), ours.b_h.data))
    x, h = (torch.randn(2, n, dtype=torch.float64) for n in (3, 5))
    assert torch.allclose(ours(x, ours.begin(h)).h, theirs(x, h), atol=1e-12)


@pytest.mark.parametrize("kind", [LSTMCell, GRUCell])
@pytest.mark.parametrize(
    ("dtype", "forward", "backward"), [(torch.float64, 1e-12, 1e-12), (torch.float32, 1e-6, 2e-6)]
)
def test_fused_run_equals_unrolled_cell(
    kind: type[LSTMCell] | type[GRUCell], dtype: torch.dtype, forward: float, backward: float
) -> None:
    torch.manual_seed(1)
    cell = kind(4, 6).to(dtype)
    x = torch.randn(3, 50, 4, dtype=dtype, requires_grad=True)
    start = cell.begin(torch.randn(3, 6, dtype=dtype))
    slow, fast = unroll(cell, x, start), run(cell, x, start)
    assert torch.allclose(slow, fast, atol=forward)
    weight = torch.randn_like(slow)
    parameters = [x, *cell.parameters()]
    a = torch.autograd.grad((slow * weight).sum(), parameters)
    b = torch.autograd.grad((fast * weight).sum(), parameters)
    for u, v in zip(a, b, strict=True):
        assert float((u - v).norm() / u.norm()) <= backward


def test_one_bias_a_gate() -> None:
    assert sum(p.numel() for p in LSTMCell(74, 256).parameters()) == 338_944


def test_reversal_turns_only_real_tokens() -> None:
    keep = torch.tensor([[True, True, True, False], [True, False, False, False]])
    x = torch.arange(8.0).view(2, 4, 1)
    turned = reorder(x, reversal(keep)).squeeze(2)
    assert turned.tolist() == [[2.0, 1.0, 0.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


def test_last_is_the_last_real_token() -> None:
    keep = torch.tensor([[True, True, True, False], [True, False, False, False]])
    assert last(torch.arange(8.0).view(2, 4, 1), keep).tolist() == [[2.0], [4.0]]


@pytest.mark.parametrize("kind", [LSTMCell, GRUCell])
def test_cells_pass_gradcheck(kind: type[LSTMCell] | type[GRUCell]) -> None:
    cell = kind(2, 3).double()
    x, h = (torch.randn(2, n, dtype=torch.float64, requires_grad=True) for n in (2, 3))
    assert torch.autograd.gradcheck(lambda x, h: cell(x, cell.begin(h)).h, (x, h))
