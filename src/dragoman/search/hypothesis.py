"""The result of a search: one output with its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Hypothesis(NamedTuple):
    """`tokens` exclude </s>; `log_p` is Σ log p over them and </s>; `score` is used for ranking."""

    tokens: tuple[int, ...]
    score: float
    log_p: float
    finished: bool  # False: truncated at the maximum length, before </s>

    @property
    def mean_log_p(self) -> float:
        """log p per token, </s> included."""
        return self.log_p / max(len(self.tokens) + self.finished, 1)


def best_of(*found: Sequence[Hypothesis], size: int) -> list[Hypothesis]:
    """Return the best distinct hypotheses of several lists; of equal scores, earlier lists come first."""
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for hypothesis in (h for one in found for h in one):
        distinct.setdefault((hypothesis.tokens, hypothesis.finished), hypothesis)
    return sorted(distinct.values(), key=lambda h: -h.score)[:size]
