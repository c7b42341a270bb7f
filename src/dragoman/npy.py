"""Reading of one array of numbers in NumPy's .npy format, without evaluating any part of it.

A header that declares objects, which could run code, is refused before the data is read.
"""

from __future__ import annotations

import math
import re
from typing import IO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
HEADER = 10_000  # largest header, in characters
TYPES = re.compile(r"[<>|=]?(?:f[248]|[iu][1248])")  # numeric types
FORM = re.compile(
    r"\{'descr': '(?P<type>[^']+)', 'fortran_order': (?P<by_column>True|False), "
    r"'shape': \((?P<shape>[0-9, ]*)\),? ?\}\s*"
)


def read_npy(stream: IO[bytes], size: int, name: str) -> NDArray[np.generic]:
    """Return the array of a stream of `size` bytes. Raise ValueError if it is not an array of numbers."""
    header = read_header(stream, name)
    kind = header["type"]
    if not TYPES.fullmatch(kind):
        objects = "pickled objects, which can run code and are never loaded"
        raise ValueError(f"{name} holds {objects if 'O' in kind else f'{kind}, not numbers'}")
    raw, dtype = stream.read(size), np.dtype(kind)
    shape = [int(length) for length in header["shape"].split(",") if length.strip()]
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ValueError(f"{name} has {len(raw):,} bytes, which do not match its shape {tuple(shape)}")
    by_column = header["by_column"] == "True"
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if by_column else "C")


def read_header(stream: IO[bytes], name: str) -> re.Match[str]:
    """Return type, order and shape. numpy parses the header as Python; a regular expression is enough."""
    magic = stream.read(8)
    wide = magic[6:7] > b"\x01"
    size = int.from_bytes(stream.read(4 if wide else 2), "little")
    if magic[:6] != MAGIC or size > HEADER:
        raise ValueError(f"{name} is not an .npy file")
    header = FORM.fullmatch(stream.read(size).decode("latin-1"))
    if header is None:
        raise ValueError(f"{name} has an unknown header format")
    return header
