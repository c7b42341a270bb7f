"""Arrays of numbers out of an .npz file, and of nothing else: no object is ever unpickled.

An .npz is a zip of .npy files. A file that says it holds objects is a program in disguise, and is refused by
its header, before a byte of it is read; so is one that would unpack to far more than it is.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ModelError
from dragoman.importing.files import opened
from dragoman.manifest import physical_memory

Arrays = dict[str, NDArray[np.generic]]

TYPES = re.compile(r"[<>|=]?(?:f[248]|[iu][1248])")  # numbers, of one kind
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
RATIO, SMALL = 100, 1 << 20  # nothing may unpack to so many times its size, if it is not small
MEMBERS = 20_000
LOCAL = 30  # bytes in front of each member, and its name
HEADER = 10_000  # characters
MAGIC = b"\x93NUMPY"
FORM = re.compile(
    r"\{'descr': '(?P<type>[^']+)', 'fortran_order': (?P<by_column>True|False), "
    r"'shape': \((?P<shape>[0-9, ]*)\),? ?\}\s*"
)
FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    OverflowError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


def read_npz(file: Path) -> Arrays:
    with unpacked(file) as archive:
        return dict(_members(archive, file))


def look_over(path: Path) -> None:
    """The archives of a foreign model are whole and no bombs: known without torch, and without unpacking."""
    for file in sorted(path.glob("*.npz")) if path.is_dir() else [path]:
        if file.suffix == ".npz":
            with unpacked(file):
                pass


@contextmanager
def unpacked(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with opened(file) as stream, zipfile.ZipFile(stream) as archive:
            refuse_bombs(archive, file, os.fstat(stream.fileno()).st_size)
            yield archive
    except FAULTS as error:
        raise broken(file, f"This is no .npz file that can be read: {error}") from None


def refuse_bombs(archive: zipfile.ZipFile, file: Path, size: int) -> None:
    """By what the directory says: members may claim the same bytes, so that a few become many."""
    members = sorted(archive.infolist(), key=lambda member: member.header_offset)
    total = sum(member.file_size for member in members)
    swollen = [m for m in members if m.file_size > max(SMALL, RATIO * m.compress_size)]
    most = min(max(SMALL, RATIO * size), physical_memory() // 2)
    if swollen or len(members) > MEMBERS or total > most:
        raise broken(file, f"This archive would unpack to far more than it is: {total:,} bytes")
    ends = [member.header_offset + LOCAL + member.compress_size for member in members]
    overlapping = any(
        end > after.header_offset for end, (_, after) in zip(ends, pairwise(members), strict=False)
    )
    if overlapping or (ends and ends[-1] > size) or len(set(archive.namelist())) < len(members):
        raise broken(file, "The members of this archive overlap: it would unpack to more than it is")
    if any(member.compress_type not in METHODS for member in members):
        raise broken(file, "This archive is packed in another way than arrays are")


def _members(archive: zipfile.ZipFile, file: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        with archive.open(member) as stream:
            header = _header(stream, name)
            kind = header["type"]
            if not TYPES.fullmatch(kind):
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
