"""The unigram language model and its sub-word regularisation (Kudo 2018)."""

from __future__ import annotations

import math
import random

from dragoman.text.tokenizers.sentencepiece import MARK, SentencePiece

N_BEST = 8  # l in the paper
ALPHA = 0.2  # α in the paper: 0 samples uniformly, 1 in proportion to P


class Unigram(SentencePiece):
    kind = "unigram"

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the probability that a word is resegmented."""
        super().__init__(model, rate)
        self._score: list[float] = [self._processor.get_score(id) for id in range(self.size)]

    def _resegment_word(self, word: list[int], rng: random.Random) -> list[int]:
        """Return one of the best other segmentations x of the word, sampled with P(x)^α."""
        text = "".join(self._pieces[id] for id in word)
        # Without the mark, the word continues after a byte, but SentencePiece would add a mark before it.
        if rng.random() >= self._rate or not text.startswith(MARK) or text == MARK:
            return word
        candidates: list[list[int]] = self._processor.nbest_encode(text[1:], out_type=int, nbest_size=N_BEST)
        others = [candidate for candidate in candidates if candidate != word]
        if not others:
            return word
        log_p = [sum(self._score[id] for id in candidate) for candidate in others]
        weights = [math.exp(ALPHA * (score - max(log_p))) for score in log_p]
        return rng.choices(others, weights)[0]
