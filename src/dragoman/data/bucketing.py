"""Length bucketing: windows of examples → batches of similar length → micro-batches.

The result depends only on the arguments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.data.permutation import KeyPurpose, hash64, hash64_each, permute

WINDOW = 16384

Places = NDArray[np.int64]


def window_size(total: int) -> int:
    """Return the window size, at most 16384, for which whole windows just cover an epoch of `total` rows."""
    return -(-total // -(-total // WINDOW))


def batches(
    src_len: Places, tgt_len: Places, *, batch_tokens: int, micro_batches: int, key: int
) -> list[list[Places]]:
    """Return the batches of one window, each as `micro_batches` index arrays (the last may be empty).

    Rows × longest side, including </s>, is at most `batch_tokens`, unless that would leave fewer rows
    than there are micro-batches.
    """
    indices = by_length(src_len, tgt_len, key)
    cost = np.maximum(src_len, tgt_len)[indices] + 1
    edges = [*cut(cost, batch_tokens, micro_batches), len(indices)]
    result = []
    for at in permute(np.arange(len(edges) - 1), len(edges) - 1, hash64(key, KeyPurpose.BATCHES)):
        rows = slice(edges[at], edges[at + 1])
        result.append(np.split(indices[rows], split(cost[rows], micro_batches)))
    return result


def by_length(src_len: Places, tgt_len: Places, key: int) -> Places:
    """Return indices sorted by the longer side, which sets the padding, then by the length difference.

    The second key alternates between ascending and descending, so that neighbours stay similar where the
    first key changes.
    """
    tie = hash64_each(hash64(key, KeyPurpose.TIES), np.arange(len(src_len), dtype=np.uint64))
    longer = np.maximum(src_len, tgt_len)
    return np.lexsort((tie, np.where(longer % 2, src_len - tgt_len, tgt_len - src_len), longer))


def cut(cost: Places, budget: int, rows: int) -> list[int]:
    """Return the starts of the batches: as few as the budget allows, then as even as possible."""
    starts = greedy(cost, budget, rows)
    low, high = 1, budget
    while low < high:
        middle = (low + high) // 2
        if len(greedy(cost, middle, rows)) <= len(starts):
            high = middle
        else:
            low = middle + 1
    starts = greedy(cost, high, rows)
    if len(starts) > 1:  # a short last batch takes rows from the previous one
        starts[-1] = min(starts[-1], max(len(cost) - rows, starts[-2] + rows))
    return starts


def greedy(cost: Places, budget: int, rows: int) -> list[int]:
    """Return the starts of batches filled greedily: rows × highest cost ≤ budget, or `rows` rows."""
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
    """Return where to split a batch into `parts` of about equal cost, none empty if there are enough rows."""
    number = np.arange(1, parts)
    total = np.cumsum(cost)
    edges = np.searchsorted(total, total[-1] * number // parts, side="left") + 1
    edges = np.maximum.accumulate(edges - number) + number
    limit = np.maximum(len(cost) - parts + number, np.minimum(number, len(cost)))
    return np.asarray(np.minimum(edges, limit))
