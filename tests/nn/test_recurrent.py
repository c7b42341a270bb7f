"""Recurrent layers against torch's own; what stands around and between them against its formula."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.nn.bridge import LastStateBridge, ProjectedBridge, ZeroBridge
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.dropout import Dropout, noise
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.dropout import VariationalDropout
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.nn.recurrent.merge_directions import ConcatDirections, MeanDirections, ProjectedDirections
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.protocols import Memory

F64 = torch.float64
LENGTHS = torch.tensor([5, 2, 1])
KEEP = torch.arange(5) < LENGTHS[:, None]


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, requires_grad=True)


def one_way(cell: Cell, around: nn.Module | None = None) -> RecurrentLayer:
    return RecurrentLayer(cell, around or Plain(nn.Identity()), Dropout(0.0)).double()


def packed(x: torch.Tensor) -> PackedSequence:
    return pack_padded_sequence(x, LENGTHS, batch_first=True)


def give(theirs: nn.LSTM, cell: Cell, suffix: str) -> None:
    for name, value in (("weight_ih", cell.W_x), ("weight_hh", cell.W_h), ("bias_ih", cell.b)):
        getattr(theirs, f"{name}_{suffix}").data.copy_(value)
    getattr(theirs, f"bias_hh_{suffix}").data.zero_()


def test_a_bidirectional_layer_equals_torch_on_packed_sentences() -> None:
    torch.manual_seed(0)
    right, left = LSTMCell(3, 4).double(), LSTMCell(3, 4).double()
    theirs = nn.LSTM(3, 4, batch_first=True, bidirectional=True, dtype=F64)
    give(theirs, right, "l0")
    give(theirs, left, "l0_reverse")
    x = drawn(3, 5, 3)
    layer = BidirectionalLayer(right, left, ConcatDirections(), Plain(nn.Identity()), Dropout(0.0))
    h, summary = layer.over(x, KEEP)
    out, (h_n, _) = theirs(packed(x))
    assert torch.allclose(h[KEEP], pad_packed_sequence(out, batch_first=True)[0][KEEP], rtol=0.0, atol=1e-12)
    assert torch.allclose(summary, torch.cat((h_n[0], h_n[1]), dim=1), rtol=0.0, atol=1e-12)


def test_two_layers_end_as_torch_on_packed_sentences() -> None:
    torch.manual_seed(0)
    cells = [LSTMCell(3, 4).double(), LSTMCell(4, 4).double()]
    theirs = nn.LSTM(3, 4, num_layers=2, batch_first=True, dtype=F64)
    x = drawn(3, 5, 3)
    h, ends = x, []
    for place, cell in enumerate(cells):
        give(theirs, cell, f"l{place}")
        h, end = one_way(cell).to_end(h, KEEP)
        ends.append(end)
    out, (h_n, c_n) = theirs(packed(x))
    assert torch.allclose(h[KEEP], pad_packed_sequence(out, batch_first=True)[0][KEEP], rtol=0.0, atol=1e-12)
    assert torch.allclose(torch.stack([end.h for end in ends]), h_n, rtol=0.0, atol=1e-12)
    assert torch.allclose(torch.stack([end.c for end in ends]), c_n, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("around", [Plain(nn.Identity()), Residual(nn.LayerNorm(6))])
def test_a_layer_step_by_step_equals_the_whole(around: nn.Module) -> None:
    torch.manual_seed(0)
    layer = one_way(PeepholeLSTMCell(6 + 2, 6), around)
    x, extra_input = drawn(3, 5, 6), drawn(3, 5, 2)
    state = layer.cell.zero(3)
    whole = layer(x, state, extra_input)
    for t in range(5):
        a = layer.read(x[:, t]) + F.linear(extra_input[:, t], layer.extra_weight(x[:, t]))
        y, state = layer.step(x[:, t], a, state, None)
        assert torch.allclose(y, whole[:, t], rtol=0.0, atol=1e-12)


def test_joins_by_hand() -> None:
    right, left = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 6.0]])
    assert ConcatDirections()(right, left).tolist() == [[1.0, 2.0, 3.0, 6.0]]
    assert MeanDirections()(right, left).tolist() == [[2.0, 4.0]]
    projection = ProjectedDirections(2)
    expected = projection.W.weight @ torch.tensor([1.0, 2.0, 3.0, 6.0]) + projection.W.bias
    assert torch.allclose(projection(right, left)[0], expected, rtol=0.0, atol=1e-6)


def test_around_by_hand() -> None:
    x, h = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 6.0]])
    assert Plain(nn.Identity())(x, h).tolist() == [[3.0, 6.0]]
    assert Residual(nn.Identity())(x, h).tolist() == [[4.0, 8.0]]
    assert torch.allclose(Residual(nn.LayerNorm(2))(x, h), torch.tensor([[-1.0, 1.0]]), atol=1e-5)


def test_variational_dropout_drops_the_same_features_at_every_step() -> None:
    dropout = VariationalDropout(0.5)
    with noise(1):
        y = dropout(torch.ones(40, 7, 50))
    with noise(1):
        assert torch.equal(y, dropout(torch.ones(40, 7, 50)))
    assert bool((y == y[:, :1]).all())
    assert float((y[:, 0] == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
    assert not torch.equal(y[0], y[1])
    assert torch.equal(dropout.eval()(y), y)


@pytest.mark.parametrize(("dropout", "steady"), [(Dropout(0.5), False), (VariationalDropout(0.5), True)])
def test_masks_drawn_ahead_are_what_the_whole_sequence_draws(dropout: Dropout, steady: bool) -> None:
    layer = RecurrentLayer(GRUCell(3, 8), Plain(nn.Identity()), dropout)
    x, state = torch.randn(2, 4, 3), layer.cell.zero(2)
    with noise(5):
        whole = layer(x, state)
    with noise(5):
        masks = layer.masks(2, 4)
    assert bool((masks == masks[:, :1]).all()) is steady
    for t in range(4):
        y, state = layer.step(x[:, t], layer.read(x[:, t]), state, masks[:, t])
        assert torch.allclose(y, whole[:, t], rtol=0.0, atol=1e-6)


def test_bridges() -> None:
    torch.manual_seed(0)
    cells = [LSTMCell(3, 4).double(), LSTMCell(4, 2).double()]
    ends = [(drawn(3, 4), drawn(3, 4)), (drawn(3, 2), drawn(3, 2))]
    memory = Memory(drawn(3, 5, 6), KEEP, drawn(3, 6), ends)
    assert [tuple(state) for state in LastStateBridge()(memory, cells)] == ends
    projected = ProjectedBridge(6, [4, 2]).double()
    first, second = projected(memory, cells)
    expected = torch.tanh(memory.summary @ projected.W.weight.T + projected.W.bias)
    assert torch.allclose(torch.cat((first.h, second.h), dim=1), expected, rtol=0.0, atol=1e-12)
    assert not first.c.any()
    assert all(not (state.h.any() or state.c.any()) for state in ZeroBridge()(memory, cells))


def test_maxout_is_the_formula() -> None:
    torch.manual_seed(0)
    output = MaxoutOutput(2, 3, 4, 5).double()
    s, y, c = drawn(2), drawn(3), drawn(4)
    U, V, C = output.UVC.weight.split([2, 3, 4], dim=1)
    t = U @ s + V @ y + C @ c + output.UVC.bias
    expected = torch.stack([max(t[2 * j], t[2 * j + 1]) for j in range(5)])
    assert torch.allclose(output(s[None], y[None], c[None])[0], expected, rtol=0.0, atol=1e-12)
