"""A writer of token stores with bounded memory. A store is complete or absent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.layout import (
    MANIFEST,
    RECORD,
    File,
    Manifest,
    Shard,
    id_dtype,
    ids_crcs,
    record_crcs,
)
from dragoman.durable import sync
from dragoman.errors import DataError

IdRow = Sequence[int] | NDArray[np.int32]
IdPair = tuple[IdRow, IdRow]


class StoreWriter:
    """Use as `with StoreWriter(…) as writer: writer.extend(pairs)`; only a clean exit writes the manifest."""

    def __init__(
        self,
        folder: Path,
        *,
        vocabulary: int,
        shard_pairs: int,
        fingerprint: str,
        counts: Mapping[str, int],
    ) -> None:
        self.folder = folder
        self.vocabulary = vocabulary
        self.shard_pairs = shard_pairs
        self.fingerprint = fingerprint
        self.counts = counts  # updated while pairs are written
        self.dtype = id_dtype(vocabulary)
        self.shards: list[Shard] = []
        self.pairs = self.src_tokens = self.tgt_tokens = 0
        self.open: OpenShard | None = None

    def __enter__(self) -> StoreWriter:
        with explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / MANIFEST).unlink(missing_ok=True)  # first: without it, this is not a store
            sync(self.folder)
            for pattern in ("*.index", "*.data", "*.partial"):
                for old in self.folder.glob(pattern):
                    old.unlink()
        return self

    def extend(self, pairs: Sequence[IdPair]) -> None:
        """Append any number of pairs; some thousands per call are fast."""
        start = 0
        with explained(self.folder):
            while start < len(pairs):
                if self.open is None:
                    number = len(self.shards)
                    self.open = OpenShard(self.folder, number, self.dtype, number * self.shard_pairs)
                stop = min(len(pairs), start + self.shard_pairs - self.open.pairs)
                self.append(self.open, pairs[start:stop])
                if self.open.pairs == self.shard_pairs:
                    self.close_shard()
                start = stop

    def append(self, shard: OpenShard, pairs: Sequence[IdPair]) -> None:
        sides = list(chain.from_iterable(pairs))
        lengths = np.fromiter(map(len, sides), np.int64, count=len(sides)).reshape(-1, 2)
        ids = np.concatenate([np.asarray(side, np.int32) for side in sides])
        if ids.size and (ids.min() < 0 or ids.max() >= self.vocabulary):
            raise ValueError(f"an id is not in range({self.vocabulary})")
        shard.append(ids.astype(self.dtype), lengths)
        self.pairs += len(pairs)
        self.src_tokens += int(lengths[:, 0].sum())
        self.tgt_tokens += int(lengths[:, 1].sum())

    def close_shard(self) -> None:
        if self.open is not None:
            self.shards.append(self.open.close())
            self.open = None

    def finish(self) -> None:
        self.close_shard()
        manifest = Manifest(
            fingerprint=self.fingerprint,
            dtype=self.dtype,
            shard_pairs=self.shard_pairs,
            pairs=self.pairs,
            src_tokens=self.src_tokens,
            tgt_tokens=self.tgt_tokens,
            shards=tuple(self.shards),
            counts=dict(self.counts),
        )
        sync(self.folder)
        file = Stream(self.folder, MANIFEST)
        file.write(manifest.to_json().encode())
        file.close()
        sync(self.folder)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with explained(self.folder):
                    self.finish()
        finally:
            if self.open is not None:
                self.open.discard()


class OpenShard:
    """The index and the data file of the shard that is being written."""

    def __init__(self, folder: Path, number: int, dtype: str, first_row: int) -> None:
        self.width = np.dtype(dtype).itemsize
        self.first_row = first_row
        self.index = Stream(folder, f"{number:05d}.index")
        self.data = Stream(folder, f"{number:05d}.data")
        self.pairs = 0

    def append(self, ids: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        content = ids.tobytes()
        sizes = lengths.sum(axis=1) * self.width
        ends = np.cumsum(sizes)
        records = np.zeros(len(lengths), RECORD)
        records["offset"] = ends - sizes + self.data.bytes
        records["src"], records["tgt"] = lengths.T
        records["ids_crc"] = ids_crcs(content, (ends - sizes).tolist(), ends.tolist())
        first = self.first_row + self.pairs
        starts = range(0, records.nbytes, RECORD.itemsize)
        records["crc"] = record_crcs(records.tobytes(), starts, range(first, first + len(records)))
        self.data.write(content)
        self.index.write(records.tobytes())
        self.pairs += len(lengths)

    def close(self) -> Shard:
        return Shard(self.pairs, self.index.close(), self.data.close())

    def discard(self) -> None:
        self.index.discard()
        self.data.discard()


class Stream:
    """A file that is hashed while it is written, and renamed to its final name once it is on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self.partial = folder / f"{name}.partial"
        self.file = self.partial.open("wb")
        self.hash = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.hash.update(content)
        self.bytes += len(content)

    def close(self) -> File:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.partial.replace(self.path)
        return File(self.path.name, self.bytes, self.hash.hexdigest())

    def discard(self) -> None:
        with suppress(OSError):  # report the original error instead
            self.file.close()
            self.partial.unlink(missing_ok=True)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Convert an OSError to a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"The token store cannot be written: {error.strerror}.",
            where=str(error.filename or folder),
            hint="Free disk space or choose another folder, then run the same command.",
        ) from error
