"""Runaway outputs, as plain numbers: how long one may be, and where a loop has turned too often."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.search.loops import PERIOD

# Bytes that a token stands for, at most: a source in words is longer in letters.
BYTES = {"byte": 1, "char": 4, "bpe": 24, "unigram": 24, "word": 24, "sentencepiece": 24}


def longest_output(source: int, src_kind: str, tgt_kind: str) -> int:
    """3 × source + 20 tokens, the source counted in units as fine as the target's."""
    return 3 * source * max(1, BYTES[src_kind] // BYTES[tgt_kind]) + 20


def another_turn(ids: Sequence[int], turns: int, shortest: int = 1, start: int = 0) -> int | None:
    """The first place, from `start` on, of a token that goes on with a loop behind so many turns of it."""
    first: int | None = None
    for period in range(1, min(PERIOD, len(ids) // turns) + 1):
        run = 0  # tokens on end, before this place, that are the same as `period` before
        for place in range(period, len(ids) if first is None else first):
            is_same = ids[place] == ids[place - period]
            if is_same and place >= start and run >= (turns - 1) * period and run + period >= shortest:
                first = place
                break
            run = run + 1 if is_same else 0
    return first
