"""Windows of examples → batches of pairs of like length → micro-batches. A pure function of its arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.data.permutation import KeyPurpose, hash64, hash64_each, permute

WINDOW = 16384

Places = NDArray[np.int64]


def window_size(total: int) -> int:
    """At most 16384 examples, so that a whole number of windows just covers an epoch of `total` rows."""
    return -(-total // -(-total // WINDOW))


def batches(
    src_len: Places, tgt_len: Places, *, batch_tokens: int, micro_batches: int, key: int
) -> list[list[Places]]:
    """The batches of one window, each as `micro_batches` arrays of places in it (the last may be empty).

    Rows × longest side stays within `batch_tokens`, </s> included, unless that would leave fewer rows
    than there are micro-batches.
    """
    places = by_length(src_len, tgt_len, key)
    cost = np.maximum(src_len, tgt_len)[places] + 1
    edges = [*cut(cost, batch_tokens, micro_batches), len(places)]
    found = []
    for at in permute(np.arange(len(edges) - 1), len(edges) - 1, hash64(key, KeyPurpose.BATCHES)):
        rows = slice(edges[at], edges[at + 1])
        found.append(np.split(places[rows], split(cost[rows], micro_batches)))
    return found


def by_length(src_len: Places, tgt_len: Places, key: int) -> Places:
    """Places sorted by the longer side, which a batch pays for, then by how much shorter the other is.

    The second runs up and down in turn, so that neighbours stay alike where the first changes.
    """
    tie = hash64_each(hash64(key, KeyPurpose.TIES), np.arange(len(src_len), dtype=np.uint64))
    longer = np.maximum(src_len, tgt_len)
    return np.lexsort((tie, np.where(longer % 2, src_len - tgt_len, tgt_len - src_len), longer))


def cut(cost: Places, budget: int, rows: int) -> list[int]:
    """Where the batches begin: as few as the budget allows, then as even as that number allows."""
    starts = greedy(cost, budget, rows)
    low, high = 1, budget
    while low < high:
        middle = (low + high) // 2
        if len(greedy(cost, middle, rows)) <= len(starts):
            high = middle
        else:
            low = middle + 1
    starts = greedy(cost, high, rows)
    if len(starts) > 1:  # a short last batch borrows rows from the one before
        starts[-1] = min(starts[-1], max(len(cost) - rows, starts[-2] + rows))
    return starts


def greedy(cost: Places, budget: int, rows: int) -> list[int]:
    """Where batches begin when each takes all it can: rows × highest cost ≤ budget, or `rows` rows."""
    starts = []
    start = 0
    while start < len(cost):
        starts.append(start)
        reach = max(rows, budget // int(cost[start]))
        highest = np.maximum.accumulate(cost[start : start + reach])
        area = highest * np.arange(1, len(highest) + 1)
        start += max(rows, int(np.searchsorted(area, budget, side="right")))
    return starts


def split(cost: Places, parts: int) -> Places:
    """Where a batch is cut into `parts` of about equal cost, none empty while there are rows enough."""
    number = np.arange(1, parts)
    total = np.cumsum(cost)
    edges = np.searchsorted(total, total[-1] * number // parts, side="left") + 1
    edges = np.maximum.accumulate(edges - number) + number
    limit = np.maximum(len(cost) - parts + number, np.minimum(number, len(cost)))
    return np.asarray(np.minimum(edges, limit))
