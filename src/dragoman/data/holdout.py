"""Held-out pairs for validation or test, without overlap with the training data.

The pairs with the smallest keyed hashes of their normalised text are held out: the choice depends only on
content, not on the order of the file, nor on `training.seed`, so that models of several seeds have the same
vocabulary and validation pairs. Training then skips every pair that shares a normalised source or target with
one of them. Only the held-out pairs are kept in memory.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.data.clean.leakage import key
from dragoman.data.clean.normalise import hash64, normalise
from dragoman.data.clean.rules import is_empty
from dragoman.data.pair import Pair
from dragoman.errors import DataError

SEED = 1  # of the choice
MIN_PAIRS_PER_HELD_OUT = 20  # at most one pair in 20 is held out
# A side whose held-out texts occur in more than one training pair in 4 contains labels, not texts.
LABEL_SHARE = 4

Pairs = Callable[[], Iterator[Pair]]
# What targets are. Texts must not be shared with the training data; labels are, and each has to occur there;
# short lines have the same tags without having anything else in common.
Targets = Literal["texts", "labels", "tags"]


@dataclass(frozen=True)
class HeldOut:
    valid: list[Pair]
    both: frozenset[tuple[int, int]]
    sources: frozenset[int]  # empty if sources are labels, which always overlap
    targets: frozenset[int]  # likewise

    def skips(self, pair: Pair) -> bool:
        """Return whether this pair must be excluded from training."""
        k = key(pair)
        return k.src in self.sources or k.tgt in self.targets or (k.src, k.tgt) in self.both


def choose_held_out(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """Return `count` pairs to hold out, but at most one in 20 and at least one."""
    chosen, total = choose(pairs, count, SEED)
    return chosen[: max(1, min(count, total // MIN_PAIRS_PER_HELD_OUT))]


def choose(pairs: Iterable[Pair], count: int, seed: int) -> tuple[list[Pair], int]:
    """Return the `count` distinct pairs with the smallest hashes, in order, and the total number of pairs."""
    salt = seed.to_bytes(16, "little", signed=True)
    kept: dict[int, Pair] = {}
    largest: list[int] = []  # a heap of the negated hashes of the kept pairs
    total = 0
    for pair in pairs:
        if is_empty(pair):
            continue
        total += 1
        hashed = hash64(f"{normalise(pair.src)}\n{normalise(pair.tgt)}", salt)
        if hashed in kept or (len(largest) == count and hashed > -largest[0]):
            continue
        kept[hashed] = pair
        heapq.heappush(largest, -hashed)
        if len(largest) > count:
            del kept[-heapq.heappop(largest)]
    return [kept[hashed] for hashed in sorted(kept)], total


def exclude_overlaps(pairs: Pairs, chosen: Iterable[Pair], targets: Targets = "texts") -> HeldOut:
    """Hold out these pairs and exclude those that share a side with them, unless it contains labels."""
    overlaps = Overlaps(chosen, targets)
    for _ in overlaps.excluded_from(pairs()):
        pass
    return overlaps.held_out()


class Overlaps:
    """Counts the pairs that share a side with a held-out pair, in one reading of all pairs."""

    def __init__(self, chosen: Iterable[Pair], targets: Targets = "texts") -> None:
        self.held = held_apart(sorted(chosen, key=lambda pair: pair.line))
        self.others = self.source_shared = self.target_shared = 0
        self.targets_in_training: set[int] = set()  # those that are also held out
        self.targets = targets

    def excluded_from(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Count, and yield the pairs that share no side: those to train on, unless a side contains labels."""
        for pair in pairs:
            k = key(pair)
            is_source, is_target = k.src in self.held.sources, k.tgt in self.held.targets
            if not is_empty(pair) and k[:2] not in self.held.both:
                self.others += 1
                self.source_shared += is_source
                self.target_shared += is_target
                if is_target:
                    self.targets_in_training.add(k.tgt)
            if not (is_source or (is_target and self.targets == "texts")):
                yield pair

    @property
    def sources_are_labels(self) -> bool:
        return self.source_shared * LABEL_SHARE > self.others

    @property
    def targets_are_labels(self) -> bool:
        return self.targets != "texts" or self.target_shared * LABEL_SHARE > self.others

    def held_out(self) -> HeldOut:
        if not self.others:
            raise DataError(
                f"There are too few distinct pairs to hold any out: {len(self.held.valid):,} held out, "
                "none left.",
                expected="at least two distinct pairs with text on both sides",
                hint="Provide your own validation files: --valid val.src val.tgt",
            )
        valid = self.held.valid
        if self.targets == "labels":  # a label cannot be predicted if all its examples are held out
            valid = [pair for pair in valid if key(pair).tgt in self.targets_in_training]
            if not valid:
                raise DataError(
                    "No line can be held out: its label would not occur in the training data.",
                    expected="labels that occur more than once",
                    hint="Add examples, or provide your own validation file: --valid val.tsv",
                )
        return held_apart(valid, self.sources_are_labels, self.targets_are_labels)


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
