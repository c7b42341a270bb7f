"""Many files read as one. Plain reads, not memory maps: mapped pages would count as memory of the process."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.layout import File, damaged, sha256_of
from dragoman.errors import DataError

GAP = 1024  # bytes that are cheaper to read than to skip
READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # Windows would translate line ends
HANDLES = 64  # maximum number of open files

Offsets = NDArray[np.int64]


class StoreFiles:
    """The concatenated files of a store. Thread-safe."""

    def __init__(self, folder: Path, files: Sequence[File]) -> None:
        self.folder = folder
        self.files = files
        self.handles: OrderedDict[int, int] = OrderedDict()
        self.lock = Lock()
        sizes = np.array([file.bytes for file in files], dtype=np.int64)
        self.ends: Offsets = np.cumsum(sizes)
        self.starts: Offsets = self.ends - sizes
        for file in files:
            check_size(folder / file.name, file.bytes)

    def verify(self) -> None:
        """Raise if the SHA-256 of a file is not the one in the manifest."""
        for file in self.files:
            if sha256_of(self.folder / file.name) != file.sha256:
                raise damaged(self.folder / file.name, "This file of the token store was changed.")

    def gather(self, starts: Offsets, ends: Offsets) -> tuple[bytes, Offsets]:
        """Return the bytes of ascending ranges and the start of each. Adjacent ranges share a read."""
        number = np.searchsorted(self.starts, starts, side="right") - 1
        fresh = np.ones(len(starts), dtype=bool)
        fresh[1:] = (starts[1:] - ends[:-1] > GAP) | (np.diff(number) > 0)
        first = np.flatnonzero(fresh)
        run_starts = starts[first]
        sizes = ends[np.append(first[1:], len(starts)) - 1] - run_starts
        raw = self.read(number[first], run_starts - self.starts[number[first]], sizes)
        shift = np.cumsum(sizes) - sizes - run_starts
        return raw, starts + shift[np.cumsum(fresh) - 1]

    def read(self, numbers: Offsets, offsets: Offsets, sizes: Offsets) -> bytes:
        """Return `sizes` bytes at `offsets` of the files `numbers`, concatenated."""
        pieces = []
        with self.lock:
            for number, offset, size in zip(numbers.tolist(), offsets.tolist(), sizes.tolist(), strict=True):
                try:
                    piece = read_at(self.handle(number), size, offset)
                except OSError as error:
                    raise unreadable(self.folder / self.files[number].name, error) from None
                if len(piece) != size:
                    raise damaged(self.folder / self.files[number].name, "This file is truncated.")
                pieces.append(piece)
        return b"".join(pieces)

    def handle(self, number: int) -> int:
        """Return an open file; the least recently used one is closed when there are too many."""
        if number not in self.handles:
            if len(self.handles) >= HANDLES:
                os.close(self.handles.popitem(last=False)[1])
            self.handles[number] = os.open(self.folder / self.files[number].name, READ)
        self.handles.move_to_end(number)
        return self.handles[number]

    def close(self) -> None:
        with self.lock:
            while self.handles:
                os.close(self.handles.popitem()[1])

    def __del__(self) -> None:
        self.close()


def read_at(handle: int, size: int, offset: int) -> bytes:
    """Read at an offset. The caller holds the lock: without `pread`, threads share the file position."""
    if hasattr(os, "pread"):
        return os.pread(handle, size, offset)
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)


def check_size(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if found != size:
        raise damaged(path, f"This file of the token store has {found} bytes; {size} were written.")


def unreadable(path: Path, error: OSError) -> DataError:
    return damaged(path, f"This file of the token store cannot be read: {error.strerror}.")
