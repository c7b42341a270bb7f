"""How well a language model predicts a text: per token, per character and per word, from Σ −log p."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dragoman.errors import DataError
from dragoman.metrics.bootstrap import interval, resampled
from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.report import ScoreReport


class TextScore(NamedTuple):
    """Sums over a text. A newline, or the </s> of a line, counts as a token, a character and a word.

    Only the figures per character and per word compare models with different tokens: −log p of a text is the
    same sum, divided by a number that does not depend on the tokens (Mielke 2019).
    """

    nll: float  # −Σ log p, in nats
    tokens: int
    characters: float
    words: float  # separated by spaces
    unknown: int = 0  # tokens that are not in the vocabulary

    @property
    def nats_per_token(self) -> float:
        return self.nll / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(−1/T Σ log p)."""
        return math.exp(min(self.nats_per_token, MOST))

    @property
    def nats_per_character(self) -> float:
        return self.nll / self.characters

    @property
    def bits_per_character(self) -> float:
        return self.nats_per_character / math.log(2)

    @property
    def word_perplexity(self) -> float:
        """exp(−1/W Σ log p), whatever the tokens are."""
        return math.exp(min(self.nll / self.words, MOST))


MOST = 700.0  # exp of more overflows
FIGURES = ("perplexity", "nats_per_token", "nats_per_character", "bits_per_character", "word_perplexity")


def total(parts: Iterable[TextScore]) -> TextScore:
    """Return the sums over all parts of a text."""
    return TextScore(*(sum(column) for column in zip(*parts, strict=True)))


def report(parts: Sequence[TextScore]) -> ScoreReport:
    """Return the figures of a text, with intervals by bootstrap over its lines or parts."""
    if not parts:
        raise DataError(
            "There is no text to score.",
            expected="at least one line with a character",
            hint="Give a file with text.",
        )
    found = total(parts)
    columns = np.array(parts, dtype=np.float64)
    sums = np.array([columns[chosen].sum(axis=0) for chosen in resampled(len(parts))])
    drawn = [TextScore(*row) for row in sums.tolist()]
    scores = {
        name: CorpusScore(getattr(found, name), interval(np.array([getattr(one, name) for one in drawn])))
        for name in FIGURES
    }
    return ScoreReport(scores, len(parts))


def units(text: str) -> tuple[int, int]:
    """Return the characters and words of a text."""
    return len(text), len(text.split())
