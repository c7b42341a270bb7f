"""Digits → their names: a task on which attention outperforms a single source vector."""

from __future__ import annotations

import random

SIZES = {"train": 10_080, "valid": 210, "test": 630}
SHORTEST, LONGEST = 3, 23
DIGITS = "0123456789"
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. All lengths are equally frequent, and no line is repeated."""
    rng = random.Random(seed)
    lines: dict[str, None] = {}
    while len(lines) < sum(SIZES.values()):
        length = SHORTEST + len(lines) % (LONGEST - SHORTEST + 1)
        lines["".join(rng.choices(DIGITS, k=length))] = None
    fresh = iter(lines)
    return {name: [spelled_out(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def spelled_out(line: str) -> tuple[str, str]:
    return " ".join(line), " ".join(NAMES[int(digit)] for digit in line)
