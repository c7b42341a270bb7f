"""Which sentences make a batch, and which stay in it, so that each has the same bits alone as in any batch.

A product with a handful of rows is computed by other kernels than one with many, and differs in the last
bit: so a batch is filled up where it is too small. A sum over more places, if only with zeros, is taken in
another order: so a sentence is always padded to the same length, by itself and not by what is beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

MIN_ROWS = 4  # found by trial on 1 and 2 threads
PAD_MULTIPLE = 8  # tokens: sources that need as many of these share a batch


def padded_length(length: int) -> int:
    """How long a source of so many tokens is made, its </s> among them."""
    return (length // PAD_MULTIPLE + 1) * PAD_MULTIPLE


def longest_with_same_padding(length: int) -> int:
    """The longest source that is made as long."""
    return padded_length(length) - 1


def rows_to_keep(is_open: Sequence[bool]) -> list[int]:
    """The places that go on, in order."""
    missing = MIN_ROWS - sum(is_open)
    done = [place for place, still in enumerate(is_open) if not still]
    company = set(done[: max(missing, 0)])
    return [place for place, still in enumerate(is_open) if still or place in company]
