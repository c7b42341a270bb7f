"""Random access to a token store by row number.

Files are read, not mapped: mapped pages would count as memory of the process.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.layout import (
    RECORD,
    File,
    Frames,
    damaged,
    ids_crcs,
    read_manifest,
    record_crcs,
    sha256_of,
)
from dragoman.errors import DataError

GAP = 1024  # bytes that are cheaper to read than to skip
READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # Windows would translate line ends
HANDLES = 64  # maximum number of open files
SMALL = 32 << 20  # stores of at most this many bytes are verified when they are opened

IdArray = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.int64]
Offsets = NDArray[np.int64]
Cut = Callable[[int, int, int], tuple[NDArray[Any], IdArray]]  # a row: its start and its two lengths


class StoreReader:
    """The pairs of a store. Only the requested rows are in memory. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.dtype = np.dtype(self.manifest.dtype)
        self.frames = self.manifest.frames
        self.ends = np.cumsum([shard.pairs for shard in self.manifest.shards], dtype=np.int64)
        self.index = StoreFiles(folder, [shard.index for shard in self.manifest.shards])
        self.data = StoreFiles(folder, [shard.data for shard in self.manifest.shards])
        if sum(file.bytes for file in (*self.index.files, *self.data.files)) <= SMALL:
            self.verify()

    def __len__(self) -> int:
        return self.manifest.pairs

    def verify(self) -> None:
        """Raise if the SHA-256 of a file is not the one in the manifest."""
        self.index.verify()
        self.data.verify()

    def lengths(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the number of source ids, or frames, and of target ids of each row."""
        order = np.argsort(rows, kind="stable")
        records = np.empty(len(rows), RECORD)
        records[order] = self.records(rows[order])
        return records["src"].astype(np.int64), records["tgt"].astype(np.int64)

    def read(self, rows: Rows) -> list[tuple[NDArray[Any], IdArray]]:
        """Return the source ids, or frames, and the target ids of each row."""
        order = np.argsort(rows, kind="stable")  # in the order on disk
        raw, src, tgt, starts = self.pieces(rows[order])
        cut = self.cut_ids(raw) if self.frames is None else self.cut_frames(raw, self.frames)
        out: list[Any] = [None] * len(rows)
        for number, at, m, n in zip(order.tolist(), starts.tolist(), src.tolist(), tgt.tolist(), strict=True):
            out[number] = cut(at, m, n)
        return out

    def cut_ids(self, raw: bytes) -> Cut:
        ids = np.frombuffer(raw, self.dtype)
        step = self.dtype.itemsize

        def cut(at: int, src: int, tgt: int) -> tuple[IdArray, IdArray]:
            start = at // step
            return ids[start : start + src], ids[start + src : start + src + tgt]

        return cut

    def cut_frames(self, raw: bytes, frames: Frames) -> Cut:
        def cut(at: int, src: int, tgt: int) -> tuple[NDArray[Any], IdArray]:
            array = np.frombuffer(raw, frames.dtype, src * frames.features, at)
            ids = np.frombuffer(raw, self.dtype, tgt, at + src * frames.bytes)
            return array.reshape(src, frames.features), ids

        return cut

    def records(self, rows: Rows) -> NDArray[Any]:
        """Return the index records of ascending rows."""
        if not len(rows):
            return np.empty(0, RECORD)
        if rows[0] < 0 or rows[-1] >= len(self):
            raise IndexError(f"rows must be in range({len(self)})")
        starts = rows * RECORD.itemsize
        raw, at = self.index.gather(starts, starts + RECORD.itemsize)
        records = np.frombuffer(raw, RECORD)[at // RECORD.itemsize]
        shards = self.shards_of(rows)
        firsts = np.append(0, self.ends[:-1])[shards]
        places = rows - firsts + shards * self.manifest.shard_pairs
        self.compare(self.index, records["crc"], record_crcs(raw, at.tolist(), places.tolist()), rows)
        return records

    def shards_of(self, rows: Rows) -> Rows:
        """Return the number of the shard of each row; some shards have fewer rows than others."""
        return np.searchsorted(self.ends, rows, side="right")

    def pieces(self, rows: Rows) -> tuple[bytes, Rows, Rows, Rows]:
        """Return the bytes of ascending rows, and for each row the lengths of both sides and its start."""
        if not len(rows):
            nothing = np.empty(0, np.int64)
            return b"", nothing, nothing, nothing
        records = self.records(rows)
        src, tgt = records["src"].astype(np.int64), records["tgt"].astype(np.int64)
        starts = self.data.starts[self.shards_of(rows)] + records["offset"].astype(np.int64)
        step = self.dtype.itemsize
        sizes = src * (self.frames.bytes if self.frames else step) + tgt * step
        raw, at = self.data.gather(starts, starts + sizes)
        self.compare(self.data, records["ids_crc"], ids_crcs(raw, at.tolist(), (at + sizes).tolist()), rows)
        return raw, src, tgt, at

    def compare(self, files: StoreFiles, written: NDArray[Any], read: list[int], rows: Rows) -> None:
        """Raise if the CRCs of ascending rows are not those that were written."""
        wrong = written != read
        if wrong.any():
            row = int(rows[np.argmax(wrong)])
            file = self.folder / files.files[self.shards_of(rows)[np.argmax(wrong)]].name
            raise damaged(
                file, f"This file of the token store was changed since it was written: row {row:,}."
            )

    def close(self) -> None:
        self.index.close()
        self.data.close()


def open_current(folder: Path, fingerprint: str) -> StoreReader | None:
    """Return the store in `folder` if it is complete and has this fingerprint."""
    try:
        reader = StoreReader(folder)
    except DataError:
        return None
    return reader if reader.manifest.fingerprint == fingerprint else None


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
