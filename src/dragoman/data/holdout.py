"""Pairs set aside to watch or judge training, such that nothing of them is trained on.

The pairs with the smallest keyed hashes of their normalised text are held out: a choice by content and seed
alone, whatever the order of the file. Training then skips every pair that shares a normalised source or
target with one of them. Memory is that of the held-out pairs.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.data.clean.leakage import Key, key
from dragoman.data.clean.normalise import hash64, normalise
from dragoman.data.clean.rules import is_empty
from dragoman.data.pair import Pair
from dragoman.errors import DataError

MIN_PAIRS_PER_HELD_OUT = 20  # at most one pair in so many is held out
LABEL_SHARE = (
    4  # a side whose held-out texts stand in more than one training pair in so many holds labels, not texts
)

Pairs = Callable[[], Iterator[Pair]]


@dataclass(frozen=True)
class HeldOut:
    valid: list[Pair]
    both: frozenset[tuple[int, int]]
    sources: frozenset[int]  # empty where sources are labels; they cannot be kept apart
    targets: frozenset[int]  # likewise

    def skips(self, pair: Pair) -> bool:
        """Whether training must not see this pair."""
        k = key(pair)
        return k.src in self.sources or k.tgt in self.targets or (k.src, k.tgt) in self.both


def hold_out(pairs: Pairs, count: int, seed: int) -> HeldOut:
    """`count` pairs, one in 20 at most and one at least; reads the pairs twice."""
    chosen, total = choose(pairs(), count, seed)
    return exclude_overlaps(pairs, chosen[: max(1, min(count, total // MIN_PAIRS_PER_HELD_OUT))])


def choose(pairs: Iterable[Pair], count: int, seed: int) -> tuple[list[Pair], int]:
    """The `count` different pairs with the smallest hashes, smallest first; and how many pairs there are."""
    salt = seed.to_bytes(16, "little", signed=True)
    kept: dict[int, Pair] = {}
    largest: list[int] = []  # a heap of the kept hashes, negated
    total = 0
    for pair in pairs:
        if is_empty(pair):
            continue
        total += 1
        place = hash64(f"{normalise(pair.src)}\n{normalise(pair.tgt)}", salt)
        if place in kept or (len(largest) == count and place > -largest[0]):
            continue
        kept[place] = pair
        heapq.heappush(largest, -place)
        if len(largest) > count:
            del kept[-heapq.heappop(largest)]
    return [kept[place] for place in sorted(kept)], total


def exclude_overlaps(pairs: Pairs, chosen: Iterable[Pair]) -> HeldOut:
    """Hold these pairs out, and whatever shares a side with them unless that side holds labels."""
    held = held_apart(sorted(chosen, key=lambda pair: pair.line))
    left = source_shared = target_shared = 0
    others: Iterator[Key] = (
        k for pair in pairs() if not is_empty(pair) and (k := key(pair))[:2] not in held.both
    )
    for k in others:
        left += 1
        source_shared += k.src in held.sources
        target_shared += k.tgt in held.targets
    if not left:
        raise DataError(
            f"There are too few different pairs to hold any out: {len(held.valid):,} held out, none left.",
            expected="at least two different pairs with text on both sides",
            hint="Give validation files of your own: --valid val.src val.tgt",
        )
    return held_apart(held.valid, source_shared * LABEL_SHARE > left, target_shared * LABEL_SHARE > left)


def held_apart(
    valid: list[Pair], sources_are_labels: bool = False, targets_are_labels: bool = False
) -> HeldOut:
    keys = [key(pair) for pair in valid]
    return HeldOut(
        valid,
        frozenset((k.src, k.tgt) for k in keys),
        frozenset() if sources_are_labels else frozenset(k.src for k in keys),
        frozenset() if targets_are_labels else frozenset(k.tgt for k in keys),
    )


def write_held_out(held: HeldOut, folder: Path) -> None:
    labels = {"sources_are_labels": not held.sources, "targets_are_labels": not held.targets}
    facts = {"pairs": [list(pair) for pair in held.valid], **labels}
    (folder / "held-out.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")


def read_held_out(folder: Path) -> HeldOut:
    facts = json.loads((folder / "held-out.json").read_text(encoding="utf-8"))
    pairs = [Pair(*pair) for pair in facts.pop("pairs")]
    return held_apart(pairs, **facts)
