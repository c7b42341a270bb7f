"""Padding of rows of ids, or of frames, to one array. All padding is done here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.text.specials import EOS, PAD

IdRow = Sequence[int] | NDArray[np.integer]
SourceRow = IdRow | NDArray[Any]  # ids, or frames (S, F)


def pad(rows: Sequence[IdRow], length: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Append </s>, pad to the longest row or to `length`, and return the array and its mask of tokens."""
    lengths = np.array([len(row) for row in rows])
    position = np.arange(length or lengths.max() + 1)
    out = np.full((len(rows), len(position)), PAD, dtype=np.int64)
    out[position < lengths[:, None]] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    out[np.arange(len(rows)), lengths] = EOS
    return out, position <= lengths[:, None]


def pad_pairs(
    pairs: Sequence[tuple[IdRow, IdRow]],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_]]:
    """Pad both sides for a word alignment: the mask of the sources includes </s>, that of the targets not."""
    src, src_keep = pad([src for src, _ in pairs])
    tgt, tgt_keep = pad([tgt for _, tgt in pairs])
    return src, src_keep, tgt, tgt_keep & (tgt != EOS)


def pad_frames(
    rows: Sequence[NDArray[Any]], length: int | None = None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Pad arrays (S, F) with zeros to the longest or to `length`; uint8 becomes a fraction of 255."""
    out = np.zeros((len(rows), length or max(len(row) for row in rows), rows[0].shape[1]), np.float32)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    if rows[0].dtype == np.uint8:
        out /= 255
    return out, np.arange(out.shape[1]) < np.array([len(row) for row in rows])[:, None]


def pad_sources(
    rows: Sequence[SourceRow], length: int | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return padded ids or frames and their mask, as long as the longest row with its </s>, or `length`.

    Frames have no </s>.
    """
    frames = [row for row in rows if isinstance(row, np.ndarray) and row.ndim == 2]
    return pad_frames(frames, length) if frames else pad(rows, length)
