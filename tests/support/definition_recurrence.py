"""Definitions of cells, of what is around and between them, of scores and poolings."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.nn.attention import scores
from dragoman.nn.attention.pooling import LearnedQuery, PositionBiasPooling
from dragoman.nn.bridge import ProjectedBridge
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.dropout import Dropout
from dragoman.nn.recurrent import merge_directions as join
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.protocols import Memory
from support.definition import KEEP, B, Definition, S, hidden, row

X, D = 4, 6
TORCH = (True, 1, 0.0, False)  # has_biases, num_layers, dropout, train


def weights(cell: Cell) -> list[Tensor]:
    return [cell.W_x, cell.W_h, cell.b, torch.zeros_like(cell.b)]


def gates(m: Cell, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    return (x @ m.W_x.T + h @ m.W_h.T + m.b).split(D, dim=1)


def peephole(m: PeepholeLSTMCell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = gates(m, x, h)
    new = torch.sigmoid(f + m.p[1] * c) * c + torch.sigmoid(i + m.p[0] * c) * torch.tanh(g)
    return torch.sigmoid(o + m.p[2] * new) * torch.tanh(new), new


def coupled(m: CoupledLSTMCell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    f, g, o = gates(m, x, h)
    new = torch.sigmoid(f) * c + torch.sigmoid(-f) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new), new


def reset_first(m: ResetFirstGRUCell, x: Tensor, h: Tensor) -> Tensor:
    r, u, _ = (torch.sigmoid(z) for z in gates(m, x, h))
    n = torch.tanh(gates(m, x, r * h)[2])
    return h + (1 - u) * (n - h)


def one_way(m: RecurrentLayer, x: Tensor, beside: Tensor, h: Tensor, c: Tensor) -> Tensor:
    first = [h.unsqueeze(0), c.unsqueeze(0)]
    hs, _, _ = torch.lstm(torch.cat((x, beside), dim=2), first, weights(m.cell), *TORCH, False, True)
    return F.layer_norm(x + hs, (D,), m.around.norm.weight, m.around.norm.bias)


def both_ways(m: BidirectionalLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """torch's own on packed sentences: real tokens, and the two ends."""
    packed = pack_padded_sequence(x, KEEP.sum(dim=1), batch_first=True)
    zero, both = x.new_zeros(2, B, D), [*weights(m.right), *weights(m.left)]
    h, h_n, _ = torch.lstm(packed.data, packed.batch_sizes, [zero, zero], both, *TORCH, True)
    out, _ = pad_packed_sequence(PackedSequence(h, packed.batch_sizes), batch_first=True)
    return m.join.W(out[KEEP]), m.join.W(torch.cat((h_n[0], h_n[1]), dim=1))


