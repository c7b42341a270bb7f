"""Length bucketing: windows of examples → micro-batches of similar length.

Each micro-batch of an update has a window of its own, so that a rank plans only its own micro-batches. Every
window is cut into the same number of them, so that the windows of an update start and end together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.data.permutation import KeyPurpose, permute
from dragoman.hashing import hash64, hash64_each

WINDOW = 16384

Places = NDArray[np.int64]


def window_size(total: int, micro_batches: int, most: int = WINDOW) -> int:
    """Return the window size, at most `most`, for which whole updates just cover an epoch of `total` rows."""
    rounds = -(-total // (micro_batches * most))
    return -(-total // (micro_batches * rounds))


def buckets(src_len: Places, tgt_len: Places, count: int, key: int) -> list[Places]:
    """Return the examples of a window as `count` index arrays, in an order that depends on `key`."""
    indices = by_length(src_len, tgt_len, key)
    edges = [*cut(padded(src_len, tgt_len)[indices], count), len(indices)]
    order = permute(np.arange(count), count, hash64(key, KeyPurpose.BATCHES))
    return [indices[edges[at] : edges[at + 1]] for at in order]


def padded(src_len: Places, tgt_len: Places) -> Places:
    """Return the length of each example on its longer side, which sets the padding, including </s>."""
    return np.maximum(src_len, tgt_len) + 1


def by_length(src_len: Places, tgt_len: Places, key: int) -> Places:
    """Return indices sorted by the longer side, then by the length difference.

    The second key alternates between ascending and descending, so that neighbours stay similar where the
    first key changes.
    """
    tie = hash64_each(hash64(key, KeyPurpose.TIES), np.arange(len(src_len), dtype=np.uint64))
    longer = np.maximum(src_len, tgt_len)
    return np.lexsort((tie, np.where(longer % 2, src_len - tgt_len, tgt_len - src_len), longer))


def cut(length: Places, count: int) -> list[int]:
    """Return where to cut ascending lengths into `count` batches whose largest rows × length is smallest."""
    low = -(-int(length.sum()) // count)
    high = 2 * low
    while len(greedy(length, high)) > count:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if len(greedy(length, middle)) <= count:
            high = middle
        else:
            low = middle + 1
    starts = greedy(length, high)
    while len(starts) < count:
        rows = np.diff([*starts, len(length)])
        most = int(rows.argmax())
        starts.insert(most + 1, starts[most] + int(rows[most]) // 2)
    return starts


def greedy(length: Places, tokens: int) -> list[int]:
    """Return the starts of batches of as many rows as fit: rows × longest ≤ `tokens`, or one row."""
    starts = []
    start = 0
    while start < len(length):
        starts.append(start)
        longest = length[start : start + tokens // int(length[start])]
        area = longest * np.arange(1, len(longest) + 1)
        start += max(1, int(np.searchsorted(area, tokens, side="right")))
    return starts
