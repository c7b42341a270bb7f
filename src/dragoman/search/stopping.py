"""The stopping rule of a beam, shared by the search in torch and its numpy equivalent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, best_possible

# "n_best": when `width` hypotheses have ended, as in CTranslate2; "heuristic": when, in addition, no open
# one would beat the worst of them if it ended now, as in Hugging Face; "all": when no open one can change the
# best `n_best`; "length": at the maximum length.
Stop = Literal["length", "n_best", "heuristic", "all"]


@dataclass(frozen=True)
class StopRule:
    """When to stop. `width` is the beam width; the best `n_best` hypotheses must be final."""

    stop: Stop
    width: int
    n_best: int
    max_length: int
    normalise: Normalise

    def is_done(self, ended: Sequence[Hypothesis], log_p: float, length: int) -> bool:
        """Return whether to stop after `length` steps.

        `ended` are the hypotheses that have ended, best first; `log_p` is the best open Σ log p.
        """
        if self.stop == "length" or len(ended) < self.n_best:
            return False
        if best_possible(log_p, self.max_length, self.normalise) <= ended[self.n_best - 1].score:
            return True
        if self.stop == "all" or len(ended) < self.width:
            return False
        return self.stop == "n_best" or self.normalise(log_p, length + 1) <= ended[-1].score
