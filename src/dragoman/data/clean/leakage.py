"""Leakage: held-out pairs that are also in the training data, which inflates every score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.data.clean.normalise import hash64, normalise
from dragoman.data.pair import REPORT_CHARACTERS, Pair

SHOWN = 3


class Key(NamedTuple):
    """The hashes of a pair."""

    src: int
    tgt: int
    line: int


class Twin(NamedTuple):
    """A held-out pair that is also in the training data."""

    line: int
    train_line: int
    src: str


@dataclass(frozen=True)
class Overlap:
    """Held-out pairs with source, target or both in training, ignoring case, spaces and punctuation."""

    pairs: int
    sources: int
    targets: int
    both: int
    twins: tuple[Twin, ...]  # the first few

    @property
    def share(self) -> float:
        return self.both / self.pairs if self.pairs else 0.0


def key(pair: Pair) -> Key:
    return Key(hash64(normalise(pair.src)), hash64(normalise(pair.tgt)), pair.line)


class Leakage:
    """The overlap of one held-out set with the training pairs, which are added one by one."""

    def __init__(self, held_out: Iterable[Pair]) -> None:
        self.keys = [key(pair) for pair in held_out]
        self.unseen_src = {k.src for k in self.keys}
        self.unseen_tgt = {k.tgt for k in self.keys}
        self.unseen = {(k.src, k.tgt): k.line for k in reversed(self.keys)}
        self.twins: list[Twin] = []

    def add(self, train: Key, src: str) -> None:
        self.unseen_src.discard(train.src)
        self.unseen_tgt.discard(train.tgt)
        line = self.unseen.pop((train.src, train.tgt), None)
        if line is not None and len(self.twins) < SHOWN:
            self.twins.append(Twin(line, train.line, src[:REPORT_CHARACTERS]))

    def overlap(self) -> Overlap:
        return Overlap(
            pairs=len(self.keys),
            sources=sum(k.src not in self.unseen_src for k in self.keys),
            targets=sum(k.tgt not in self.unseen_tgt for k in self.keys),
            both=sum((k.src, k.tgt) not in self.unseen for k in self.keys),
            twins=tuple(self.twins),
        )
