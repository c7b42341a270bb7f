"""Definitions of convolutions, and of words as vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.characters import CharacterCNN, Filters, Highway
from dragoman.nn.conv.attention import MultiStepAttention, Source
from dragoman.nn.conv.block import DecoderBlock, EncoderBlock
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.conv.frames import (
    FrameConvolutions,
    FrameProjection,
    PooledConvolution,
    StridedConvolution,
)
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.conv.sentence_model import SentenceModel
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.embedding import PlainEmbedding, PositionedEmbedding, ScaledEmbedding, embedding_matrix
from dragoman.nn.position import Learned
from support.definition import HALF, KEEP, WORDS, B, Definition, S, hidden, row

D, M, E, V = 8, 7, 6, 5
FLAT = (B * S, D)


def convolved(W: WeightNormed, x: Tensor, kernel: int, left: int) -> Tensor:
    """torch's weight norm and convolution, sentence by sentence, then its gate."""
    K = torch._weight_norm(W.v, W.g.unsqueeze(1), 0).unflatten(1, (kernel, -1)).transpose(1, 2)
    padded = F.pad(x.view(B, S, -1), (0, 0, left, kernel - 1 - left)).transpose(1, 2)
    return F.glu(F.conv1d(padded, K, W.b), dim=1).transpose(1, 2).flatten(0, 1)


def normed(W: WeightNormed, x: Tensor) -> Tensor:
    return F.linear(x, torch._weight_norm(W.v, W.g.unsqueeze(1), 0), W.b)


def source(keys: Tensor, values: Tensor) -> Source:
    return Source(keys, values, hidden(keys), KEEP.sum(dim=1).to(keys).sqrt().view(-1, 1, 1))


