"""The score of a corpus, with its interval and signature."""

from __future__ import annotations

from typing import NamedTuple

Interval = tuple[float, float]


class CorpusScore(NamedTuple):
    value: float
    interval: Interval  # 95 %, by bootstrap over sentences
    signature: str = ""
