"""Stateless shuffling: the position of every row is computed from a key, identically on any machine."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from dragoman.hashing import GAMMA, MASK, U64, hash64_each

ROUNDS = 6


class KeyPurpose(IntEnum):
    """The purpose of a key, so that no two draws share one. The order of a run depends on these numbers."""

    PLACES = 1  # the positions of each corpus in a block of the mixture
    EPOCH = 2  # the order of a corpus's rows
    TIES = 3  # the order of pairs of equal lengths
    BATCHES = 4  # the order of batches in a window
    WINDOW = 5
    PIECES = 6  # the subwords of an example


def permute(n: NDArray[np.integer], size: int, key: int | U64) -> NDArray[np.int64]:
    """Return the position of each n in the permutation of range(size) given by `key` (one key, or one per n).

    A Feistel network on pairs (n ÷ b, n mod b) of an a × b grid that just covers `size`. Values that land
    in the few cells outside range(size) are passed through the network again (cycle walking).
    """
    values = np.array(n, dtype=np.uint64)
    keys = np.broadcast_to(np.asarray(key, np.uint64), values.shape)
    if values.size and int(values.max()) >= size:
        raise ValueError(f"{int(values.max())} is not in range({size})")
    a = math.isqrt(max(size - 1, 0)) + 1
    b = -(-size // a)
    outside = np.arange(values.size)
    while outside.size:
        values[outside] = feistel(values[outside], a, b, keys[outside])
        outside = outside[values[outside] >= size]
    return values.astype(np.int64)


def feistel(values: U64, a: int, b: int, keys: U64) -> U64:
    """Apply the network once: add a hash of each half to the other, in turn."""
    left, right = np.divmod(values, np.uint64(b))
    for number in range(0, ROUNDS, 2):
        left = add_mod(left, a, hash64_each(keys + np.uint64(number * GAMMA & MASK), right))
        right = add_mod(right, b, hash64_each(keys + np.uint64((number + 1) * GAMMA & MASK), left))
    return left * np.uint64(b) + right


def add_mod(half: U64, size: int, hashed: U64) -> U64:
    """Return (half + hash scaled to range(size)) mod size, without a division."""
    moved = half + ((hashed >> np.uint64(32)) * np.uint64(size) >> np.uint64(32))
    return np.where(moved >= size, moved - np.uint64(size), moved)
