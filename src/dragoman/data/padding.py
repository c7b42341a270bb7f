"""Padding of rows of ids to one array. All padding is done here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.specials import EOS, PAD

IdRow = Sequence[int] | NDArray[np.integer]


def pad(rows: Sequence[IdRow], length: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Append </s>, pad to the longest row or to `length`, and return the array and its mask of tokens."""
    lengths = np.array([len(row) for row in rows])
    position = np.arange(length or lengths.max() + 1)
    out = np.full((len(rows), len(position)), PAD, dtype=np.int64)
    out[position < lengths[:, None]] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    out[np.arange(len(rows)), lengths] = EOS
    return out, position <= lengths[:, None]
