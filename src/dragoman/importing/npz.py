"""Reading of numeric arrays from an .npz file, without unpickling objects.

An .npz is a ZIP of .npy files. One that would decompress to far more than its size is refused by its
directory, before numpy reads it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DragomanError, ModelError
from dragoman.importing.files import opened
from dragoman.manifest import physical_memory

Arrays = dict[str, NDArray[np.generic]]

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
RATIO, SMALL = 100, 1 << 20  # largest compression ratio, and bytes up to which any ratio is allowed
MEMBERS = 20_000
LOCAL = 30  # bytes of the header of each member, without its name


def read_npz(file: Path) -> Arrays:
    # Without pickles there is no code in it.
    with checked(file) as stream, np.load(stream, allow_pickle=False) as archive:  # noqa: TID251
        arrays: Arrays = dict(archive)
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
                raise broken(file, f"{name} is not an array of numbers")
        return arrays


def check_archives(path: Path) -> None:
    """Check that archives are complete and not ZIP bombs, without importing torch and without unpacking."""
    for file in sorted(path.glob("*.npz")) if path.is_dir() else [path]:
        if file.suffix == ".npz":
            with checked(file):
                pass


@contextmanager
def checked(file: Path) -> Iterator[BinaryIO]:
    """Open an archive that is no bomb; what then cannot be read is an error of the file."""
    try:
        with opened(file) as stream:
            with zipfile.ZipFile(stream) as archive:
                refuse_bombs(archive, file, os.fstat(stream.fileno()).st_size)
            stream.seek(0)
            yield stream
    except DragomanError:
        raise
    except Exception as error:  # zipfile's, zlib's, and of the header, which numpy parses as a Python literal
        raise broken(file, f"This .npz file cannot be read: {error}") from None


def refuse_bombs(archive: zipfile.ZipFile, file: Path, size: int) -> None:
    """Refuse ZIP bombs by the directory of the archive, including members that share the same bytes."""
    members = sorted(archive.infolist(), key=lambda member: member.header_offset)
    total = sum(member.file_size for member in members)
    swollen = [m for m in members if m.file_size > max(SMALL, RATIO * m.compress_size)]
    most = min(max(SMALL, RATIO * size), physical_memory() // 2)
    if swollen or len(members) > MEMBERS or total > most:
        raise broken(file, f"This archive would unpack to far more than its size: {total:,} bytes")
    ends = [member.header_offset + LOCAL + member.compress_size for member in members]
    overlapping = any(
        end > after.header_offset for end, (_, after) in zip(ends, pairwise(members), strict=False)
    )
    if overlapping or (ends and ends[-1] > size) or len(set(archive.namelist())) < len(members):
        raise broken(file, "The members of this archive overlap: it would unpack to more than its size")
    if any(member.compress_type not in METHODS for member in members):
        raise broken(file, "This archive uses an unsupported compression method")


def broken(file: Path, what: str) -> ModelError:
    return ModelError(
        f"{what}.",
        where=str(file),
        expected="arrays of numbers, as Marian writes them",
        hint="Download the model again.",
    )
