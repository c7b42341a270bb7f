"""Series of numbers in .npy files: one row of numbers per step."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.open_file import opened, readable
from dragoman.errors import DataError

LARGEST_FILE = 1 << 28  # bytes
LARGEST = float(np.finfo(np.float16).max)  # the token store holds numbers in 16 bits


def read_numbers(file: Path, features: int) -> NDArray[np.float32]:
    """Return an array (steps, features); a series with one number per step may have one axis."""
    with opened(file) as stream, readable(file):
        size = os.fstat(stream.fileno()).st_size
        try:
            if size > LARGEST_FILE:
                raise ValueError(f"it has more than {LARGEST_FILE:,} bytes")
            found = np.lib.format.read_array(stream, allow_pickle=False)
        except Exception as error:  # of the header, which numpy parses as a Python literal, or of memory
            raise unreadable(file, str(error).partition("\n")[0], features) from None
    if found.dtype.kind not in "fiu":
        raise unreadable(file, f"it holds {found.dtype}, not numbers", features)
    series = found.reshape(-1, 1) if found.ndim == 1 else found
    if series.ndim != 2 or series.shape[1] != features or not len(series):
        raise unreadable(file, f"its shape is {found.shape}", features)
    if not (np.abs(series) <= LARGEST).all():
        raise unreadable(file, f"a number is not finite, or larger than {LARGEST:,.0f}", features)
    return series.astype(np.float32)


def unreadable(file: Path, why: str, features: int) -> DataError:
    return DataError(
        f"This series of numbers cannot be read: {why}.",
        where=str(file),
        expected=f"a .npy file of shape (steps, {features}), as data.source.features says",
        hint="Write it in Python: numpy.save(file, array)",
    )