def over(m: BidirectionalLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    h, summary = m.over(x, KEEP)
    return h[KEEP], summary


def maxout(m: MaxoutOutput, s: Tensor, y: Tensor, c: Tensor) -> Tensor:
    return F.max_pool1d(m.UVC(torch.cat((s, y, c), dim=1)).unsqueeze(1), 2).squeeze(1)


def bridged(m: ProjectedBridge, summary: Tensor) -> Tensor:
    states = m(Memory(summary.unsqueeze(1), KEEP[:, :1], summary), [ElmanCell(1, D), LSTMCell(1, 2)])
    return torch.cat([state.h for state in states], dim=1)


def each(s: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """Every query beside every state."""
    shape = (B, s.shape[1], S)
    return s.unsqueeze(2).expand(*shape, -1), h.unsqueeze(1).expand(*shape, -1)


def additive(m: scores.Additive, s: Tensor, h: Tensor) -> Tensor:
    q, k = each(s, h)
    return torch.tanh(k @ m.W_1.weight.T + q @ m.W_2.weight.T) @ m.v


def concat(m: scores.Concat, s: Tensor, h: Tensor) -> Tensor:
    return torch.tanh(torch.cat(each(s, h), dim=3) @ m.W_1.weight.T) @ m.v


def general(m: scores.Multiplicative, s: Tensor, h: Tensor) -> Tensor:
    q, k = (x.contiguous() for x in each(s, h))
    return F.bilinear(q, k, m.W.weight.unsqueeze(0)).squeeze(3)


def scored(m: scores.Score, s: Tensor, h: Tensor) -> Tensor:
    return m.score(s, m.keys(h))


def asked(m: LearnedQuery, h: Tensor) -> tuple[Tensor, Tensor]:
    alpha = torch.softmax(h @ m.score.W.weight.T @ m.q + hidden(h).squeeze(1), dim=1)
    return torch.einsum("bs,bsd->bd", alpha, m.values(h)), alpha


def placed(m: PositionBiasPooling, h: Tensor) -> tuple[Tensor, Tensor]:
    e = torch.stack([torch.tanh(h[:, i] @ m.w + m.b[i]) for i in range(S)], dim=1)
    alpha = torch.softmax(e + hidden(h).squeeze(1), dim=1)
    return torch.einsum("bs,bsd->bd", alpha, h), alpha


STATE, PAIR = (B, D), ((B, 2, D), (B, S, D))
UNEQUAL = ((B, 2, D), (B, S, X))
ROWS: dict[type[nn.Module], Definition] = {
    ElmanCell: row(
        lambda: ElmanCell(X, D),
        (B, X),
        STATE,
        ours=lambda m, x, h: m(x, m.begin(h)).h,
        theirs=lambda m, x, h: torch.rnn_tanh_cell(x, h, *weights(m)),
    ),
    LSTMCell: row(
        lambda: LSTMCell(X, D),
        (B, X),
        STATE,
        STATE,
        ours=lambda m, x, h, c: tuple(m(x, CellState(h, c))),
        theirs=lambda m, x, h, c: torch.lstm_cell(x, (h, c), *weights(m)),
    ),
    GRUCell: row(
        lambda: GRUCell(X, D),
        (B, X),
        STATE,
        ours=lambda m, x, h: m(x, m.begin(h)).h,
        theirs=lambda m, x, h: torch.gru_cell(x, h, *weights(m)),
    ),
    PeepholeLSTMCell: row(
        lambda: PeepholeLSTMCell(X, D),
        (B, X),
        STATE,
        STATE,
        ours=lambda m, x, h, c: tuple(m(x, CellState(h, c))),
        theirs=peephole,
    ),
    CoupledLSTMCell: row(
        lambda: CoupledLSTMCell(X, D),
        (B, X),
        STATE,
        STATE,
        ours=lambda m, x, h, c: tuple(m(x, CellState(h, c))),
        theirs=coupled,
    ),
    ResetFirstGRUCell: row(
        lambda: ResetFirstGRUCell(X, D),
        (B, X),
        STATE,
        ours=lambda m, x, h: m(x, m.begin(h)).h,
        theirs=reset_first,
    ),
    Plain: row(
        lambda: Plain(nn.LayerNorm(D)),
        (B, X),
        STATE,
        theirs=lambda m, x, h: F.layer_norm(h, (D,), m.norm.weight, m.norm.bias),
    ),
    Residual: row(
        lambda: Residual(nn.LayerNorm(D)),
        STATE,
        STATE,
        theirs=lambda m, x, h: F.layer_norm(x + h, (D,), m.norm.weight, m.norm.bias),
    ),
    join.ConcatDirections: row(
        join.ConcatDirections, STATE, STATE, theirs=lambda m, right, left: torch.hstack((right, left))
    ),
    join.MeanDirections: row(
        join.MeanDirections,
        STATE,
        STATE,
        theirs=lambda m, right, left: torch.stack((right, left)).mean(dim=0),
    ),
    join.ProjectedDirections: row(
        lambda: join.ProjectedDirections(D),
        STATE,
        STATE,
        theirs=lambda m, right, left: right @ m.W.weight[:, :D].T + left @ m.W.weight[:, D:].T + m.W.bias,
    ),
    RecurrentLayer: row(
        lambda: RecurrentLayer(LSTMCell(D + X, D), Residual(nn.LayerNorm(D)), Dropout(0.0)),
        (B, S, D),
        (B, S, X),
        STATE,
        STATE,
        ours=lambda m, x, beside, h, c: m(x, CellState(h, c), beside),
        theirs=one_way,
    ),
    BidirectionalLayer: row(
        lambda: BidirectionalLayer(
            LSTMCell(X, D), LSTMCell(X, D), join.ProjectedDirections(D), Plain(nn.Identity()), Dropout(0.0)
        ),
        (B, S, X),
        ours=over,
        theirs=both_ways,
    ),
    MaxoutOutput: row(lambda: MaxoutOutput(D, X, 3, 5), STATE, (B, X), (B, 3), theirs=maxout),
    ProjectedBridge: row(
        lambda: ProjectedBridge(X, [D, 2]),
        (B, X),
        ours=bridged,
        theirs=lambda m, z: torch.tanh(z @ m.W.weight.T + m.W.bias),
    ),
    scores.Dot: row(
        scores.Dot, *PAIR, ours=scored, theirs=lambda m, s, h: torch.einsum("btd,bsd->bts", s, h)
    ),
    scores.ScaledDot: row(
        scores.ScaledDot,
        *PAIR,
        ours=scored,
        theirs=lambda m, s, h: torch.einsum("btd,bsd->bts", s, h) / D**0.5,
    ),
    scores.Cosine: row(
        scores.Cosine,
        *PAIR,
        ours=scored,
        theirs=lambda m, s, h: m.beta * F.cosine_similarity(*each(s, h), dim=3),
    ),
    scores.Additive: row(lambda: scores.Additive(D, X, 5), *UNEQUAL, ours=scored, theirs=additive),
    scores.Concat: row(lambda: scores.Concat(D, X, 5), *UNEQUAL, ours=scored, theirs=concat),
    scores.Multiplicative: row(lambda: scores.Multiplicative(D, X), *UNEQUAL, ours=scored, theirs=general),
    scores.ProjectedKeys: row(
        lambda: scores.ProjectedKeys(scores.Dot(), X, D),
        *UNEQUAL,
        ours=scored,
        theirs=lambda m, s, h: torch.einsum("btq,qd,bsd->bts", s, m.W_k.weight, h),
    ),
    LearnedQuery: row(
        lambda: LearnedQuery(scores.Multiplicative(5, D), 5, nn.Linear(D, X)),
        (B, S, D),
        ours=lambda m, h: m(h, KEEP),
        theirs=asked,
    ),
    PositionBiasPooling: row(
        lambda: PositionBiasPooling(S, D), (B, S, D), ours=lambda m, h: m(h, KEEP), theirs=placed
    ),
}
