"""Where the output of greedy search is in a beam.

A beam prunes by what has been written so far, and so may lose that output although it would score best in the
end. Who follows it knows for which sentences to search for it once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.search.scores import Normalise, best_possible
from dragoman.text.specials import EOS

LOST = -1


class Continuations(NamedTuple):
    """Of the beam of one sentence, best first. `parent` is where what they continue stands in the beam."""

    log_p: Sequence[float]
    parent: Sequence[int]
    token: Sequence[int]


class GreedyPath:
    """Of a batch of sentences. `place` is where the output stands in each beam, LOST where it was pruned;
    `log_p` is its Σ log p as far as it was followed; `is_found`: it has ended within the beam."""

    def __init__(self, sentences: int) -> None:
        self.place = [0] * sentences
        self.log_p = [0.0] * sentences
        self.is_found = [False] * sentences

    def follow(self, sentence: int, best: Continuations, width: int, *, is_last: bool) -> None:
        """The beam has `width` places. What ends beyond them, or finds no place among those that are open,
        is lost."""
        place, self.place[sentence] = self.place[sentence], LOST
        if place == LOST:
            return
        possible = zip(best.parent, best.log_p, strict=True)
        ranks = [rank for rank, (w, p) in enumerate(possible) if w == place and p > -math.inf]
        if not ranks or self._is_tied(best, ranks):
            return
        rank = ranks[0]  # the best that continues it is its most probable token
        self.log_p[sentence] = best.log_p[rank]
        open_before = sum(token != EOS for token in best.token[:rank])
        if best.token[rank] == EOS or is_last:
            self.is_found[sentence] = rank < width
        elif open_before < width:
            self.place[sentence] = open_before

    @staticmethod
    def _is_tied(best: Continuations, ranks: Sequence[int]) -> bool:
        """Whether the sums are equal where the log p of the tokens may differ."""
        return len(ranks) > 1 and best.log_p[ranks[0]] == best.log_p[ranks[1]]

    def may_win(self, sentence: int, best: float, max_length: int, normalise: Normalise) -> bool:
        """Whether the output was lost, and could still score more than the best that was found."""
        return (
            not self.is_found[sentence] and best_possible(self.log_p[sentence], max_length, normalise) > best
        )