def multi_step(
    m: MultiStepAttention, h: Tensor, g: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    d = ((normed(m.W_d, h) + g) * HALF).view(B, S, E)
    a = torch.softmax(torch.einsum("bte,bse->bts", d, keys) + hidden(h), dim=2)
    count = KEEP.sum(dim=1).view(B, 1, 1)
    c = torch.einsum("bts,bse->bte", a, values) * count * (1 / count.to(h)) ** 0.5
    return (normed(m.W_c, c.flatten(0, 1)) + h) * HALF, a


def conv_decoded(m: DecoderBlock, x: Tensor, g: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    h, _ = multi_step(m.attention, convolved(m.convolution.W, x, 3, 2), g, keys, values)
    return (h + normed(m.carry, x)) * HALF


def conv_encoded(m: EncoderBlock, x: Tensor) -> Tensor:
    return (convolved(m.convolution.W, x * KEEP.view(-1, 1), 3, 1) + normed(m.carry, x)) * HALF


def shrunk(m: SentenceModel, x: Tensor) -> Tensor:
    """Five words, kernels of 2 and 3 columns: five, four, two, one."""
    K_2, K_3, L_2 = m.K[:2], m.K[2:5], m.L[:2]
    for K in (K_2, K_3):
        x = torch.tanh(F.conv1d(x.transpose(1, 2), K.T.unsqueeze(1), groups=D).transpose(1, 2))
    return torch.tanh(L_2[0] * x[:, 0] + L_2[1] * x[:, 1])


def highway(m: Highway, y: Tensor) -> Tensor:
    t = torch.sigmoid(F.linear(y, m.W_T.weight, m.W_T.bias))
    return y + t * (F.linear(y, m.W_H.weight, m.W_H.bias).relu() - y)


def filtered(m: Filters, c: Tensor) -> Tensor:
    K = m.W.weight.unflatten(1, (-1, m.width))
    return torch.tanh(F.conv1d(c.transpose(1, 2), K, m.W.bias)).amax(dim=2)


def spelt(m: CharacterCNN) -> Tensor:
    c = F.embedding(m.spelling[WORDS.flatten()], m.characters.weight)
    z = torch.cat([filtered(filters, c) for filters in m.filters], dim=1)
    for layer in m.highways:
        z = highway(layer, z)
    return (z @ m.P.weight.T).view(B, S, -1)


def characters() -> CharacterCNN:
    spelling = torch.tensor([[1, 3, 2], [1, 4, 2], [3, 1, 2], [2, 2, 4], [4, 3, 1]])
    return CharacterCNN(spelling, features=3, widths=(1, 2, 3), filters=2, highways=2, size=D)


def matrix() -> nn.Parameter:
    return embedding_matrix(V, D)


def looked_up(m: PlainEmbedding) -> Tensor:
    return F.one_hot(WORDS, V).to(m.matrix) @ m.matrix


def over_frames(conv: nn.Conv2d, x: Tensor) -> Tensor:
    """max(0, K ∗ x + b) as sums over the nine places of a kernel."""
    padded = F.pad(x, (1, 1, 1, 1))
    rows, columns = x.shape[2:]
    places = [
        torch.einsum("bxsf,cx->bcsf", padded[:, :, i : i + rows, j : j + columns], conv.weight[:, :, i, j])
        for i in range(3)
        for j in range(3)
    ]
    return (sum(places) + conv.bias[:, None, None]).clamp(min=0)


def strided(m: StridedConvolution, x: Tensor) -> Tensor:
    real = x * KEEP[:, None, :, None]
    return over_frames(m.K, real)[:, :, :: m.stride, ::2]


def pooled(m: PooledConvolution, x: Tensor) -> Tensor:
    real = KEEP[:, None, :, None]
    y = F.pad(over_frames(m.K, x * real) * real, (0, x.shape[3] % 2, 0, x.shape[2] % 2))
    return y.unfold(2, m.stride, m.stride).unfold(3, 2, 2).amax(dim=(4, 5))


def frames_convolved(m: FrameConvolutions, x: Tensor) -> Tensor:
    first, second = m.layers
    y = strided(first, x.unsqueeze(1))
    y = over_frames(second.K, y * KEEP[:, None, ::2, None])[..., ::2]
    z = torch.einsum("bcsf,dcf->bsd", y, m.W.weight.unflatten(1, (y.shape[1], -1)))
    return F.layer_norm(z, (D,), m.norm.weight, m.norm.bias)


BLOCK = (FLAT, (B * S, E), (B, S, E), (B, S, E))
ROWS: dict[type[nn.Module], Definition] = {
    WeightNormed: row(lambda: WeightNormed(D, E), FLAT, theirs=normed),
    GatedConvolution: row(
        lambda: GatedConvolution(D, E, 3, 1, 0.0),
        FLAT,
        ours=lambda m, x: m(x, (B, S)),
        theirs=lambda m, x: convolved(m.W, x, 3, 1),
    ),
    EncoderBlock: row(
        lambda: EncoderBlock(GatedConvolution(D, E, 3, 1, 0.0), WeightNormed(D, E)),
        FLAT,
        ours=lambda m, x: m(x, (B, S), KEEP.view(-1, 1).to(x)),
        theirs=conv_encoded,
    ),
    MultiStepAttention: row(
        lambda: MultiStepAttention(D, E),
        *BLOCK,
        ours=lambda m, h, g, *kv: m(h, g, (B, S), source(*kv)),
        theirs=multi_step,
    ),
    DecoderBlock: row(
        lambda: DecoderBlock(GatedConvolution(D, M, 3, 2, 0.0), MultiStepAttention(M, E), WeightNormed(D, M)),
        *BLOCK,
        ours=lambda m, x, g, *kv: m(x, g, (B, S), source(*kv)),
        theirs=conv_decoded,
    ),
    SentenceModel: row(
        lambda: SentenceModel(D, widest=3),
        (B, 5, D),
        ours=lambda m, x: m(x, torch.ones(B, 5, dtype=torch.bool))[0],
        theirs=shrunk,
    ),
    StridedConvolution: row(
        lambda: StridedConvolution(2, 3, 2), (B, 2, S, 5), ours=lambda m, x: m(x, KEEP)[0], theirs=strided
    ),
    PooledConvolution: row(
        lambda: PooledConvolution(2, 3, 2), (B, 2, S, 5), ours=lambda m, x: m(x, KEEP)[0], theirs=pooled
    ),
    FrameConvolutions: row(
        lambda: FrameConvolutions([StridedConvolution(1, 2, 2), StridedConvolution(2, 3, 1)], 5, D),
        (B, S, 5),
        ours=lambda m, x: m(x, KEEP)[0],
        theirs=frames_convolved,
    ),
    FrameProjection: row(
        lambda: FrameProjection(5, D),
        (B, S, 5),
        ours=lambda m, x: m(x, KEEP)[0],
        theirs=lambda m, x: torch.einsum("bsf,df->bsd", x, m.W.weight) + m.W.bias,
    ),
    Highway: row(lambda: Highway(D), FLAT, theirs=highway),
    Filters: row(
        lambda: Filters(3, 2, 5), (B, S, 3), ours=lambda m, c: m(c, torch.full((B,), S)), theirs=filtered
    ),
    CharacterCNN: row(characters, ours=lambda m: m(WORDS), theirs=spelt),
    PlainEmbedding: row(lambda: PlainEmbedding(matrix(), 0.0), ours=lambda m: m(WORDS), theirs=looked_up),
    ScaledEmbedding: row(
        lambda: ScaledEmbedding(matrix(), 0.0),
        ours=lambda m: m(WORDS),
        theirs=lambda m: looked_up(m) * math.sqrt(D),
    ),
    PositionedEmbedding: row(
        lambda: PositionedEmbedding(matrix(), Learned(9, D), 0.0),
        ours=lambda m: m(WORDS, 2),
        theirs=lambda m: looked_up(m) * math.sqrt(D) + m.positions.table[2 : 2 + S],
    ),
    PositionalEmbedding: row(
        lambda: PositionalEmbedding(matrix(), 9, D, 0.0),
        ours=lambda m: m(WORDS),
        theirs=lambda m: looked_up(m) + m.places[:S],
    ),
}
