"""Precision, recall and error rate of word alignments (Och & Ney 2003).

People agree on sure links S, and accept possible links P ⊇ S. Of the links A that an aligner finds:
AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.errors import DataError

Link = tuple[int, int]  # index of the source word, index of the target word, from 0


class GoldAlignment(NamedTuple):
    sure: frozenset[Link]
    possible: frozenset[Link]  # includes the sure ones


@dataclass(frozen=True)
class AlignmentScore:
    """In percent. `links` is |A|, and `sure` is |S|, of all sentences."""

    precision: float
    recall: float
    aer: float
    links: int
    sure: int


def read_gold(line: str) -> GoldAlignment:
    """Read the links of one sentence, from 1: 2-3 is sure, 2p3 is possible."""
    sure, possible = set[Link](), set[Link]()
    for link in line.split():
        is_sure = "-" in link
        i, _, j = link.partition("-" if is_sure else "p")
        if not all(word.isascii() and word.isdecimal() and int(word) for word in (i, j)):
            raise DataError(
                f'"{link}" is not a link between two words.',
                where=line.strip(),
                expected="links such as 2-3 (sure) or 2p3 (possible), counted from 1",
                hint="Give the file of the gold alignments.",
            )
        pair = int(i) - 1, int(j) - 1
        possible.add(pair)
        if is_sure:
            sure.add(pair)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def alignment_score(found: Sequence[Collection[Link]], gold: Sequence[GoldAlignment]) -> AlignmentScore:
    """Compare the links of each sentence with the gold standard."""
    links = sure = in_sure = in_possible = 0
    for ours, theirs in zip(found, gold, strict=True):
        a = set(ours)
        links += len(a)
        sure += len(theirs.sure)
        in_sure += len(a & theirs.sure)
        in_possible += len(a & theirs.possible)
    return AlignmentScore(
        100 * in_possible / max(links, 1),
        100 * in_sure / max(sure, 1),
        100 * (1 - (in_sure + in_possible) / max(links + sure, 1)),
        links,
        sure,
    )
