"""The score of a corpus, with its interval and signature."""

from __future__ import annotations

from typing import NamedTuple

Interval = tuple[float, float]


class CorpusScore(NamedTuple):
    value: float
    interval: Interval  # 95 %, by bootstrap over sentences; of a share of sentences, Wilson's
    signature: str = ""

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.2f} ({low:.2f} to {high:.2f})"
