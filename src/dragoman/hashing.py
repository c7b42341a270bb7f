"""Hashes of integers, from which the order and the segmentation of examples are drawn on any machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15  # 2⁶⁴ / golden ratio, as in splitmix64


def hash64(*values: int) -> int:
    """Return a 64-bit hash of integers, which depends on their order."""
    h = 0
    for value in values:
        h = ((h ^ (value & MASK)) + GAMMA) & MASK
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
        h ^= h >> 31
    return h


def hash64_each(key: int | U64, values: U64 | np.uint64) -> U64:
    """Return hash64(…, v) for each v, where `key` is hash64(…)."""
    h = (values ^ np.asarray(key, np.uint64)) + np.uint64(GAMMA)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def uniform(hashes: U64) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each hash: its first 53 bits, which a float holds exactly."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
