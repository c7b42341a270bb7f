"""Loops: a stretch of tokens that comes again and again without a gap, as a model babbles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

PERIOD = 32  # tokens in the longest stretch that is looked for
TURNS = 3  # from here on it is a loop
FINE = {"char": 12, "byte": 16}  # tokens before letters are a loop: "1000000" and "Schifffahrt" are none


def shortest_loop(kind: str) -> int:
    """How many tokens of these units a loop has at least, however many turns they make."""
    return FINE.get(kind, 1)


def may_loop(ids: Sequence[int], turns: int) -> bool:
    """Whether there may be a loop of so many turns: two quick looks for a token that comes as often."""
    return len(ids) - len(set(ids)) >= turns - 1 and max(Counter(ids).values(), default=1) >= turns


def most_turns(ids: Sequence[int], shortest: int = 1) -> int:
    """How often the most repeated stretch comes in a row: 1 where none does."""
    most = 1
    for period in range(1, min(PERIOD, len(ids) // 2) + 1):
        run = 0  # tokens on end that are the same as `period` before
        for now, before in zip(ids[period:], ids, strict=False):
            run = run + 1 if now == before else 0
            if run >= most * period and run + period >= shortest:
                most = run // period + 1
    return most


def turns_allowed(source: Sequence[int], shortest: int) -> int:
    """How often an output may repeat itself: as often as its source does, and three times anyway."""
    return max(TURNS, most_turns(source, shortest)) if may_loop(source, TURNS + 1) else TURNS
