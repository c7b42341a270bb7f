"""Loops: a stretch of tokens that comes again and again without a gap, as a model babbles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MAX_PERIOD = 32  # tokens in the longest stretch that is looked for
MAX_REPEATS = 3  # from here on it is a loop
MIN_LOOP_TOKENS = {
    "char": 12,
    "byte": 16,
}  # tokens before letters are a loop: "1000000" and "Schifffahrt" are none


def min_loop_tokens(kind: str) -> int:
    """How many tokens of these units a loop has at least, however many turns they make."""
    return MIN_LOOP_TOKENS.get(kind, 1)


def may_loop(ids: Sequence[int], turns: int) -> bool:
    """Whether there may be a loop of so many turns: two quick looks for a token that comes as often."""
    return len(ids) - len(set(ids)) >= turns - 1 and max(Counter(ids).values(), default=1) >= turns


def max_repeats(ids: Sequence[int], shortest: int = 1) -> int:
    """How often the most repeated stretch comes in a row: 1 where none does."""
    most = 1
    for period in range(1, min(MAX_PERIOD, len(ids) // 2) + 1):
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
        repeated = max_repeats(source, self.shortest) if may_loop(source, self.turns) else 1
        return max(self.turns, repeated + 1) if repeated >= MAX_REPEATS else self.turns

    def cut_at(self, source: Sequence[int], output: Sequence[int], start: int = 0) -> int | None:
        """The first place, from `start` on, of a token that goes on with a loop."""
        if not may_loop(output, self.turns + 1):
            return None
        return first_excess_repeat(output, self.allowed(source), self.shortest, start)


def first_excess_repeat(ids: Sequence[int], turns: int, shortest: int = 1, start: int = 0) -> int | None:
    """The first place, from `start` on, of a token that goes on with a loop behind so many turns of it."""
    first: int | None = None
    for period in range(1, min(MAX_PERIOD, len(ids) // turns) + 1):
        run = 0  # tokens on end, before this place, that are the same as `period` before
        for place in range(period, len(ids) if first is None else first):
            is_same = ids[place] == ids[place - period]
            if is_same and place >= start and run >= (turns - 1) * period and run + period >= shortest:
                first = place
                break
            run = run + 1 if is_same else 0
    return first


LENGTH_FACTOR = 3  # tokens of an output for one of its source, at least
LENGTH_SLACK = 20  # tokens besides, at least
MAX_LOOPING_SHARE = 0.01  # of the references: where more have loops, a loop shows nothing


class OutputBounds(NamedTuple):
    """Wide enough for every reference that it was learned from."""

    ratio: float  # tokens of the references for one of their sources, on average
    longest: int  # tokens of the longest reference
    turns: int | None  # of a loop; None where the references themselves have loops

    def longest_output(self, source: int) -> int:
        """In tokens, </s> among them: twice as many as usual for such a source, and the longest reference."""
        return math.ceil(max(LENGTH_FACTOR, 2 * self.ratio) * source) + max(LENGTH_SLACK, self.longest) + 1


def fit_output_bounds(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], shortest_src: int, shortest_tgt: int
) -> OutputBounds:
    """Of references: ids of source and target, and how many tokens of each side make a loop."""
    turns = [repeats_of(source, target, shortest_src, shortest_tgt) for source, target in pairs]
    loops = [
        of_target for of_source, of_target in turns if of_target >= MAX_REPEATS and of_target > of_source
    ]
    ratio = sum(len(target) for _, target in pairs) / max(sum(len(source) for source, _ in pairs), 1)
    return OutputBounds(
        ratio,
        max((len(target) for _, target in pairs), default=0),
        None if len(loops) > MAX_LOOPING_SHARE * len(pairs) else 2 * max(loops) if loops else MAX_REPEATS,
    )


def repeats_of(
    source: Sequence[int], target: Sequence[int], shortest_src: int = 1, shortest_tgt: int = 1
) -> tuple[int, int]:
    """Of the longest loop of each side; the source is looked at where the target has one."""
    turns = max_repeats(target, shortest_tgt) if may_loop(target, MAX_REPEATS) else 1
    return max_repeats(source, shortest_src) if turns >= MAX_REPEATS else 1, turns
