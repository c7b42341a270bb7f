"""Reinsertion of placeholders into outputs.

Placeholders first stay in the source, as a model that has seen such text copies them. If it does not, the
source is translated without them, and they are inserted where the attention suggests.

Plain Python and NumPy, for every runtime.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.steering.placeholders import (
    PUNCTUATION,
    Kind,
    Placeholder,
    RemovedPlaceholder,
    count,
    empty_pairs,
    find_placeholders,
    half_written,
    invented,
    is_nested,
    reinsert,
    remove_placeholders,
    spans_with_space,
    starts,
    tag_pairs,
    without,
)
from dragoman.steering.token_bytes import TokenBytes
from dragoman.steering.words import is_inside

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


class Wanted(NamedTuple):
    """What an output must have: the placeholders of its source."""

    source: str
    kept: Sequence[Placeholder]
    what: Collection[Kind]  # the kinds and patterns that found them
    terms: Collection[str] = ()  # placeholders within terms of a glossary
    prefix: str = ""  # of the output, which is not changed

    @property
    def copied(self) -> set[str]:
        """What an output may have even if the placeholders were removed from its source.

        A "%5" may be 5 %, as it is written in Turkish.
        """
        halves = (half.literal for half in half_written(self.source, self.what))
        return {*self.terms, *halves, *(f"%{number}" for number in re.findall(r"\d++", self.source))}

    @property
    def known(self) -> set[str]:
        return self.copied | {one.literal for one in self.kept}


def has_all_placeholders(text: str, source: str, kept: Sequence[Placeholder]) -> bool:
    """Return whether an output has each literal as often as the source, and its tags as they are there."""
    return all(count(one, text) == count(one, source) for one in kept) and keeps_tags(text, source, kept)


def keeps_tags(text: str, source: str, kept: Sequence[Placeholder]) -> bool:
    """Return whether tags that are nested in the source are so in an output, with words between them."""
    tags = [one for one in kept if one.kind == "tags"]
    if not tags or not is_nested(one.literal for one in tags):
        return True
    found = find_placeholders(text, ["tags"])
    has_all = Counter(one.literal for one in tags) <= Counter(one.literal for one in found)
    is_nested_too = is_nested(one.literal for one in found)
    return has_all and is_nested_too and empty_pairs(text, found) <= empty_pairs(source, tags)


def reinsert_by_attention(wanted: Wanted, rest: WithoutPlaceholders | None, surfaces: TokenBytesPair) -> str:
    """Return the output of a source without its placeholders, with these reinserted."""
    if rest is None:
        return wanted.source  # it consists of placeholders
    left, holes = remove_placeholders(wanted.source, wanted.kept)
    text = wanted.prefix + surfaces.tgt.read(b"".join(rest.line)[rest.opening :])
    ends = insertion_points(rest.line, rest.opening, wanted.prefix, surfaces.tgt)
    attention_matrix = (
        diagonal_alignment(len(rest.line), len(rest.source))
        if rest.attention_matrix is None
        else rest.attention_matrix
    )
    costs = crossing(attention_matrix, tokens_before(holes, left, rest.source, surfaces.src))
    return reinserted(text, wanted, ends, costs)


def reinsert_by_position(text: str, wanted: Wanted) -> str:
    """Return an output with each placeholder at the relative position that it has in the source."""
    left, holes = remove_placeholders(wanted.source, wanted.kept)
    places = list(range(len(wanted.prefix), len(text) + 1))
    relative = np.array([hole.place for hole in holes])[:, None] / max(len(left), 1)
    return reinserted(text, wanted, places, abs(np.array(places) / max(len(text), 1) - relative))


def reinserted(text: str, wanted: Wanted, places: Sequence[int | None], costs: NDArray[np.float64]) -> str:
    """Return the text with the placeholders of the source instead of its own.

    `costs` [placeholders, places] are those of inserting each at each of the places, None of which splits
    a word or a placeholder.
    """
    left, holes = remove_placeholders(wanted.source, wanted.kept)
    after = len(wanted.prefix)
    while unwanted := surplus(text, wanted):
        spans = spans_with_space(text, unwanted, after)
        text = without(text, spans)
        places = [None if place is None else moved(place, spans) for place in places]
    inside = {n for one in find_placeholders(text, wanted.what) for n in range(one.begin + 1, one.end)}
    free = [
        (n, place)
        for n, place in enumerate(places)
        if place is not None and place not in inside and not is_inside(text, place)
    ]
    missing = not_in_prefix(wanted)
    if not missing:
        return text
    holes = [holes[n] for n in missing]
    costs = costs[np.ix_(missing, [n for n, _ in free])] if free else np.zeros((len(holes), 1))
    gaps = [place for _, place in free] or [len(text)]
    letters = list(accumulate(map(str.isalnum, text), initial=0))
    if letters[gaps[0]] == letters[-1] > letters[after]:  # nothing but the rest of the word of the prefix
        gaps, costs = [after, *gaps], np.insert(costs, 0, costs.max() + 1, axis=1)
    order = insertions(holes, left, costs, [letters[gap] for gap in gaps])
    at = [before_punctuation(text, gaps[g], left[holes[n].place :][:1], after) for n, g in order]
    at = running_minimum(at)
    for k, (n, _) in reversed(list(enumerate(order))):
        preceding = holes[order[k - 1][0]] if at[k] in at[:k] else None
        text = reinsert(text, holes[n], at[k], preceding=preceding, is_followed=at[k] in at[k + 1 :])
    return text


def running_minimum(places: Sequence[int]) -> list[int]:
    """Return the least of each place and those after it."""
    return list(accumulate(reversed(places), min))[::-1]


def not_in_prefix(wanted: Wanted) -> list[int]:
    """Return the indices of the placeholders that remain; the first ones may be in the prefix."""
    written = Counter({one.literal: count(one, wanted.prefix) for one in wanted.kept})
    missing = []
    for n, one in enumerate(wanted.kept):
        if written[one.literal] > 0:
            written[one.literal] -= 1
        else:
            missing.append(n)
    return missing


def surplus(text: str, wanted: Wanted) -> list[Placeholder]:
    """Return what the model wrote of placeholders, although its source had none."""
    after = len(wanted.prefix)
    found = invented(text, wanted.what, wanted.copied, after=after)
    kept = {one.literal: one for one in wanted.kept if one.literal not in wanted.terms}
    found += [
        one._replace(begin=n, end=n + len(one.literal))
        for one in kept.values()
        for n in starts(one, text)
        if n >= after
    ]
    return sorted(found, key=lambda one: (one.begin, -one.end))


def moved(place: int, spans: Sequence[tuple[int, int]]) -> int:
    """Return the place in a text without the spans."""
    return place - sum(max(min(end, place) - begin, 0) for begin, end in spans)


def insertions(
    holes: Sequence[RemovedPlaceholder], left: str, costs: NDArray[np.float64], letters: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the holes, in the order of the output, each with its gap.

    `letters` are how many letters come before each gap. A pair of tags that had words between them has some
    again; if there are too few for all pairs, each is put around everything.
    """
    between = [sum(map(str.isalnum, left[a.place : b.place])) for a, b in pairwise(holes)]
    pairs = tag_pairs(hole.kept.literal if hole.kept.kind == "tags" else "" for hole in holes)
    steps = set[int]()
    for i, j in pairs if letters[-1] > letters[0] else ():
        if any(between[i:j]) and not steps & set(range(i, j)):
            steps.add(max(range(i, j), key=lambda k: between[k]))
    found = reinsertion_points(costs, letters, steps)
    if found is not None:
        return list(enumerate(found))
    alone = reinsertion_points(costs, letters, ())
    assert alone is not None
    opening, closing = {i for i, _ in pairs}, {j for _, j in pairs}
    first = [(n, 0) for n in sorted(opening)]
    last = [(j, len(letters) - 1) for _, j in sorted(pairs, reverse=True)]
    return [*first, *((n, g) for n, g in enumerate(alone) if n not in opening | closing), *last]


