"""Blocks of pairs: large enough for array operations, never more than a few megabytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.data.pair import Pair

PAIRS = 8192
CHARACTERS = 8_000_000  # per block; a single line may have a million


def blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Yield the pairs in blocks of at most `PAIRS` pairs."""
    block: list[Pair] = []
    size = 0
    for pair in pairs:
        block.append(pair)
        size += len(pair.src) + len(pair.tgt)
        if len(block) == PAIRS or size > CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
