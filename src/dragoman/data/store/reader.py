"""Random access to a token store. Plain reads, no mapping: mapped pages would count as our memory."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.layout import RECORD, File, Shard, damaged, read_manifest, sha256_of
from dragoman.errors import DataError

GAP = 4096  # bytes it is cheaper to read than to skip
SPAN = 1 << 20  # bytes in one read, at most
HANDLES = 128  # files open at once, at most
SMALL = 32 << 20  # bytes of a store that is checked whole when it is opened

Ids = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.int64]


class Reader:
    """The pairs of a store by row number. One reader may serve several threads."""

    def __init__(self, folder: Path) -> None:
        self.handles: OrderedDict[str, int] = OrderedDict()
        self.lock = Lock()
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.dtype = np.dtype(self.manifest.dtype)
        for file in self.files():
            check_size(folder / file.name, file.bytes)
        if sum(file.bytes for file in self.files()) <= SMALL:
            self.verify()

    def __len__(self) -> int:
        return self.manifest.pairs

    def files(self) -> list[File]:
        return [file for shard in self.manifest.shards for file in (shard.index, shard.data)]

    def verify(self) -> None:
        """Read every byte and compare it with what was written."""
        for file in self.files():
            if sha256_of(self.folder / file.name) != file.sha256:
                raise damaged(
                    self.folder / file.name, "This file of the token store was changed after it was written."
                )

    def lengths(self, rows: Rows) -> tuple[Rows, Rows]:
        """How many ids the source and the target of each row have."""
        records = np.empty(len(rows), RECORD)
        for shard, places, inside in self.by_shard(rows):
            records[places] = self.records(shard, inside)
        return records["src"].astype(np.int64), records["tgt"].astype(np.int64)

    def read(self, rows: Rows) -> list[tuple[Ids, Ids]]:
        """The source and target ids of each row."""
        out: list[Any] = [None] * len(rows)
        for shard, places, inside in self.by_shard(rows):
            records = self.records(shard, inside)
            for place, pair in zip(places.tolist(), self.pairs(shard, records), strict=True):
                out[place] = pair
        return out

    def by_shard(self, rows: Rows) -> Iterator[tuple[Shard, Rows, Rows]]:
        """Rows in the order of the disk: for each shard, their places in `rows` and numbers inside it."""
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows must lie in range({len(self)})")
        order = np.argsort(rows, kind="stable")
        number, inside = np.divmod(rows[order], self.manifest.shard_pairs)
        first = np.flatnonzero(np.diff(number, prepend=-1))
        for start, stop in pairwise([*first.tolist(), len(rows)]):
            yield self.manifest.shards[number[start]], order[start:stop], inside[start:stop]

    def records(self, shard: Shard, inside: Rows) -> NDArray[np.void]:
        """Index records of rows of a shard that are in ascending order."""
        found = np.empty(len(inside), RECORD)
        starts = inside * RECORD.itemsize
        for run in runs(starts, starts + RECORD.itemsize):
            first, last = int(inside[run][0]), int(inside[run][-1])
            raw = self.pread(shard.index, first * RECORD.itemsize, (last + 1 - first) * RECORD.itemsize)
            found[run] = np.frombuffer(raw, RECORD)[inside[run] - first]
        return found

    def pairs(self, shard: Shard, records: NDArray[np.void]) -> Iterator[tuple[Ids, Ids]]:
        """The ids that ascending index records point to."""
        width = self.dtype.itemsize
        starts = records["offset"].astype(np.int64)
        src = records["src"].astype(np.int64)
        ends = starts + (src + records["tgt"]) * width
        if len(records) and (starts.min() < 0 or ends.max() > shard.data.bytes or (starts % width).any()):
            raise damaged(
                self.folder / shard.index.name, "The index of the token store points outside of its data."
            )
        for run in runs(starts, ends):
            base = int(starts[run][0])
            ids = np.frombuffer(self.pread(shard.data, base, int(ends[run].max()) - base), self.dtype)
            begin = (starts[run] - base) // width
            middle = (begin + src[run]).tolist()
            for b, m, e in zip(begin.tolist(), middle, ((ends[run] - base) // width).tolist(), strict=True):
                yield ids[b:m], ids[m:e]

    def pread(self, file: File, offset: int, size: int) -> bytes:
        try:
            with self.lock:
                raw = os.pread(self.handle(file.name), size, offset)
        except OSError as error:
            raise unreadable(self.folder / file.name, error) from None
        if len(raw) != size:
            raise damaged(self.folder / file.name, "This file of the token store ends too early.")
        return raw

    def handle(self, name: str) -> int:
        """An open file of the store; the one unused for longest is closed when there are too many."""
        if name not in self.handles:
            if len(self.handles) >= HANDLES:
                os.close(self.handles.popitem(last=False)[1])
            self.handles[name] = os.open(self.folder / name, os.O_RDONLY)
        self.handles.move_to_end(name)
        return self.handles[name]

    def close(self) -> None:
        with self.lock:
            while self.handles:
                os.close(self.handles.popitem()[1])

    def __del__(self) -> None:
        self.close()


def runs(starts: Rows, ends: Rows) -> Iterator[slice]:
    """Ascending byte ranges, grouped so that one read serves neighbours."""
    far = np.flatnonzero(starts[1:] - ends[:-1] > GAP) + 1
    for first, last in pairwise([0, *far.tolist(), len(starts)]):
        while first < last:
            stop = max(
                first + 1, first + int(np.searchsorted(ends[first:last], starts[first] + SPAN, side="right"))
            )
            yield slice(first, stop)
            first = stop


def open_current(folder: Path, fingerprint: str) -> Reader | None:
    """The store that stands here, if it is whole and made from just these sources."""
    try:
        reader = Reader(folder)
    except DataError:
        return None
    return reader if reader.manifest.fingerprint == fingerprint else None


def check_size(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if found != size:
        raise damaged(path, f"This file of the token store has {found} bytes; {size} were written.")


def unreadable(path: Path, error: OSError) -> DataError:
    return damaged(path, f"This file of the token store cannot be read: {error.strerror}.")
