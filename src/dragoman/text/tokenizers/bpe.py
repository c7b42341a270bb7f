"""Byte-pair encoding (Sennrich et al. 2016) with BPE-dropout (Provilkov et al. 2020)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from heapq import heappop, heappush

from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, SentencePiece


class Bpe(SentencePiece):
    kind = "bpe"

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the probability that a merge is skipped."""
        super().__init__(model, rate)
        # Learned pieces are in the order of their merges, so an id is a rank.
        self._rank = {self._pieces[id]: id for id in range(FIRST_LEARNED, self.size)}

    def _resegment_word(self, word: list[int], rng: random.Random) -> list[int]:
        if word[0] < FIRST_LEARNED:
            return word
        text = "".join(self._pieces[id] for id in word)
        return [self._rank[symbol] for symbol in merge_with_dropout(text, self._rank, self._rate, rng)]

    def _parts(self, id: int) -> set[int]:
        return {self._rank[merged] for merged in derivation(self._pieces[id], self._rank)}


def merge_with_dropout(word: str, rank: Mapping[str, int], rate: float, rng: random.Random) -> list[str]:
    """Return the pieces of a word by algorithm 1 of Provilkov et al.

    At each step every possible merge is skipped with probability `rate` and the best of the others is
    applied, until none is left. Rate 0 is plain BPE.
    """
    symbols = _Symbols(word, rank)
    while (i := symbols.draw(rate, rng)) is not None:
        symbols.join(i)
    return [symbol for symbol in symbols.texts if symbol]


def derivation(piece: str, rank: Mapping[str, int]) -> list[str]:
    """Return the merge results that lead from characters to `piece`, which is the last.

    A piece in a line always arises this way, whatever its context: no merge crosses its boundaries.
    """
    symbols, merged = _Symbols(piece, rank), []
    while (i := symbols.draw(0.0, random.Random(0))) is not None:
        symbols.join(i)
        merged.append(symbols.texts[i])
    return merged


class _Symbols:
    """The symbols of a word during merging, with the possible merges in a heap, best rank first."""

    def __init__(self, word: str, rank: Mapping[str, int]) -> None:
        self.texts = list(word)  # a symbol merged into the one before it is ""
        self._rank = rank
        self._before = list(range(-1, len(word) - 1))
        self._after = list(range(1, len(word) + 1))
        self._possible: list[tuple[int, int, str]] = []
        for i in range(len(word)):
            self._propose(i)

    def _whole(self, i: int) -> str:
        """Return symbol `i` joined with the next one, or "" if either no longer exists."""
        if i < 0 or not self.texts[i] or self._after[i] == len(self.texts):
            return ""
        return self.texts[i] + self.texts[self._after[i]]

    def _propose(self, i: int) -> None:
        whole = self._whole(i)
        if whole in self._rank:
            heappush(self._possible, (self._rank[whole], i, whole))

    def draw(self, rate: float, rng: random.Random) -> int | None:
        """Return the best merge that is not skipped, or None. Merges are drawn best first until one stays."""
        skipped = []
        drawn = None
        while drawn is None and self._possible:
            _, i, whole = possible = heappop(self._possible)
            if self._whole(i) != whole:
                continue  # one of the two has since been merged with another
            if rng.random() < rate:
                skipped.append(possible)
            else:
                drawn = i
        for possible in skipped:
            heappush(self._possible, possible)
        return drawn

    def join(self, i: int) -> None:
        gone = self._after[i]
        self.texts[i] += self.texts[gone]
        self.texts[gone] = ""
        self._after[i] = self._after[gone]
        if self._after[i] < len(self.texts):
            self._before[self._after[i]] = i
        self._propose(self._before[i])
        self._propose(i)
