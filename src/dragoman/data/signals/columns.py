"""A picture of a line of text as a sequence of its columns, scaled to one height."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.data.signals.picture import Grey


def ink_columns(picture: Grey, height: int) -> Grey:
    """Return the columns (S, height), from left to right. Ink is 255 and paper is 0, as padding is."""
    high, wide = picture.shape
    width = max(1, round(wide * height / high))
    scaled = scaled_rows(scaled_rows(255 - picture.astype(np.float64), height).T, width)
    return scaled.round().astype(np.uint8)


def scaled_rows(x: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return `count` rows, each the mean of the part of x that it covers.

    With the sum C(p) of all rows above p, the mean of the rows from p to q is (C(q) − C(p)) / (q − p).
    """
    edges = np.arange(count + 1) * (len(x) / count)
    whole = np.minimum(edges.astype(np.int64), len(x) - 1)
    sums = np.pad(x.cumsum(axis=0), ((1, 0), (0, 0)))
    above = sums[whole] + (edges - whole)[:, None] * x[whole]
    return np.diff(above, axis=0) * (count / len(x))
