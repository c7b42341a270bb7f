"""Counts of n-grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
