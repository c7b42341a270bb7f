"""What a search returns: one output with its probability."""

from __future__ import annotations

from typing import NamedTuple


class Hypothesis(NamedTuple):
    """`tokens` stand without </s>; `log_p` is Σ log p over them and </s>; `score` is what ranks."""

    tokens: tuple[int, ...]
    score: float
    log_p: float
    finished: bool  # False: cut at the longest length allowed, before </s>
