"""Runaway outputs: where an output becomes degenerate for one task, as its references show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.search.loops import TURNS, may_loop, most_turns

FACTOR = 3  # tokens of an output for one of its source, at least
SLACK = 20  # tokens besides, at least
LOOPING = 0.01  # of the references: where more have loops, a loop shows nothing


class OutputBounds(NamedTuple):
    """Wide enough for every reference that it was learned from."""

    ratio: float  # tokens of the references for one of their sources, on average
    longest: int  # tokens of the longest reference
    turns: int | None  # of a loop; None where the references themselves have loops

    def longest_output(self, source: int) -> int:
        """In tokens, </s> among them: twice as many as usual for such a source, and the longest reference."""
        return math.ceil(max(FACTOR, 2 * self.ratio) * source) + max(SLACK, self.longest) + 1


def bounds_of(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], shortest_src: int, shortest_tgt: int
) -> OutputBounds:
    """Of references: ids of source and target, and how many tokens of each side make a loop."""
    turns = [turns_of(source, target, shortest_src, shortest_tgt) for source, target in pairs]
    loops = [of_target for of_source, of_target in turns if of_target >= TURNS and of_target > of_source]
    ratio = sum(len(target) for _, target in pairs) / max(sum(len(source) for source, _ in pairs), 1)
    return OutputBounds(
        ratio,
        max((len(target) for _, target in pairs), default=0),
        None if len(loops) > LOOPING * len(pairs) else 2 * max(loops) if loops else TURNS,
    )


def turns_of(
    source: Sequence[int], target: Sequence[int], shortest_src: int = 1, shortest_tgt: int = 1
) -> tuple[int, int]:
    """Of the longest loop of each side; the source is looked at where the target has one."""
    turns = most_turns(target, shortest_tgt) if may_loop(target, TURNS) else 1
    return most_turns(source, shortest_src) if turns >= TURNS else 1, turns
