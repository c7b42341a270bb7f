"""What outputs keep of their sources. It is left in the source first: a model that has seen such things
copies them. Where it does not, the rest is translated without them, and they are put in where it looked.

Plain Python and numpy, for every runtime.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.steering.placeholders import (
    Placeholder,
    RemovedPlaceholder,
    count,
    reinsert,
    remove_placeholders,
    restore_counts,
)
from dragoman.steering.token_bytes import TokenBytes
from dragoman.steering.words import is_inside

ENDS = frozenset(".,;:!?…。、！？")  # marks that follow a word without a space

AttentionMatrix = NDArray[np.float32]  # [T S], of each token of an output to each of its source, without </s>


class TokenBytesPair(NamedTuple):
    src: TokenBytes
    tgt: TokenBytes


class WithoutPlaceholders(NamedTuple):
    """A source without what is kept, and its output."""

    source: Sequence[int]
    line: Sequence[bytes]  # what each token of the output writes
    opening: int  # bytes of the line that the prefix takes
    looks: AttentionMatrix | None  # None of a decoder that looks nowhere


def has_all_placeholders(text: str, source: str, kept: Sequence[Placeholder]) -> bool:
    """Whether an output has each literal as often as the source has it."""
    return all(count(one, text) == count(one, source) for one in kept)


def reinsert_placeholders(
    source: str,
    kept: Sequence[Placeholder],
    prefix: str,
    rest: WithoutPlaceholders | None,
    surfaces: TokenBytesPair,
) -> str:
    """The output of the rest, with what is kept put in again."""
    if rest is None:
        return source  # there is no rest
    left, holes = remove_placeholders(source, kept)
    text = prefix + surfaces.tgt.read(b"".join(rest.line)[rest.opening :])
    ends = insertion_points(rest.line, rest.opening, prefix, surfaces.tgt)
    looks = diagonal_alignment(len(rest.line), len(rest.source)) if rest.looks is None else rest.looks
    before = tokens_before(holes, left, rest.source, surfaces.src)
    found = reinsertion_points(looks, before, [end is not None for end in ends])
    for hole, p in reversed(list(zip(holes, found, strict=True))):
        if count(hole.kept, text) < count(hole.kept, source):
            text = reinsert(text, hole, before_mark(text, ends[p] or 0, left[hole.place : hole.place + 1]))
    return restore_counts(text, source, kept, after=len(prefix))


def before_mark(text: str, place: int, mark: str) -> int:
    """What stands before a full stop in the source stands before it in the output, too."""
    return place - 1 if mark in ENDS and text[:place].endswith(mark) else place


def insertion_points(
    line: Sequence[bytes], opening: int, prefix: str, surface: TokenBytes
) -> list[int | None]:
    """Where the text before each token and behind the last ends; None where nothing may be put in."""
    text = prefix + surface.read(b"".join(line)[opening:])
    found: list[int | None] = []
    written = b""
    for piece in [*line, None]:
        so_far = prefix + surface.read(written[opening:])
        is_free = len(written) >= opening and piece != b"" and text.startswith(so_far)
        found.append(len(so_far) if is_free and not is_inside(text, len(so_far)) else None)
        written += piece or b""
    found[-1] = len(text)
    return found


def tokens_before(
    holes: Sequence[RemovedPlaceholder], text: str, ids: Sequence[int], surface: TokenBytes
) -> list[int]:
    """How many tokens of a source stand before each hole in it."""
    ends = [len(surface.spell(ids[:n])) for n in range(len(ids) + 1)]
    return [bisect_right(ends, len(text[: hole.place].encode())) - 1 for hole in holes]


def reinsertion_points(looks: AttentionMatrix, gaps: Sequence[int], may_split: Sequence[bool]) -> list[int]:
    """For each gap before source token g, a gap before target token p of those that may be.

    p has the least attention across it: of the tokens before p to g and behind, and of those behind p to
    what stands before g. As g grows p does not fall, so what is put in keeps its order.
    """
    open_gaps = np.flatnonzero(may_split)
    found: list[int] = []
    for g in gaps:
        across = np.concatenate([[0.0], np.cumsum(looks[:, g:].sum(axis=1) - looks[:, :g].sum(axis=1))])
        best = int(open_gaps[across[open_gaps].argmin()])
        found.append(max([best, *found[-1:]]))
    return found


def diagonal_alignment(T: int, S: int) -> AttentionMatrix:
    """The attention of a decoder that looks nowhere: straight along."""
    looks = np.zeros((T, S), np.float32)
    looks[np.arange(T), np.arange(T) * S // max(T, 1)] = 1.0
    return looks
