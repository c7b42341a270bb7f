"""Rows of ids → one padded array. The only place that pads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.specials import EOS, PAD

IdRow = Sequence[int] | NDArray[np.integer]


def pad(rows: Sequence[IdRow], length: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Each row and its </s>, then <pad>, as long as the longest unless told; and which places are real."""
    lengths = np.array([len(row) for row in rows])
    place = np.arange(length or lengths.max() + 1)
    out = np.full((len(rows), len(place)), PAD, dtype=np.int64)
    out[place < lengths[:, None]] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    out[np.arange(len(rows)), lengths] = EOS
    return out, place <= lengths[:, None]
