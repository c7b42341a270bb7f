"""Loops: a stretch of tokens that comes again and again without a gap, as a model babbles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

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


class LoopBounds(NamedTuple):
    """A loop that an output must not go on with: of `shortest` tokens or more, behind `turns` turns."""

    shortest: int
    turns: int

    def allowed(self, source: Sequence[int]) -> int:
        """The turns that an output may have: these, or one more than its source."""
        repeated = most_turns(source, self.shortest) if may_loop(source, self.turns) else 1
        return max(self.turns, repeated + 1) if repeated >= TURNS else self.turns

    def cut_at(self, source: Sequence[int], output: Sequence[int], start: int = 0) -> int | None:
        """The first place, from `start` on, of a token that goes on with a loop."""
        if not may_loop(output, self.turns + 1):
            return None
        return another_turn(output, self.allowed(source), self.shortest, start)


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
