"""A lexicon of words, learned from pairs by IBM Model 1: which words of one language translate a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dragoman.data.padding import pad_pairs
from dragoman.models.ibm1 import PaddedPairs, Prior, learn, uniform
from dragoman.text.specials import EOS, SPECIALS, UNK

Words = Sequence[str]
WordPair = tuple[Words, Words]

ITERATIONS = 5
TOGETHER = 64  # pairs that are padded together
LEAST_COUNT = 2  # a word that occurs less often is not in the lexicon


class Lexicon:
    """t(y | x) of words. The empty word of the source is </s>."""

    def __init__(
        self, pairs: Sequence[WordPair], iterations: int = ITERATIONS, prior: Prior = uniform
    ) -> None:
        self.src = vocabulary(words for words, _ in pairs)
        self.tgt = vocabulary(words for _, words in pairs)
        self.V = len(SPECIALS) + len(self.tgt)
        by_length = sorted(pairs, key=lambda pair: (len(pair[0]), len(pair[1])))
        self.table = learn(partial(self._batches, by_length), self.V, iterations, prior=prior)
        self._best = np.zeros(len(SPECIALS) + len(self.src))
        np.maximum.at(self._best, self.table.keys // self.V, self.table.t)

    def best(self, x: str) -> float:
        """Return max_y t(y | x), which is 0 for a word that is not in the lexicon."""
        return float(self._best[self.src[x]]) if x in self.src else 0.0

    def t(self, src: Words, tgt: Words) -> NDArray[np.float64]:
        """Return t(y | x), a row for each y and a column for each x, and one more for the empty word.

        Unknown words are translated by words with the same spelling.
        """
        x = np.array([*(self.src.get(word, UNK) for word in src), EOS], np.int64)
        y = np.array([self.tgt.get(word, UNK) for word in tgt], np.int64)
        table = self.table(x[None, :] * self.V + y[:, None])
        table[y == UNK] = table[:, x == UNK] = 0.0
        for row, word in enumerate(tgt):
            for column, other in enumerate(src):
                if word == other and (y[row] == UNK or x[column] == UNK):
                    table[row, column] = 1.0
        return table

    def _batches(self, pairs: Sequence[WordPair]) -> Iterator[PaddedPairs]:
        for start in range(0, len(pairs), TOGETHER):
            ids = [
                ([self.src.get(x, UNK) for x in src], [self.tgt.get(y, UNK) for y in tgt])
                for src, tgt in pairs[start : start + TOGETHER]
            ]
            yield PaddedPairs(*pad_pairs(ids))


def vocabulary(sentences: Iterable[Words]) -> dict[str, int]:
    counts = Counter(word for words in sentences for word in words)
    kept = (word for word, count in counts.items() if count >= LEAST_COUNT)
    return {word: number for number, word in enumerate(kept, start=len(SPECIALS))}