def before_punctuation(text: str, place: int, mark: str, after: int) -> int:
    """Move the place before a mark, such as a full stop, that follows the placeholder in the source."""
    return place - 1 if mark in PUNCTUATION and place > after and text[place - 1] == mark else place


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


def crossing(attention_matrix: AttentionMatrix, gaps: Sequence[int]) -> NDArray[np.float64]:
    """Return [gaps, T + 1]: the attention that crosses target gap p, for each gap before source token g.

    It goes from tokens before p to g and later, and from p and later to tokens before g.
    """
    sums = np.concatenate([np.zeros((len(attention_matrix), 1)), attention_matrix.cumsum(axis=1)], axis=1)
    to_later = (sums[:, -1:] - 2 * sums[:, list(gaps)]).T
    return np.concatenate([np.zeros((len(gaps), 1)), to_later.cumsum(axis=1)], axis=1)


def reinsertion_points(
    costs: NDArray[np.float64], letters: Sequence[int], steps: Collection[int]
) -> list[int] | None:
    """Return, for each placeholder, the gap at which all of them together cost least.

    They keep their order, and there are letters between placeholder k of `steps` and the next one; None if
    there are too few of them.
    """
    gaps = np.arange(len(letters))
    fewer = np.searchsorted(letters, letters) - 1  # the last gap that has fewer letters before it
    best, back = costs[0], []
    for k, cost in enumerate(costs[1:]):
        least = np.minimum.accumulate(best)
        is_new = np.concatenate([[True], best[1:] < least[:-1]])
        reached = fewer if k in steps else gaps
        back.append(np.maximum.accumulate(np.where(is_new, gaps, 0))[reached])
        best = np.where(reached < 0, np.inf, least[reached]) + cost
    found = [int(best.argmin())]
    if np.isinf(best[found[0]]):
        return None
    for before in reversed(back):
        found.insert(0, int(before[found[0]]))
    return found


def diagonal_alignment(T: int, S: int) -> AttentionMatrix:
    """Return diagonal attention, for a decoder without attention."""
    attention_matrix = np.zeros((T, S), np.float32)
    attention_matrix[np.arange(T), np.arange(T) * S // max(T, 1)] = 1.0
    return attention_matrix
