"""What a search returns: one output with its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Hypothesis(NamedTuple):
    """`tokens` stand without </s>; `log_p` is Σ log p over them and </s>; `score` is what ranks."""

    tokens: tuple[int, ...]
    score: float
    log_p: float
    finished: bool  # False: cut at the longest length allowed, before </s>


def best_of(*found: Sequence[Hypothesis], size: int) -> list[Hypothesis]:
    """The best of several lists, each hypothesis once; of equal scores those of an earlier list go first."""
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for hypothesis in (h for one in found for h in one):
        distinct.setdefault((hypothesis.tokens, hypothesis.finished), hypothesis)
    return sorted(distinct.values(), key=lambda h: -h.score)[:size]
