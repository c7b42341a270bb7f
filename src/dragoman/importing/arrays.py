"""Arrays of numbers out of an .npz file, and of nothing else: no object is ever unpickled.

An .npz is a zip of .npy files. A file that says it holds objects is a program in disguise, and is refused by
its header, before a byte of it is read; so is one that would unpack to far more than it is.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ModelError

Arrays = dict[str, NDArray[np.generic]]

NUMBERS = ("f", "i", "u")  # kinds of dtype that may be read
MOST = 16 << 30  # bytes of all arrays
RATIO, SMALL = 100, 1 << 20  # a member may not unpack to so many times its size, if it is not small
MEMBERS = 20_000
HEADER = 10_000  # characters
MAGIC = b"\x93NUMPY"
FORM = re.compile(
    r"\{'descr': '(?P<type>[^']+)', 'fortran_order': (?P<by_column>True|False), "
    r"'shape': \((?P<shape>[\d, ]*)\),? ?\}\s*"
)


def read_npz(file: Path) -> Arrays:
    try:
        with zipfile.ZipFile(file) as archive:
            refuse_bombs(archive, file)
            return dict(_members(archive, file))
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise broken(file, f"This is no .npz file that can be read: {error}") from None


def refuse_bombs(archive: zipfile.ZipFile, file: Path) -> None:
    members = archive.infolist()
    swollen = [m for m in members if m.file_size > SMALL and m.file_size > RATIO * max(m.compress_size, 1)]
    if swollen or len(members) > MEMBERS or sum(m.file_size for m in members) > MOST:
        raise broken(file, "This archive would unpack to far more than it is")


def _members(archive: zipfile.ZipFile, file: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        with archive.open(member) as stream:
            header = _header(stream, name)
            kind = header["type"]
            if kind[1:2] not in NUMBERS:
                what = (
                    "pickled objects: a program, which is never run" if "O" in kind else f"{kind}: no numbers"
                )
                raise broken(file, f"{name} holds {what}")
            raw = stream.read(member.file_size)
        dtype = np.dtype(kind)
        shape = [int(size) for size in header["shape"].split(",") if size.strip()]
        if math.prod(shape) * dtype.itemsize != len(raw):
            raise broken(file, f"{name} has {len(raw):,} bytes, which do not make the shape {tuple(shape)}")
        by_column = header["by_column"] == "True"
        yield name, np.frombuffer(raw, dtype).reshape(shape, order="F" if by_column else "C")


def _header(stream: IO[bytes], name: str) -> re.Match[str]:
    """Type, order and shape. numpy would have Python parse it; that is more than these three need."""
    magic = stream.read(8)
    wide = magic[6:7] > b"\x01"
    size = int.from_bytes(stream.read(4 if wide else 2), "little")
    if magic[:6] != MAGIC or size > HEADER:
        raise ValueError(f"{name} is no .npy file")
    header = FORM.fullmatch(stream.read(size).decode("latin-1"))
    if header is None:
        raise ValueError(f"{name} has a header of another form")
    return header


def broken(file: Path, what: str) -> ModelError:
    return ModelError(
        f"{what}.",
        where=str(file),
        expected="arrays of numbers, as Marian writes them",
        hint="Get the model again from where it was published.",
    )
