"""A bounded, evenly spread sample of a stream of lines."""

from __future__ import annotations

import random
from collections.abc import Iterable


def sample(lines: Iterable[str], most: int) -> list[str]:
    """At most `most` lines, each as likely as any other (Vitter 1985, algorithm R), in their order."""
    rng = random.Random(0)
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < most:
            kept.append((number, line))
        elif (place := rng.randrange(number + 1)) < most:
            kept[place] = (number, line)
    return [line for _, line in sorted(kept)]
