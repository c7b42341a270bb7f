"""Where the output of greedy search is in a beam.

A beam prunes by what has been written so far, and so may lose that output although it would score best in the
end. Who follows it knows for which sentences to search for it once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.search.scores import Normalise, best_possible
from dragoman.text.specials import EOS

LOST = -1


class Followed(NamedTuple):
    """What greedy search writes next, y, as one of the continuations of a beam, best first."""

    y: int
    rank: int  # LOST where it is not among them
    log_p: float  # Σ log p with y
    open_before: int  # how many of the better ones do not end


class GreedyPath:
    """Of a batch of sentences. `place` is where the output stands in each beam, LOST where it was pruned;
    `log_p` is its Σ log p as far as it was followed; `is_found`: it has ended within the beam."""

    def __init__(self, sentences: int) -> None:
        self.place = [0] * sentences
        self.log_p = [0.0] * sentences
        self.is_found = [False] * sentences

    def places(self, sentences: Sequence[int]) -> list[int]:
        """Where it stands in the beams of these sentences."""
        return [self.place[sentence] for sentence in sentences]

    def follow(self, sentence: int, step: Followed, width: int, *, is_last: bool) -> None:
        """The beam has `width` places. What ends beyond them, or finds no place among those that are open,
        is lost."""
        self.place[sentence] = LOST
        if step.rank == LOST:
            return
        self.log_p[sentence] = step.log_p
        if step.y == EOS or is_last:
            self.is_found[sentence] = step.rank < width
        elif step.open_before < width:
            self.place[sentence] = step.open_before

    def may_win(self, sentence: int, best: float, max_length: int, normalise: Normalise) -> bool:
        """Whether the output was lost, and could still score more than the best that was found."""
        return (
            not self.is_found[sentence] and best_possible(self.log_p[sentence], max_length, normalise) > best
        )
