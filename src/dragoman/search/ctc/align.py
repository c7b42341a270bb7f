"""Forced alignment: the best path for a given labelling, by the Viterbi algorithm over l'.

It is the forward recursion of Graves et al. (2006, eq. 6) with max in place of the sum, and
says at which frames each label was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DataError
from dragoman.search.ctc.best_path import Floats


class AlignedLabel(NamedTuple):
    """A label, its frames from `start` up to but excluding `end`, and the mean of y^t(label) over them."""

    label: int
    start: int
    end: int
    confidence: float


def viterbi(log_y: Floats, l: Sequence[int]) -> list[int]:
    """Return the position s in l' = (b, l₁, b, …, b) at each frame, for log y of [S V]."""
    blank = log_y.shape[1] - 1
    extended = np.full(2 * len(l) + 1, blank)
    extended[1::2] = l
    log_y_s = log_y[:, extended].astype(np.float64)
    skip = np.zeros(len(extended), dtype=bool)
    skip[2:] = (extended[2:] != blank) & (extended[2:] != extended[:-2])
    best = np.where(np.arange(len(extended)) < 2, log_y_s[0], -np.inf)
    steps: list[NDArray[np.int64]] = []  # how many positions the best path to s moved, at each frame
    for y in log_y_s[1:]:
        padded = np.concatenate([np.full(2, -np.inf), best])
        ways = np.stack([best, padded[1:-1], np.where(skip, padded[:-2], -np.inf)])
        steps.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + y
    s = len(extended) - 1
    if l and best[-2] > best[-1]:
        s -= 1
    if not best[s] > -np.inf:
        raise DataError(
            f"The text of {len(l)} labels has no path over {len(log_y)} frames.",
            where="the text to align",
            expected="a frame for each label, and one more between equal labels",
            hint="Align a shorter text, or check that text and source belong together.",
        )
    path = [s]
    for step in reversed(steps):
        path.append(path[-1] - int(step[path[-1]]))
    return path[::-1]


def align(log_y: Floats, l: Sequence[int]) -> list[AlignedLabel]:
    """Return the frames and the confidence of each label of l."""
    path = np.array(viterbi(log_y, l))
    aligned = []
    for n, label in enumerate(l):
        frames = np.flatnonzero(path == 2 * n + 1)
        confidence = float(np.exp(log_y[frames, label]).mean())
        aligned.append(AlignedLabel(label, int(frames[0]), int(frames[-1]) + 1, confidence))
    return aligned
