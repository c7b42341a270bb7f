"""The random numbers of samples: a function of the seed, the sentence, the sample and the step alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def keys(seed: int, sources: Iterable[Sequence[int] | NDArray[Any]], size: int) -> Keys:
    """Return a key per sample: a hash of the seed, the tokens or frames, and the index of the sample."""
    found = []
    for source in sources:
        numbers = np.asarray(source).astype("<i8" if np.ndim(source) == 1 else "<f4")
        sentence = hashlib.blake2b(f"{seed} ".encode() + numbers.tobytes(), digest_size=8)
        for number in range(size):
            mine = sentence.copy()
            mine.update(number.to_bytes(8, "little"))
            found.append(int.from_bytes(mine.digest(), "little"))
    return np.array(found, np.uint64)


def uniform_at(keys: Keys, step: int) -> NDArray[np.float64]:
    """Return u ∈ [0, 1) for each key at this step: the step-th number of SplitMix64 (Steele et al. 2014)."""
    z = keys + np.uint64((step + 1) * 0x9E3779B97F4A7C15 % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
