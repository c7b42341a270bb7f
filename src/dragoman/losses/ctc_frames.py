"""The number of frames that a labelling needs under CTC, checked before training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dragoman.errors import DataError


def frames_needed(l: Sequence[int]) -> int:
    """Return |l| plus the number of repeats: a blank separates equal labels."""
    return len(l) + sum(a == b for a, b in pairwise(l))


class FrameCount(NamedTuple):
    """The number of frames that a network makes from a source.

    `shortening` steps of a source become one state, and each state `split` frames; `ends` is 1 if the network
    also reads </s>.
    """

    shortening: int = 1
    split: int = 1
    ends: int = 1

    def __call__(self, length: int) -> int:
        return -(-(length + self.ends) // self.shortening) * self.split


def refuse_impossible(l: Sequence[int], frames: int, *, where: str, hint: str) -> None:
    """Raise DataError if no path over the frames has the labelling l."""
    needed = frames_needed(l)
    if needed <= frames:
        return
    repeats = needed - len(l)
    between = f", {repeats} of them equal to the one before, which needs a blank between" if repeats else ""
    raise DataError(
        f"The target needs {needed} frames, but its source has {frames}.",
        where=where,
        expected=f"at least {needed} frames for {len(l)} labels{between}",
        hint=hint,
    )
