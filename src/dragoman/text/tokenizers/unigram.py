"""The unigram language model and its sub-word regularisation (Kudo 2018)."""

from __future__ import annotations

import math
from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dragoman.hashing import hash64_each, uniform
from dragoman.text.tokenizers.sentencepiece import MARK, SentencePiece
from dragoman.text.tokenizers.words import Redrawn, Words

N_BEST = 8  # l in the paper
ALPHA = 0.2  # α in the paper: 0 samples uniformly, 1 in proportion to P
CACHED_WORDS = 1 << 16  # about 1 kB each
ID_BYTES = 8


class Others(NamedTuple):
    """Other segmentations of a word."""

    ids: list[bytes]  # of each, in 8 bytes
    sums: list[float]  # P(x)^α of each and those before it


class Unigram(SentencePiece):
    kind = "unigram"

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the probability that a word is resegmented."""
        super().__init__(model, rate)
        self._score: list[float] = [self._processor.get_score(id) for id in range(self.size)]
        self._others = lru_cache(CACHED_WORDS)(self._find_others)

    def _redraw(self, words: Words) -> Redrawn:
        """Draw one of the best other segmentations x of some words, with P(x)^α."""
        is_drawn, which = (uniform(hash64_each(words.keys, np.uint64(draw))) for draw in range(2))
        chosen = np.flatnonzero(is_drawn < self._rate)
        starts = words.starts[chosen] * ID_BYTES
        ends = starts + words.sizes[chosen] * ID_BYTES
        facts = (chosen, starts, ends, which[chosen])
        ids, found = words.ids.tobytes(), {}
        for word, start, end, u in zip(*(fact.tolist() for fact in facts), strict=True):
            others = self._others(ids[start:end])
            if others.ids:
                found[word] = others.ids[bisect(others.sums, u * others.sums[-1], hi=len(others.ids) - 1)]
        sizes = [len(new) // ID_BYTES for new in found.values()]
        new_ids = np.frombuffer(b"".join(found.values()), np.int64)
        return Redrawn(np.array([*found], np.int64), np.array(sizes, np.int64), new_ids)

    def _find_others(self, ids: bytes) -> Others:
        word = np.frombuffer(ids, np.int64).tolist()
        text = "".join(self._pieces[id] for id in word)
        # Without the mark, the word continues after a byte, but SentencePiece would add a mark before it.
        if not text.startswith(MARK) or text == MARK:
            return Others([], [])
        candidates: list[list[int]] = self._processor.nbest_encode(text[1:], out_type=int, nbest_size=N_BEST)
        others = [candidate for candidate in candidates if candidate != word]
        log_p = [sum(map(self._score.__getitem__, candidate)) for candidate in others]
        best = max(log_p, default=0.0)
        weights = [math.exp(ALPHA * (score - best)) for score in log_p]
        return Others([np.array(other, np.int64).tobytes() for other in others], list(accumulate(weights)))
