"""Degenerate output: n-grams repeated back to back, and lengths beyond what the references show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MAX_PERIOD = 32  # tokens in the longest n-gram that is searched for
LOOP_REPEATS = 3  # this many repetitions or more are a loop
# Minimum number of tokens of a loop: "1000000" and "Schifffahrt" are not loops.
MIN_LOOP_TOKENS = {"char": 12, "byte": 16}
LENGTH_FACTOR = 3  # output tokens per source token, at least
LENGTH_SLACK = 20  # additional tokens, at least
MAX_LOOPING_SHARE = 0.01  # of the references; with more, a loop is not a sign of an error


def min_loop_tokens(kind: str) -> int:
    """Return the minimum number of tokens of a loop for this tokenizer kind."""
    return MIN_LOOP_TOKENS.get(kind, 1)


def may_loop(ids: Sequence[int], repeats: int) -> bool:
    """Return whether there may be a loop of `repeats` repetitions: whether some token occurs as often."""
    return len(ids) - len(set(ids)) >= repeats - 1 and max(Counter(ids).values(), default=1) >= repeats


def max_repeats(ids: Sequence[object], shortest: int = 1) -> int:
    """Return the maximum number of consecutive occurrences of an n-gram: 1 if none is repeated."""
    most = 1
    for period in range(1, min(MAX_PERIOD, len(ids) // 2) + 1):
        run = 0  # consecutive tokens that equal the one `period` before
        for now, before in zip(ids[period:], ids, strict=False):
            run = run + 1 if now == before else 0
            if run >= most * period and run + period >= shortest:
                most = run // period + 1
    return most


class LoopBounds(NamedTuple):
    """A limit on loops of `shortest` tokens or more: an output may have at most `repeats` repetitions."""

    shortest: int
    repeats: int

    def allowed(self, source: Sequence[int]) -> int:
        """Return how many repetitions an output may have: `repeats`, or one more than its source."""
        repeated = max_repeats(source, self.shortest) if may_loop(source, self.repeats) else 1
        return max(self.repeats, repeated + 1) if repeated >= LOOP_REPEATS else self.repeats

    def cut_at(self, source: Sequence[int], output: Sequence[int], start: int = 0) -> int | None:
        """Return the first position, from `start`, of a token beyond the allowed repetitions, or None."""
        if not may_loop(output, self.repeats + 1):
            return None
        return first_excess_repeat(output, self.allowed(source), self.shortest, start)


def first_excess_repeat(ids: Sequence[int], repeats: int, shortest: int = 1, start: int = 0) -> int | None:
    """Return the first position, from `start`, of a token that continues a loop of `repeats`."""
    first: int | None = None
    for period in range(1, min(MAX_PERIOD, len(ids) // repeats) + 1):
        run = 0  # consecutive tokens before this position that equal the one `period` before
        for position in range(period, len(ids) if first is None else first):
            is_same = ids[position] == ids[position - period]
            if is_same and position >= start and run >= (repeats - 1) * period and run + period >= shortest:
                first = position
                break
            run = run + 1 if is_same else 0
    return first


class OutputBounds(NamedTuple):
    """Limits on length and repetition that hold for every reference they were estimated from."""

    ratio: float  # mean number of reference tokens per source token
    longest: int  # tokens of the longest reference
    repeats: int | None  # repetitions of a loop; None if the references themselves have loops

    def longest_output(self, source: int) -> int:
        """Return the token limit, including </s>: twice the usual number plus the longest reference."""
        return math.ceil(max(LENGTH_FACTOR, 2 * self.ratio) * source) + max(LENGTH_SLACK, self.longest) + 1


def fit_output_bounds(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], shortest_src: int, shortest_tgt: int
) -> OutputBounds:
    """Estimate the bounds from pairs of source and target ids, and the minimum loop tokens of each side."""
    repeats = [repeats_of(source, target, shortest_src, shortest_tgt) for source, target in pairs]
    loops = [in_tgt for in_src, in_tgt in repeats if in_tgt >= LOOP_REPEATS and in_tgt > in_src]
    ratio = sum(len(target) for _, target in pairs) / max(sum(len(source) for source, _ in pairs), 1)
    return OutputBounds(
        ratio,
        max((len(target) for _, target in pairs), default=0),
        None if len(loops) > MAX_LOOPING_SHARE * len(pairs) else 2 * max(loops) if loops else LOOP_REPEATS,
    )


def repeats_of(
    source: Sequence[int], target: Sequence[int], shortest_src: int = 1, shortest_tgt: int = 1
) -> tuple[int, int]:
    """Return the maximum repetitions of source and target; the source counts only if the target loops."""
    repeats = max_repeats(target, shortest_tgt) if may_loop(target, LOOP_REPEATS) else 1
    return max_repeats(source, shortest_src) if repeats >= LOOP_REPEATS else 1, repeats
