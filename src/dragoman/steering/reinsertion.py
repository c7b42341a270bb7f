"""Reinsertion of placeholders into outputs.

Placeholders first stay in the source, as a model that has seen such text copies them. If it does not, the
source is translated without them, and they are inserted where the attention suggests.

Plain Python and NumPy, for every runtime.
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
    find_placeholders,
    is_nested,
    reinsert,
    remove_placeholders,
    restore_counts,
)
from dragoman.steering.token_bytes import TokenBytes
from dragoman.steering.words import is_inside

ENDS = frozenset(".,;:!?…。、！？")  # marks that follow a word without a space

# [T S], of each output token to each source token, without </s>
AttentionMatrix = NDArray[np.float32]


class TokenBytesPair(NamedTuple):
    src: TokenBytes
    tgt: TokenBytes


class WithoutPlaceholders(NamedTuple):
    """A source without its placeholders, and its output."""

    source: Sequence[int]
    line: Sequence[bytes]  # the bytes that each output token writes
    opening: int  # bytes of the line that the prefix takes
    attention_matrix: AttentionMatrix | None  # None for a decoder without attention


def has_all_placeholders(text: str, source: str, kept: Sequence[Placeholder]) -> bool:
    """Return whether an output has each literal as often as the source, and its tags nested as there."""
    if not all(count(one, text) == count(one, source) for one in kept):
        return False
    tags = [one.literal for one in kept if one.kind == "tags"]
    if not tags or not is_nested(tags):
        return True
    return is_nested(one.literal for one in find_placeholders(text, ["tags"]))


def reinsert_placeholders(
    source: str,
    kept: Sequence[Placeholder],
    prefix: str,
    rest: WithoutPlaceholders | None,
    surfaces: TokenBytesPair,
) -> str:
    """Return the output with the placeholders reinserted."""
    if rest is None:
        return source  # it consists of placeholders
    left, holes = remove_placeholders(source, kept)
    text = prefix + surfaces.tgt.read(b"".join(rest.line)[rest.opening :])
    ends = insertion_points(rest.line, rest.opening, prefix, surfaces.tgt)
    attention_matrix = (
        diagonal_alignment(len(rest.line), len(rest.source))
        if rest.attention_matrix is None
        else rest.attention_matrix
    )
    before = tokens_before(holes, left, rest.source, surfaces.src)
    found = reinsertion_points(attention_matrix, before, [end is not None for end in ends])
    for hole, p in reversed(list(zip(holes, found, strict=True))):
        if count(hole.kept, text) < count(hole.kept, source):
            text = reinsert(
                text, hole, before_punctuation(text, ends[p] or 0, left[hole.place : hole.place + 1])
            )
    return restore_counts(text, source, kept, after=len(prefix))


def before_punctuation(text: str, place: int, mark: str) -> int:
    """Move the position before a mark, such as a full stop, that follows the placeholder in the source."""
    return place - 1 if mark in ENDS and text[:place].endswith(mark) else place


def insertion_points(
    line: Sequence[bytes], opening: int, prefix: str, surface: TokenBytes
) -> list[int | None]:
    """Return where the text before each token and after the last ends; None if nothing may be inserted."""
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
    """Return how many source tokens come before each hole."""
    ends = [len(surface.spell(ids[:n])) for n in range(len(ids) + 1)]
    return [bisect_right(ends, len(text[: hole.place].encode())) - 1 for hole in holes]


def reinsertion_points(
    attention_matrix: AttentionMatrix, gaps: Sequence[int], may_split: Sequence[bool]
) -> list[int]:
    """Return, for each gap before source token g, the best permitted gap before target token p.

    The least attention crosses p: from tokens before p to g and later, and from p and later to tokens before
    g. p never falls as g grows, so the placeholders keep their order.
    """
    open_gaps = np.flatnonzero(may_split)
    found: list[int] = []
    for g in gaps:
        across = np.concatenate(
            [[0.0], np.cumsum(attention_matrix[:, g:].sum(axis=1) - attention_matrix[:, :g].sum(axis=1))]
        )
        best = int(open_gaps[across[open_gaps].argmin()])
        found.append(max([best, *found[-1:]]))
    return found


def diagonal_alignment(T: int, S: int) -> AttentionMatrix:
    """Return diagonal attention, for a decoder without attention."""
    attention_matrix = np.zeros((T, S), np.float32)
    attention_matrix[np.arange(T), np.arange(T) * S // max(T, 1)] = 1.0
    return attention_matrix
