"""The words of many lines as flat arrays, since one object per word is too slow for training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.hashing import U64, hash64_each
from dragoman.text.tokenizer import Row

Ints = NDArray[np.int64]


class Redrawn(NamedTuple):
    """New ids of some words."""

    words: Ints  # their numbers
    sizes: Ints  # how many ids each has now
    ids: Ints  # concatenated


class Words(NamedTuple):
    """The words of several rows of ids."""

    ids: Ints  # of all rows, concatenated
    starts: Ints  # where each word starts in `ids`
    sizes: Ints  # ids of each word
    keys: U64  # one per word, for its draws: a hash of its row's key and its number in the row
    in_row: Ints  # words of each row

    @classmethod
    def of(
        cls, rows: Sequence[Row], keys: U64, starts_word: NDArray[np.bool_], ends_word: NDArray[np.bool_]
    ) -> Words:
        """Split rows into words. The masks say for each entry of the vocabulary where words start and end."""
        lengths = np.array([len(row) for row in rows])
        ids = np.concatenate(rows).astype(np.int64)
        is_start = starts_word[ids]
        is_start[1:] |= ends_word[ids[:-1]]
        is_start[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
        starts = np.flatnonzero(is_start)
        row = np.repeat(np.arange(len(rows)), lengths)[starts]
        in_row = np.bincount(row, minlength=len(rows))
        number = np.arange(len(starts)) - (np.cumsum(in_row) - in_row)[row]
        word_keys = hash64_each(keys[row], number.astype(np.uint64))
        return cls(ids, starts, np.diff(starts, append=len(ids)), word_keys, in_row)

    def replaced(self, new: Redrawn) -> list[Row]:
        """Return the rows with new ids for some words."""
        sizes = self.sizes.copy()
        sizes[new.words] = new.sizes
        ends = np.cumsum(sizes)
        starts = ends - sizes
        kept = np.delete(np.arange(len(sizes)), new.words)
        ids = np.empty(ends[-1], np.int64)
        ids[ranges(starts[kept], sizes[kept])] = self.ids[ranges(self.starts[kept], sizes[kept])]
        ids[ranges(starts[new.words], new.sizes)] = new.ids
        bounds = np.append(0, ends)[np.append(0, np.cumsum(self.in_row))]
        return [ids[a:b] for a, b in pairwise(bounds.tolist())]


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return start, start + 1, … for each start, `size` numbers each, concatenated."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(sizes.sum())
