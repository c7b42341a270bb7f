"""Sentences of a small grammar, of which the probability of every sentence is known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

SIZES = {"train": 8_000, "valid": 300, "test": 300}
NOUNS = ("cat", "dog", "man", "girl", "king", "bird", "horse", "child")
ADJECTIVES = ("tall", "small", "red", "happy")
SEES = ("sees", "hears", "likes", "follows")
SLEEPS = ("sleeps", "sings", "laughs")
ADJECTIVE, CLAUSE, OBJECT = 0.4, 0.25, 0.7  # how probable they are; a clause has none inside


class Sentence:
    """A sentence that is being written, and log p of the choices so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.words: list[str] = []
        self.log_p = 0.0

    def choose(self, words: Sequence[str]) -> None:
        self.words.append(self.rng.choice(words))
        self.log_p -= math.log(len(words))

    def happens(self, p: float) -> bool:
        is_so = self.rng.random() < p
        self.log_p += math.log(p if is_so else 1.0 - p)
        return is_so

    def noun_phrase(self, *, may_have_clause: bool = True) -> None:
        self.choose(("the", "a"))
        if self.happens(ADJECTIVE):
            self.choose(ADJECTIVES)
        self.choose(NOUNS)
        if may_have_clause and self.happens(CLAUSE):
            self.words.append("that")
            self.verb_phrase(may_have_clause=False)

    def verb_phrase(self, *, may_have_clause: bool = True) -> None:
        if self.happens(OBJECT):
            self.choose(SEES)
            self.noun_phrase(may_have_clause=may_have_clause)
        else:
            self.choose(SLEEPS)


def sentence(rng: random.Random) -> tuple[str, float]:
    """Return a sentence and its log p, in nats."""
    found = Sentence(rng)
    found.noun_phrase()
    found.verb_phrase()
    return " ".join([*found.words, "."]), found.log_p


def sentences(seed: int = 1) -> dict[str, float]:
    """Return as many different sentences as there are in all splits, and log p of each."""
    rng = random.Random(seed)
    found: dict[str, float] = {}
    while len(found) < sum(SIZES.values()):
        found.update([sentence(rng)])
    return found


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits; a sentence is both sides of a pair, and none is repeated."""
    fresh = iter(sentences(seed))
    return {
        name: [(line, line) for line in (next(fresh) for _ in range(size))] for name, size in SIZES.items()
    }
