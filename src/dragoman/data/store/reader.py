"""Random access to a token store by row number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.files import StoreFiles
from dragoman.data.store.layout import RECORD, damaged, ids_crcs, read_manifest, record_crcs
from dragoman.errors import DataError

SMALL = 32 << 20  # stores of at most this many bytes are verified when they are opened

IdArray = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.int64]


class StoreReader:
    """The pairs of a store. Only the requested rows are in memory. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.dtype = np.dtype(self.manifest.dtype)
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
        """Return the number of source and target ids of each row."""
        order = np.argsort(rows, kind="stable")
        records = np.empty(len(rows), RECORD)
        records[order] = self.records(rows[order])
        return records["src"].astype(np.int64), records["tgt"].astype(np.int64)

    def read(self, rows: Rows) -> list[tuple[IdArray, IdArray]]:
        """Return the source and target ids of each row."""
        order = np.argsort(rows, kind="stable")  # in the order on disk
        ids, starts, middles, ends = self.pieces(rows[order])
        out: list[Any] = [None] * len(rows)
        for number, a, b, c in zip(
            order.tolist(), starts.tolist(), middles.tolist(), ends.tolist(), strict=True
        ):
            out[number] = ids[a:b], ids[b:c]
        return out

    def records(self, rows: Rows) -> NDArray[Any]:
        """Return the index records of ascending rows."""
        if not len(rows):
            return np.empty(0, RECORD)
        if rows[0] < 0 or rows[-1] >= len(self):
            raise IndexError(f"rows must be in range({len(self)})")
        starts = rows * RECORD.itemsize
        raw, at = self.index.gather(starts, starts + RECORD.itemsize)
        records = np.frombuffer(raw, RECORD)[at // RECORD.itemsize]
        self.compare(self.index, records["crc"], record_crcs(raw, at.tolist(), rows.tolist()), rows)
        return records

    def pieces(self, rows: Rows) -> tuple[IdArray, Rows, Rows, Rows]:
        """Return the ids of ascending rows, and for each row the starts of source and target and the end."""
        if not len(rows):
            nothing = np.empty(0, np.int64)
            return np.empty(0, self.dtype), nothing, nothing, nothing
        records = self.records(rows)
        src, both = records["src"].astype(np.int64), records["src"].astype(np.int64) + records["tgt"]
        starts = self.data.starts[rows // self.manifest.shard_pairs] + records["offset"].astype(np.int64)
        sizes = both * self.dtype.itemsize
        raw, at = self.data.gather(starts, starts + sizes)
        self.compare(self.data, records["ids_crc"], ids_crcs(raw, at.tolist(), (at + sizes).tolist()), rows)
        begin = at // self.dtype.itemsize
        return np.frombuffer(raw, self.dtype), begin, begin + src, begin + both

    def compare(self, files: StoreFiles, written: NDArray[Any], read: list[int], rows: Rows) -> None:
        """Raise if the CRCs of ascending rows are not those that were written."""
        wrong = written != read
        if wrong.any():
            row = int(rows[np.argmax(wrong)])
            file = self.folder / files.files[row // self.manifest.shard_pairs].name
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
