"""Baselines of tagging, by counting: the most frequent tag of each word, and a hidden Markov model.

p(x, y) = Π_t p(y_t | y_{t−1}) p(x_t | y_t)   (Rabiner 1989). Unknown words take the tags of rare words with
the same ending (Brants 2000, section 2.3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Sentence = tuple[Sequence[str], Sequence[str]]  # words and tags
RARE = 10  # occurrences, at most, of words whose endings are those of unknown words
ENDING = 6  # letters, at most
ADDED = 0.1  # to the count of each transition

Counts = defaultdict[str, Counter[str]]


class MostFrequentTag:
    """argmax_y count(x, y); of an unknown word, the most frequent tag of all."""

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        counts = Counts(Counter)
        total = Counter[str]()
        for words, tags in sentences:
            total.update(tags)
            for word, tag in zip(words, tags, strict=True):
                counts[word][tag] += 1
        self.tag = {word: first(found) for word, found in counts.items()}
        self.default = first(total)

    def __call__(self, words: Sequence[str]) -> list[str]:
        return [self.tag.get(word, self.default) for word in words]


class HMM:
    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self.words, self.endings = Counts(Counter), Counts(Counter)
        steps, self.total = Counter[tuple[str, str]](), Counter[str]()
        for words, tags in sentences:
            self.total.update(tags)
            steps.update(zip(("<s>", *tags), (*tags, "</s>"), strict=True))
            for word, tag in zip(words, tags, strict=True):
                self.words[word][tag] += 1
        for word, found in self.words.items():
            if found.total() <= RARE:
                for ending in endings(word):
                    self.endings[ending].update(found)
        self.tags = sorted(self.total)
        rows = [[steps[before, tag] for tag in (*self.tags, "</s>")] for before in ("<s>", *self.tags)]
        A = np.array(rows) + ADDED
        log_A = np.log(A / A.sum(axis=1, keepdims=True))
        self.start, self.A, self.end = log_A[0, :-1], log_A[1:, :-1], log_A[1:, -1]
        self.prior = np.array([self.total[tag] for tag in self.tags]) / self.total.total()

    def emission(self, word: str) -> NDArray[np.float64]:
        """Return log p(x | y) up to a constant: log p(y | x) − log p(y), by Bayes' rule."""
        p = self.prior
        if word in self.words:
            p = self.shares(self.words[word])
        else:
            for ending in reversed(endings(word)):  # from the shortest, each smoothed by the one before
                if ending in self.endings:
                    p = (self.shares(self.endings[ending]) + 0.1 * p) / 1.1
        return np.log(np.maximum(p, 1e-12)) - np.log(self.prior)

    def shares(self, found: Counter[str]) -> NDArray[np.float64]:
        return np.array([found[tag] for tag in self.tags]) / found.total()

    def __call__(self, words: Sequence[str]) -> list[str]:
        """Return the best tags, by the Viterbi algorithm."""
        if not words:
            return []
        b = [self.emission(word) for word in words]
        best, origins = self.start + b[0], []
        for emission in b[1:]:
            reached = best[:, None] + self.A
            origins.append(reached.argmax(axis=0))
            best = reached.max(axis=0) + emission
        path = [int((best + self.end).argmax())]
        for origin in reversed(origins):
            path.append(int(origin[path[-1]]))
        return [self.tags[tag] for tag in reversed(path)]


def endings(word: str) -> list[str]:
    """Return the endings of a word, longest first; a capital letter at its start makes them others."""
    kind = "A" if word[:1].isupper() else "0" if word[:1].isdigit() else "a"
    return [kind + word[-length:] for length in range(min(ENDING, len(word)), 0, -1)]


def first(counts: Counter[str]) -> str:
    """Return the most frequent, and of equally frequent ones the first by name."""
    return min(counts, key=lambda name: (-counts[name], name))
