"""Cells against torch's own, and what is fast against the definition."""

import pytest
import torch
from torch import nn

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.cells.unroll import last, reorder, reversal, unroll
from dragoman.nn.fast.lstm_scan import sweep
from dragoman.nn.fast.recurrent import run, run_to_ends

CELLS = [ElmanCell, LSTMCell, PeepholeLSTMCell, CoupledLSTMCell, GRUCell, ResetFirstGRUCell]
F64 = torch.float64


def made(kind: type[Cell], dtype: torch.dtype = F64) -> Cell:
    """A cell whose every weight is at work."""
    torch.manual_seed(1)
    cell = kind(4, 6).to(dtype)
    for p in cell.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return cell


def count(*modules: nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize(
    ("kind", "theirs"),
    [(ElmanCell, nn.RNNCell(4, 6)), (LSTMCell, nn.LSTMCell(4, 6)), (GRUCell, nn.GRUCell(4, 6))],
)
def test_cell_equals_torch(kind: type[Cell], theirs: nn.RNNCellBase) -> None:
    ours, theirs = made(kind), theirs.double()
    theirs.weight_ih.data, theirs.weight_hh.data = ours.W_x.data, ours.W_h.data
    theirs.bias_ih.data, theirs.bias_hh.data = ours.b.data, torch.zeros_like(ours.b)
    x, h, c = (torch.randn(2, n, dtype=F64) for n in (4, 6, 6))
    if kind is LSTMCell:
        state, (h_t, c_t) = ours(x, CellState(h, c)), theirs(x, (h, c))
        assert torch.allclose(state.c, c_t, rtol=0.0, atol=1e-12)
    else:
        state, h_t = ours(x, ours.begin(h)), theirs(x, h)
    assert torch.allclose(state.h, h_t, rtol=0.0, atol=1e-12)


def test_peephole_lstm_is_the_formula() -> None:
    cell = made(PeepholeLSTMCell)
    x, h, c = (torch.randn(n, dtype=F64) for n in (4, 6, 6))
    a_i, a_f, a_g, a_o = (cell.W_x @ x + cell.W_h @ h + cell.b).view(4, 6)
    i, f = torch.sigmoid(a_i + cell.p[0] * c), torch.sigmoid(a_f + cell.p[1] * c)
    new = f * c + i * torch.tanh(a_g)
    o = torch.sigmoid(a_o + cell.p[2] * new)
    state = cell(x[None], CellState(h[None], c[None]))
    assert torch.allclose(state.c[0], new, rtol=0.0, atol=1e-12)
    assert torch.allclose(state.h[0], o * torch.tanh(new), rtol=0.0, atol=1e-12)


def test_peephole_lstm_starts_as_an_lstm() -> None:
    peephole, plain = PeepholeLSTMCell(4, 6).double(), LSTMCell(4, 6).double()
    plain.load_state_dict({k: v for k, v in peephole.state_dict().items() if k != "p"})
    x, start = torch.randn(2, 4, dtype=F64), CellState(*torch.randn(2, 2, 6, dtype=F64))
    assert torch.equal(peephole(x, start).h, plain(x, start).h)


def test_coupled_lstm_is_an_lstm_with_one_minus_f() -> None:
    cell = made(CoupledLSTMCell)
    x, h, c = (torch.randn(n, dtype=F64) for n in (4, 6, 6))
    a_f, a_g, a_o = (cell.W_x @ x + cell.W_h @ h + cell.b).view(3, 6)
    f = torch.sigmoid(a_f)
    new = f * c + (1 - f) * torch.tanh(a_g)
    state = cell(x[None], CellState(h[None], c[None]))
    assert torch.allclose(state.c[0], new, rtol=0.0, atol=1e-12)
    assert torch.allclose(state.h[0], torch.sigmoid(a_o) * torch.tanh(new), rtol=0.0, atol=1e-12)


def test_the_second_gru_resets_first() -> None:
    cell = made(ResetFirstGRUCell)
    x, h = (torch.randn(n, dtype=F64) for n in (4, 6))
    r_x, u_x, n_x = (cell.W_x @ x + cell.b).view(3, 6)
    W_r, W_u, W_n = cell.W_h.split(6)
    r, u = torch.sigmoid(r_x + W_r @ h), torch.sigmoid(u_x + W_u @ h)
    expected = u * h + (1 - u) * torch.tanh(n_x + W_n @ (r * h))
    assert torch.allclose(cell(x[None], cell.begin(h[None])).h[0], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("dtype", "forward", "backward"), [(F64, 1e-12, 1e-12), (torch.float32, 1e-6, 2e-6)])
def test_fast_run_equals_unrolled_cell(
    kind: type[Cell], dtype: torch.dtype, forward: float, backward: float
) -> None:
    cell = made(kind, dtype)
    x = torch.randn(3, 50, 4, dtype=dtype, requires_grad=True)
    h = torch.randn(3, 6, dtype=dtype, requires_grad=True)
    slow, fast = unroll(cell, x, cell.begin(h)), run(cell, x, cell.begin(h))
    assert torch.allclose(slow, fast, rtol=0.0, atol=forward)
    same_gradients(slow, fast, [x, h, *cell.parameters()], backward)


@pytest.mark.parametrize("kind", CELLS)
def test_ends_are_the_states_after_the_last_real_token(kind: type[Cell]) -> None:
    cell = made(kind)
    x = torch.randn(3, 5, 4, dtype=F64, requires_grad=True)
    for lengths in ([5, 2, 1], [5, 5, 5]):
        keep = torch.arange(5) < torch.tensor(lengths)[:, None]
        fast_h, ends = run_to_ends(cell, x, cell.zero(3), keep)
        alone = []
        for row, n in enumerate(lengths):
            state = cell.zero(1)
            for t in range(n):
                state = cell(x[row : row + 1, t], state)
                assert torch.allclose(state.h[0], fast_h[row, t], rtol=0.0, atol=1e-12)
            alone.append(torch.cat(state, dim=1))
        slow, fast = torch.cat(alone), torch.cat(ends, dim=1)
        assert torch.allclose(slow, fast, rtol=0.0, atol=1e-12)
        same_gradients(slow, fast, [x, *cell.parameters()], 1e-12)


@pytest.mark.parametrize(("dtype", "most"), [(F64, 1e-12), (torch.float32, 2e-6)])
def test_the_lstm_swept_is_the_lstm(dtype: torch.dtype, most: float) -> None:
    """`run` takes it under autocast on a CPU only, whose rounding would hide a mistake."""
    cell = made(LSTMCell, dtype)
    assert isinstance(cell, LSTMCell)
    x = torch.randn(3, 50, 4, dtype=dtype, requires_grad=True)
    h = torch.randn(3, 6, dtype=dtype, requires_grad=True)
    slow, (fast, _) = unroll(cell, x, cell.begin(h)), sweep(cell, x, cell.begin(h))
    assert torch.allclose(slow, fast, atol=most)
    same_gradients(slow, fast, [x, h, *cell.parameters()], most)


def test_an_lstm_under_autocast_is_near_the_lstm() -> None:
    cell = made(LSTMCell, torch.float32)
    x, keep = torch.randn(3, 20, 4), torch.arange(20) < torch.tensor([[20], [7], [1]])
    h, end = run_to_ends(cell, x, cell.zero(3), keep)
    with torch.autocast("cpu"):
        near_h, near_end = run_to_ends(cell, x, cell.zero(3), keep)
    assert near_h.dtype == torch.bfloat16
    assert torch.allclose(h[keep], near_h[keep].float(), atol=0.02)
    assert torch.allclose(torch.cat(end), torch.cat(near_end).float(), atol=0.02)


def same_gradients(slow: torch.Tensor, fast: torch.Tensor, inputs: list[torch.Tensor], most: float) -> None:
    weight = torch.randn_like(slow)
    a = torch.autograd.grad((slow * weight).sum(), inputs)
    b = torch.autograd.grad((fast * weight).sum(), inputs)
    for u, v in zip(a, b, strict=True):
        assert float((u - v).norm() / u.norm()) <= most


def test_coupled_gates_save_a_quarter() -> None:
    assert count(CoupledLSTMCell(74, 256)) == 338_944 * 3 // 4
    assert count(PeepholeLSTMCell(74, 256)) == 338_944 + 3 * 256


def test_reversal_turns_only_real_tokens() -> None:
    keep = torch.tensor([[True, True, True, False], [True, False, False, False]])
    x = torch.arange(8.0).view(2, 4, 1)
    turned = reorder(x, reversal(keep)).squeeze(2)
    assert turned.tolist() == [[2.0, 1.0, 0.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


def test_last_is_the_last_real_token() -> None:
    keep = torch.tensor([[True, True, True, False], [True, False, False, False]])
    assert last(torch.arange(8.0).view(2, 4, 1), keep).tolist() == [[2.0], [4.0]]
