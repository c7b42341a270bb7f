"""Pairs set aside to watch or judge training, such that nothing of them is trained on.

The pairs whose normalised sources have the smallest keyed hashes are held out: a choice by content and seed
alone, in any order of the file. Training then skips every pair that shares a normalised source or target with
them. Memory is that of the held-out pairs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman.data.clean.leakage import Key, key
from dragoman.data.clean.normal import hash64, normal
from dragoman.data.clean.rules import is_empty
from dragoman.data.pair import Pair
from dragoman.errors import DataError

SHARE = 20  # at most one pair in so many
TOO_MANY = 4  # targets shared with more than one training pair in so many are labels, not sentences

Pairs = Callable[[], Iterator[Pair]]


@dataclass(frozen=True)
class HeldOut:
    valid: list[Pair]
    sources: frozenset[int]
    targets: frozenset[int]  # empty where targets are labels: then only sources are kept apart

    def skips(self, pair: Pair) -> bool:
        """Whether training must not see this pair."""
        if hash64(normal(pair.src)) in self.sources:
            return True
        return bool(self.targets) and hash64(normal(pair.tgt)) in self.targets


def hold_out(pairs: Pairs, count: int, seed: int) -> HeldOut:
    """`count` pairs of different sources, one in 20 at most and one at least; reads the pairs twice."""
    chosen, total = choose(pairs(), count, seed)
    chosen = sorted(chosen[: max(1, min(count, total // SHARE))], key=lambda pair: pair.line)
    keys = [key(pair) for pair in chosen]
    sources, targets = frozenset(k.src for k in keys), frozenset(k.tgt for k in keys)
    left, shared = training_left(pairs(), sources, targets)
    if not left:
        raise DataError(
            "There are too few different pairs to hold any out for validation.",
            where=f"{total:,} pairs, {len(chosen):,} held out, none left to train on",
            expected="at least two pairs with different sources",
            hint="Give validation files of your own: --valid val.src val.tgt",
        )
    return HeldOut(chosen, sources, frozenset() if shared * TOO_MANY > left else targets)


def choose(pairs: Iterator[Pair], count: int, seed: int) -> tuple[list[Pair], int]:
    """The first pair of each of the `count` smallest source hashes, smallest first; and how many pairs there are."""
    salt = seed.to_bytes(16, "little", signed=True)
    kept: dict[int, Pair] = {}
    largest: list[int] = []  # a heap of the kept hashes, negated
    total = 0
    for pair in pairs:
        total += 1
        if is_empty(pair):
            continue
        place = hash64(normal(pair.src), salt)
        if place in kept or (len(largest) == count and place > -largest[0]):
            continue
        kept[place] = pair
        heapq.heappush(largest, -place)
        if len(largest) > count:
            del kept[-heapq.heappop(largest)]
    return [kept[place] for place in sorted(kept)], total


def training_left(pairs: Iterator[Pair], sources: frozenset[int], targets: frozenset[int]) -> tuple[int, int]:
    """Pairs with a source that is not held out, and how many of them have a held-out target."""
    keys: Iterator[Key] = (key(pair) for pair in pairs if not is_empty(pair))
    left = shared = 0
    for k in keys:
        if k.src not in sources:
            left += 1
            shared += k.tgt in targets
    return left, shared
