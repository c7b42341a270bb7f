"""Targets of CTC must fit into the frames of their sources. One that does not is a bad line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine
from dragoman.errors import DataError
from dragoman.losses.ctc_frames import FrameCount, refuse_impossible

Row = tuple[NDArray[Any], NDArray[Any]]
HINT = "Make more frames (model.head.split, or fewer model.src_embedding.halvings), or remove the line."


def without_unfit(
    pairs: Sequence[Pair], rows: Sequence[Row], frames: FrameCount, file: str
) -> tuple[list[Row], list[BadLine]]:
    """Return the rows whose target fits, and the lines of the others; `file` lists the pairs."""
    good, bad = list[Row](), list[BadLine]()
    for pair, (src, tgt) in zip(pairs, rows, strict=True):
        try:
            refuse_impossible(tgt.tolist(), frames(len(src)), where=f"{file}:{pair.line}", hint=HINT)
            good.append((src, tgt))
        except DataError as error:
            bad.append(BadLine("frames", file, pair.line, error))
    return good, bad
