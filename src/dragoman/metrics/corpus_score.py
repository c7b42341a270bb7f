"""One number for a corpus, with what is known about it."""

from __future__ import annotations

from typing import NamedTuple

Interval = tuple[float, float]


class CorpusScore(NamedTuple):
    value: float
    interval: Interval  # 95 % by bootstrap over sentences
    signature: str = ""
