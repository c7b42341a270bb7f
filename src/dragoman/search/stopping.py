"""When a beam may stop: one rule for the search in torch and for its twin over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, best_possible

# "length": at the longest length; "n_best": when `width` hypotheses have ended, as in CTranslate2;
# "heuristic": when, besides, no open one would be among them if it ended now, as in Hugging Face; "all": when
# none can be.
Stop = Literal["length", "n_best", "heuristic", "all"]


@dataclass(frozen=True)
class StopRule:
    """`width` is the places of the beam; the best `n_best` that ended are those that must not change."""

    stop: Stop
    width: int
    n_best: int
    max_length: int
    normalise: Normalise

    def is_done(self, ended: Sequence[Hypothesis], log_p: float, length: int) -> bool:
        """After `length` steps, with these hypotheses ended, best first; `log_p` is the best open Σ log p."""
        if self.stop == "length" or len(ended) < self.n_best:
            return False
        if best_possible(log_p, self.max_length, self.normalise) <= ended[self.n_best - 1].score:
            return True
        if self.stop == "all" or len(ended) < self.width:
            return False
        return self.stop == "n_best" or self.normalise(log_p, length + 1) <= ended[-1].score
