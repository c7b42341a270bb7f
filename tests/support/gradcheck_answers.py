"""Rows of gradcheck for poolings, tags, and words that are spelled."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from dragoman.nn.attention.pooling import MaxPooling, MeanPooling
from dragoman.nn.characters import SpelledWords, SpellingCNN
from dragoman.nn.crf import CRF
from dragoman.nn.embedding import embedding_matrix
from support.gradcheck import DROP, KEEP, Check, check, drawn

SPELT = torch.tensor([[1, 3, 2, 0], [1, 4, 3, 2], [1, 2, 4, 0]])


def pooled(made: nn.Module) -> Check:
    return check(made, lambda h: made(h, KEEP)[0], drawn(2, 3, 2))


def tagged() -> Check:
    made = CRF(3)
    y = torch.tensor([[0, 2, 1], [1, 1, 0]])
    return check(made, lambda P: made.nll(P, y, KEEP), drawn(2, 3, 3))


def spelling() -> SpellingCNN:
    return SpellingCNN(5, features=2, widths=(1, 3), filters=1, highways=1, size=2)


def spelled() -> Check:
    made = SpelledWords(embedding_matrix(3, 2), spelling(), unk=1, word_dropout=DROP)
    words = torch.cat((torch.tensor([[0], [2], [1]]), SPELT), dim=1).unsqueeze(0)
    return check(made, lambda: made(words))


def spelt() -> Check:
    made = spelling()
    return check(made, lambda: made(SPELT))


ROWS: dict[type[nn.Module], Callable[[], Check]] = {
    MeanPooling: lambda: pooled(MeanPooling()),
    MaxPooling: lambda: pooled(MaxPooling()),
    CRF: tagged,
    SpellingCNN: spelt,
    SpelledWords: spelled,
}
