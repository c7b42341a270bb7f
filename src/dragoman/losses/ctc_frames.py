"""The number of frames that a labelling needs under CTC, checked before training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dragoman.errors import DataError


def frames_needed(l: Sequence[int]) -> int:
    """Return |l| plus the number of repeats: a blank separates equal labels."""
    return len(l) + sum(a == b for a, b in pairwise(l))


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
