"""Batch invariance: the output of a sentence is bit-identical alone and in any batch.

A matrix product with few rows uses other kernels than one with many rows and differs in the last bit, so a
batch keeps a minimum number of rows. A sum over more positions, even if they are zeros, is computed in
another order, so the padded length of a sentence depends only on the sentence itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

MIN_ROWS = 4  # determined by experiment with 1 and 2 threads
PAD_MULTIPLE = 8  # sources with the same padded length may share a batch
BATCH_TOKENS = 8192  # of source at most: the memory of attention grows with the square of the length

T = TypeVar("T")


def padded_length(length: int) -> int:
    """Return the padded length, including </s>, of a source of `length` tokens."""
    return (length // PAD_MULTIPLE + 1) * PAD_MULTIPLE


def longest_with_same_padding(length: int) -> int:
    """Return the length of the longest source with the same padded length."""
    return padded_length(length) - 1


def length_batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield the indices of rows of similar length, `size` at most."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    yield from (order[k : k + size] for k in range(0, len(order), size))


def rows_to_keep(is_open: Sequence[bool]) -> list[int]:
    """Return the rows that stay in the batch, in order: the open ones, and finished ones up to MIN_ROWS."""
    missing = MIN_ROWS - sum(is_open)
    done = [row for row, open_ in enumerate(is_open) if not open_]
    fillers = set(done[: max(missing, 0)])
    return [row for row, open_ in enumerate(is_open) if open_ or row in fillers]


def pad_batch(rows: Sequence[T]) -> list[T]:
    """Extend a batch to MIN_ROWS by repeating its last row."""
    return [*rows, *[rows[-1]] * max(MIN_ROWS - len(rows), 0)]


def invariant_batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield the indices of sentences with the same padded length, `size` at most, without empty ones.

    They are sorted by length, so that sentences that end early are in the same batch.
    """
    order = sorted((index for index, length in enumerate(lengths) if length), key=lengths.__getitem__)
    for length, group in groupby(order, lambda index: padded_length(lengths[index])):
        alike, most = list(group), min(size, max(BATCH_TOKENS // length, MIN_ROWS))
        yield from (alike[i : i + most] for i in range(0, len(alike), most))
