"""How well a language model predicts a text: per token, per character and per word, from Σ −log p."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class TextScore(NamedTuple):
    """Sums over a text. A newline, or the </s> of a line, counts as a token, a character and a word.

    Only the figures per character and per word compare models with different tokens: −log p of a text is the
    same sum, divided by a number that does not depend on the tokens (Mielke 2019).
    """

    nll: float  # −Σ log p, in nats
    tokens: int
    characters: int
    words: int  # separated by spaces
    unknown: int = 0  # tokens that are not in the vocabulary

    def __add__(self, other: tuple[Any, ...]) -> TextScore:
        return TextScore(*(a + b for a, b in zip(self, other, strict=True)))

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

    def asdict(self) -> dict[str, float]:
        return {
            "nats_per_token": self.nats_per_token,
            "perplexity": self.perplexity,
            "nats_per_character": self.nats_per_character,
            "bits_per_character": self.bits_per_character,
            "word_perplexity": self.word_perplexity,
            "tokens": self.tokens,
            "characters": self.characters,
            "words": self.words,
            "unknown": self.unknown,
        }


MOST = 700.0  # exp of more overflows


def units(text: str) -> tuple[int, int]:
    """Return the characters and words of a text."""
    return len(text), len(text.split())
