"""A word → its letters in reverse order."""

from __future__ import annotations

import random

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"train": 10_000, "valid": 200, "test": 500}


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No word is repeated, within a split or across splits."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < sum(SIZES.values()):
        words["".join(rng.choices(LETTERS, k=rng.randint(3, 8)))] = None
    fresh = iter(words)
    return {name: [backwards(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def backwards(word: str) -> tuple[str, str]:
    return word, word[::-1]
