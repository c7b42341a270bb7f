"""The unigram language model and its sub-word regularisation (Kudo 2018)."""

from __future__ import annotations

import math
import random

from dragoman.text.tokenizers.sentencepiece import MARK, SentencePiece

N_BEST = 8  # l in the paper
ALPHA = 0.2  # α in the paper: 0 draws evenly, 1 as the model would


class Unigram(SentencePiece):
    kind = "unigram"

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the chance that a word is cut another way."""
        super().__init__(model, rate)
        self._score: list[float] = [self._processor.get_score(id) for id in range(self.size)]

    def _recut(self, word: list[int], rng: random.Random) -> list[int]:
        """One of the best other cuts x of the word, drawn with P(x)^α."""
        text = "".join(self._pieces[id] for id in word)
        # Without the mark it goes on after a byte; SentencePiece would put a mark before it.
        if rng.random() >= self._rate or not text.startswith(MARK) or text == MARK:
            return word
        cuts: list[list[int]] = self._processor.nbest_encode(text[1:], out_type=int, nbest_size=N_BEST)
        others = [cut for cut in cuts if cut != word]
        if not others:
            return word
        log_p = [sum(self._score[id] for id in cut) for cut in others]
        weights = [math.exp(ALPHA * (score - max(log_p))) for score in log_p]
        return rng.choices(others, weights)[0]
