"""The position of the greedy output in a beam.

A beam prunes by the score of prefixes, and so may lose the greedy output although it would score best in the
end. Following it shows which sentences to search again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.search.scores import Normalise, best_possible
from dragoman.text.specials import EOS

LOST = -1


class Continuations(NamedTuple):
    """The continuations of the beam of one sentence, best first. `parent` is an index into the beam."""

    log_p: Sequence[float]
    parent: Sequence[int]
    token: Sequence[int]


class GreedyPath:
    """The greedy outputs of a batch of sentences.

    `place` is the index of the output in each beam, or LOST if it was pruned; `log_p` is its Σ log p as far
    as it was followed; `is_found` is whether it ended within the beam.
    """

    def __init__(self, sentences: int) -> None:
        self.place = [0] * sentences
        self.log_p = [0.0] * sentences
        self.is_found = [False] * sentences

    def follow(self, sentence: int, best: Continuations, width: int, *, is_last: bool) -> None:
        """Follow the output for one step of a beam of `width` hypotheses.

        It is lost if it ends below the best `width`, or is not among the best `width` open ones.
        """
        place, self.place[sentence] = self.place[sentence], LOST
        if place == LOST:
            return
        possible = zip(best.parent, best.log_p, strict=True)
        ranks = [rank for rank, (w, p) in enumerate(possible) if w == place and p > -math.inf]
        if not ranks or self._is_tied(best, ranks):
            return
        rank = ranks[0]  # its best continuation is its most probable token
        self.log_p[sentence] = best.log_p[rank]
        open_before = sum(token != EOS for token in best.token[:rank])
        if best.token[rank] == EOS or is_last:
            self.is_found[sentence] = rank < width
        elif open_before < width:
            self.place[sentence] = open_before

    @staticmethod
    def _is_tied(best: Continuations, ranks: Sequence[int]) -> bool:
        """Return whether the two best sums are equal; the log p of their tokens may still differ."""
        return len(ranks) > 1 and best.log_p[ranks[0]] == best.log_p[ranks[1]]

    def may_win(self, sentence: int, best: float, max_length: int, normalise: Normalise) -> bool:
        """Return whether the output was lost and could still score higher than the best hypothesis."""
        return (
            not self.is_found[sentence] and best_possible(self.log_p[sentence], max_length, normalise) > best
        )
