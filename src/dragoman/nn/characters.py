"""Word embeddings computed from characters (Kim et al. 2016, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.dropout import uniform
from dragoman.nn.module_list import TypedModuleList
from dragoman.shapes import Float, Int, Tensor

NONE = 0  # the padding index, after the end of a word


class Highway(nn.Module):
    """z = t ⊙ relu(W_H y + b_H) + (1 − t) ⊙ y    t = σ(W_T y + b_T)   (Srivastava et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.W_H = nn.Linear(size, size)
        self.W_T = nn.Linear(size, size)
        nn.init.constant_(self.W_T.bias, -2.0)  # mostly carry y at the start

    def forward(self, y: Float[Tensor, "N F"]) -> Float[Tensor, "N F"]:
        t = torch.sigmoid(self.W_T(y))
        return t * torch.relu(self.W_H(y)) + (1.0 - t) * y

    if TYPE_CHECKING:
        __call__ = forward


class Filters(nn.Module):
    """y = max_i tanh(W [c_i; …; c_{i+w−1}] + b): the maximum of each filter over a word.

    Only windows inside the word count; a word shorter than w has one, padded with zeros.
    """

    def __init__(self, features: int, width: int, count: int) -> None:
        super().__init__()
        self.width = width
        self.W = nn.Linear(features * width, count)

    def forward(self, c: Float[Tensor, "N C A"], lengths: Int[Tensor, " N"]) -> Float[Tensor, "N F"]:
        z = self.W(c.unfold(1, self.width, 1).flatten(2))
        last = (lengths - self.width).clamp(min=0)
        is_outside = torch.arange(z.shape[1], device=c.device) > last.unsqueeze(1)
        # tanh is increasing, so it may be applied after the maximum.
        return torch.tanh(z.masked_fill(is_outside.unsqueeze(2), float("-inf")).amax(dim=1))

    if TYPE_CHECKING:
        __call__ = forward


class SpellingCNN(nn.Module):
    """x = P · highway([y_1; …; y_W]), computed from the characters of a word, padded with 0."""

    def __init__(
        self,
        alphabet: int,
        features: int,
        widths: Sequence[int],
        filters: int,
        highways: int,
        size: int,
    ) -> None:
        super().__init__()
        self.shortest = max(widths)
        self.characters = nn.Embedding(alphabet, features, padding_idx=NONE)
        self.filters = TypedModuleList(Filters(features, width, width * filters) for width in widths)
        count = filters * sum(widths)
        self.highways = TypedModuleList(Highway(count) for _ in range(highways))
        self.P = nn.Linear(count, size, bias=False)
        nn.init.normal_(self.P.weight, std=(count * size) ** -0.5)  # norms as in a table

    def forward(self, spelt: Int[Tensor, "N A"]) -> Float[Tensor, "N E"]:
        lengths = (spelt > 0).sum(dim=1)
        spelt = F.pad(spelt, (0, max(self.shortest - spelt.shape[1], 0)))
        return self.read(spelt[:, : max(int(lengths.max()), self.shortest)], lengths)

    def read(self, spelt: Int[Tensor, "N A"], lengths: Int[Tensor, " N"]) -> Float[Tensor, "N E"]:
        """Return x. The rows may be longer than any word; each filter must fit into them."""
        c = F.embedding(spelt, self.characters.weight, NONE)
        z = torch.cat([filters(c, lengths) for filters in self.filters], dim=1)
        for highway in self.highways:
            z = highway(z)
        return self.P(z)

    if TYPE_CHECKING:
        __call__ = forward


class CharacterCNN(SpellingCNN):
    """The vector of each token of a vocabulary, from its spelling."""

    spelling: Tensor

    def __init__(
        self,
        spelling: Int[Tensor, "V C"],
        features: int,
        widths: Sequence[int],
        filters: int,
        highways: int,
        size: int,
    ) -> None:
        super().__init__(int(spelling.max()) + 1, features, widths, filters, highways, size)
        self.register_buffer("spelling", spelling, persistent=False)  # derived from the vocabulary

    def forward(self, y: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape E"]:
        if not self.training:  # one row per token, so that its bits do not depend on the others
            return self.vectors(y.flatten()).view(*y.shape, -1)
        words, inverse = y.unique(return_inverse=True)
        return F.embedding(inverse, self.vectors(words))

    def vectors(self, words: Int[Tensor, " N"]) -> Float[Tensor, "N E"]:
        return super().forward(self.spelling[words])

    if TYPE_CHECKING:
        __call__ = forward  # type: ignore[assignment]


class SpelledWords(nn.Module):
    """x = E_w + SpellingCNN(c_1 … c_n): a row of a table for the word, and a vector of its characters.

    So an unknown word is more than <unk>. In training, some words are read as <unk>, which teaches the
    characters to replace words (Lample et al. 2016, section 4.3).
    """

    def __init__(self, table: nn.Parameter, spell: SpellingCNN, unk: int, word_dropout: float) -> None:
        super().__init__()
        self.table = table
        self.spell = spell
        self.unk = unk
        self.word_dropout = word_dropout

    def forward(self, y: Int[Tensor, "B T Z"]) -> Float[Tensor, "B T E"]:
        """Return the vectors of words, each given as the id of the word and the ids of its characters."""
        word, spelt = y[:, :, 0], y[:, :, 1:].flatten(0, 1)
        if not self.training:
            return F.embedding(word, self.table) + self.spell(spelt).view(*word.shape, -1)
        if self.word_dropout:
            is_dropped = uniform(word.numel(), word.device).view(word.shape) < self.word_dropout
            word = torch.where(is_dropped & (spelt.view(*word.shape, -1)[:, :, 0] > 0), self.unk, word)
        spellings, inverse = spelt.unique(dim=0, return_inverse=True)
        return F.embedding(word, self.table) + F.embedding(inverse.view(word.shape), self.spell(spellings))

    if TYPE_CHECKING:
        __call__ = forward
