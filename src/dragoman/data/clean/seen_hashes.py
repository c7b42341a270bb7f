"""A set of 64-bit hashes, filled in blocks: 8 bytes per hash, 16 while two runs are merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


class SeenHashes:
    """Sorted runs, each at least twice as long as the next, so that there are few to search."""

    def __init__(self) -> None:
        self.runs: list[Hashes] = []

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes, and return which of them occurred before, in an earlier block or in this one."""
        repeated = np.ones(len(hashes), dtype=np.bool_)
        repeated[np.unique(hashes, return_index=True)[1]] = False
        for run in self.runs:
            index = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
            repeated |= run[index] == hashes
        fresh = np.sort(hashes[~repeated])
        if len(fresh):
            self.runs.append(fresh)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            merged = np.concatenate((self.runs.pop(), self.runs.pop()))
            merged.sort(kind="stable")
            self.runs.append(merged)
        return repeated
