"""Definitions of what stands between states and answers: poolings, tags, and words that are spelled."""

from __future__ import annotations

from itertools import pairwise, product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.attention.pooling import MaxPooling, MeanPooling
from dragoman.nn.characters import SpelledWords, SpellingCNN
from dragoman.nn.crf import CRF
from dragoman.nn.embedding import embedding_matrix
from support.definition import KEEP, B, Definition, S, row

D, V = 6, 3
TAGS = torch.tensor([[0, 2, 1, 1], [1, 2, 2, 0], [2, 0, 0, 1]])
SPELT = torch.tensor([[1, 3, 2, 0], [1, 4, 2, 0], [3, 1, 4, 2], [2, 2, 0, 0], [4, 3, 1, 1]])
SPELLED = torch.cat((torch.tensor([[2], [4], [0], [3], [1]]), SPELT), dim=1).unsqueeze(0)


def chained(m: CRF, P: Tensor) -> Tensor:
    """−log p by the sum over all sequences."""

    def score(row: int, y: tuple[int, ...]) -> Tensor:
        steps = [m.A[i, j] for i, j in pairwise(y)]
        return m.start[y[0]] + m.end[y[-1]] + sum([*steps, *(P[row, t, tag] for t, tag in enumerate(y))])

    found = []
    for number, length in enumerate(KEEP.sum(dim=1).tolist()):
        Z = torch.stack([score(number, y) for y in product(range(V), repeat=length)]).exp().sum()
        found.append(Z.log() - score(number, tuple(TAGS[number, :length].tolist())))
    return torch.stack(found)


def averaged(m: nn.Module, h: Tensor) -> Tensor:
    return torch.stack([x[real].mean(dim=0) for x, real in zip(h, KEEP, strict=True)])


def highest(m: nn.Module, h: Tensor) -> Tensor:
    return torch.stack([x[real].amax(dim=0) for x, real in zip(h, KEEP, strict=True)])


def spelling() -> SpellingCNN:
    return SpellingCNN(5, features=3, widths=(1, 2), filters=2, highways=1, size=D)


def spelt(m: SpellingCNN) -> Tensor:
    """Word by word, without padding."""
    found = []
    for word in SPELT:
        c = m.characters.weight[word[word > 0]].T.unsqueeze(0)
        kernels = [(f.W.weight.unflatten(1, (-1, f.width)), f.W.bias) for f in m.filters]
        z = torch.cat([torch.tanh(F.conv1d(c, K, b)).amax(dim=2) for K, b in kernels], dim=1)
        for h in m.highways:
            t = torch.sigmoid(h.W_T(z))
            z = z + t * (h.W_H(z).relu() - z)
        found.append(z[0] @ m.P.weight.T)
    return torch.stack(found)


def spelled_words() -> SpelledWords:
    return SpelledWords(embedding_matrix(5, D), spelling(), unk=1, word_dropout=0.0)


ROWS: dict[type[nn.Module], Definition] = {
    CRF: row(lambda: CRF(V), (B, S, V), ours=lambda m, P: m.nll(P, TAGS, KEEP), theirs=chained),
    MeanPooling: row(MeanPooling, (B, S, D), ours=lambda m, h: m(h, KEEP)[0], theirs=averaged),
    MaxPooling: row(MaxPooling, (B, S, D), ours=lambda m, h: m(h, KEEP)[0], theirs=highest),
    SpellingCNN: row(spelling, ours=lambda m: m(SPELT), theirs=spelt),
    SpelledWords: row(
        spelled_words,
        ours=lambda m: m(SPELLED),
        theirs=lambda m: (m.table[SPELLED[0, :, 0]] + spelt(m.spell)).unsqueeze(0),
    ),
}
