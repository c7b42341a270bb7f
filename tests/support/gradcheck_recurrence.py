"""Rows of gradcheck for cells, what is around them, and what runs them over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.bridge import LastStateBridge, ProjectedBridge, ZeroBridge
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.lstm_scan import sweep
from dragoman.nn.recurrent import merge_directions as join
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.dropout import VariationalDropout
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.protocols import Memory
from support.gradcheck import DROP, F64, KEEP, Check, check, drawn, plain


def cell(kind: Callable[[int, int], Cell]) -> Check:
    made = kind(2, 3)
    return check(made, lambda *given: torch.cat(made(given[0], first(made, *given[1:])), 1), *states(made, 2))


def states(made: Cell, *shape: int) -> tuple[Tensor, ...]:
    """x, h, and c where the cell has one."""
    count = 2 if made.zero(1).c.numel() else 1
    return drawn(2, *shape), *(drawn(2, made.size) for _ in range(count))


def first(made: Cell, h: Tensor, c: Tensor | None = None) -> CellState:
    return made.begin(h) if c is None else CellState(h, c)


def swept(kind: type[LSTMCell | PeepholeLSTMCell | CoupledLSTMCell]) -> Check:
    """All h and all c of a sequence."""
    made = kind(1, 2)
    return check(made, lambda x, *state: sweep(made, x, first(made, *state)), *states(made, 3, 1))


def bridge(made: nn.Module) -> Check:
    cells = [LSTMCell(2, 3).double(), GRUCell(3, 2).double()]

    def function(summary: Tensor, *ends: Tensor) -> tuple[Tensor, ...]:
        memory = Memory(torch.zeros(2, 3, 4, dtype=F64), KEEP, summary, [ends[:2], ends[2:]])
        return tuple(torch.cat(state, dim=1) for state in made(memory, cells))

    return check(made, function, drawn(2, 4), *(drawn(2, n) for n in (3, 3, 2, 0)))


def layer() -> Check:
    made = RecurrentLayer(LSTMCell(3, 2), Residual(nn.LayerNorm(2)), Dropout(DROP))

    def function(x: Tensor, beside: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        a = made.read(x[:, 0]) + F.linear(beside[:, 0], made.extra_weight(x[:, 0]))
        y, state = made.step(x[:, 0], a, CellState(h, c), None)
        return made(x, CellState(h, c), beside), y, *state

    return check(made, function, drawn(2, 3, 2), drawn(2, 3, 1), drawn(2, 2), drawn(2, 2))


def both_ways() -> Check:
    made = BidirectionalLayer(
        GRUCell(2, 2), GRUCell(2, 2), join.ProjectedDirections(2), Residual(nn.Identity()), Dropout(DROP)
    )
    return check(made, lambda x: made.over(x, KEEP), drawn(2, 3, 2))


CELLS: tuple[type[Cell], ...] = (
    ElmanCell,
    LSTMCell,
    PeepholeLSTMCell,
    CoupledLSTMCell,
    GRUCell,
    ResetFirstGRUCell,
)
ROWS: dict[type[nn.Module], Callable[[], Check]] = {
    **{kind: partial(cell, kind) for kind in CELLS},
    LastStateBridge: lambda: bridge(LastStateBridge()),
    ProjectedBridge: lambda: bridge(ProjectedBridge(4, [3, 2])),
    ZeroBridge: lambda: bridge(ZeroBridge()),
    Plain: lambda: plain(Plain(nn.LayerNorm(3)), drawn(2, 2), drawn(2, 3)),
    Residual: lambda: plain(Residual(nn.LayerNorm(3)), drawn(2, 3), drawn(2, 3)),
    join.ConcatDirections: lambda: plain(join.ConcatDirections(), drawn(2, 3), drawn(2, 3)),
    join.MeanDirections: lambda: plain(join.MeanDirections(), drawn(2, 3), drawn(2, 3)),
    join.ProjectedDirections: lambda: plain(join.ProjectedDirections(3), drawn(2, 3), drawn(2, 3)),
    RecurrentLayer: layer,
    BidirectionalLayer: both_ways,
    MaxoutOutput: lambda: plain(MaxoutOutput(2, 3, 1, 2), drawn(2, 2), drawn(2, 3), drawn(2, 1)),
    VariationalDropout: lambda: plain(VariationalDropout(DROP), drawn(2, 3, 4)),
}
FUNCTIONS: dict[str, tuple[Callable[[], Check], ...]] = {
    "fast.lstm_scan._Sweep": tuple(
        partial(swept, kind) for kind in (LSTMCell, PeepholeLSTMCell, CoupledLSTMCell)
    ),
}
