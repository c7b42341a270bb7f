"""Writers of token stores with bounded memory: one shard at a time, in any order, then the manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.store.layout import (
    DATA,
    FACTS,
    INDEX,
    MANIFEST,
    RECORD,
    File,
    Frames,
    Manifest,
    Shard,
    id_dtype,
    ids_crcs,
    record_crcs,
    shard_name,
)
from dragoman.durable import new_folder, remove_folder, sync, write_file
from dragoman.manifest import Damaged
from dragoman.manifest import Manifest as FolderManifest

IdRow = Sequence[int] | NDArray[np.int32]
IdPair = tuple[IdRow | NDArray[Any], IdRow]  # a source may be an array of frames


@dataclass
class ShardFacts:
    """What the manifest of a store sums up over its shards."""

    fingerprint: str
    pairs: int = 0
    src_tokens: int = 0
    tgt_tokens: int = 0
    size: int = 0  # bytes of text
    counts: dict[str, int] = field(default_factory=dict)  # lines by what became of them
    bad: list[tuple[str, str, int]] = field(default_factory=list)  # lines not read: kind, file and line
    valid: str = ""  # a hash of the validation pairs that were looked for
    leaked: list[int] = field(default_factory=list)  # and those of them that were found


class ShardWriter:
    """The index and the data file of a shard that is being written."""

    def __init__(
        self,
        index: IO[bytes],
        data: IO[bytes],
        vocabulary: int,
        place: int,
        facts: ShardFacts,
        frames: Frames | None = None,
    ):
        self.index, self.data, self.facts = index, data, facts
        self.vocabulary = vocabulary
        self.place = place  # of its first record, as in `record_crcs`
        self.dtype = np.dtype(id_dtype(vocabulary))
        self.frames = frames

    def extend(self, pairs: Sequence[IdPair]) -> None:
        """Append any number of pairs; some thousands per call are fast."""
        if not pairs:
            return
        sides = list(chain.from_iterable(pairs))
        lengths = np.fromiter(map(len, sides), np.int64, count=len(sides)).reshape(-1, 2)
        if self.frames is None:
            content = self.ids_bytes(sides)
        else:
            rows = ((self.frames_bytes(src, self.frames), self.ids_bytes([tgt])) for src, tgt in pairs)
            content = b"".join(chain.from_iterable(rows))
        self._append(content, lengths)
        self.facts.pairs += len(pairs)
        self.facts.src_tokens += int(lengths[:, 0].sum())
        self.facts.tgt_tokens += int(lengths[:, 1].sum())

    def ids_bytes(self, sides: Sequence[IdRow]) -> bytes:
        ids = np.concatenate([np.asarray(side, np.int32) for side in sides])
        if ids.size and (ids.min() < 0 or ids.max() >= self.vocabulary):
            raise ValueError(f"an id is not in range({self.vocabulary})")
        return ids.astype(self.dtype).tobytes()

    def frames_bytes(self, src: IdRow | NDArray[Any], frames: Frames) -> bytes:
        array = np.asarray(src)
        if (array.dtype.str, array.shape[1:]) != (frames.dtype, (frames.features,)):
            raise ValueError(f"frames of {array.dtype.str} {array.shape[1:]} are not {frames}")
        return array.tobytes()

    def _append(self, content: bytes, lengths: NDArray[np.int64]) -> None:
        step = self.dtype.itemsize
        sizes = lengths @ [self.frames.bytes if self.frames else step, step]
        ends = np.cumsum(sizes)
        records = np.zeros(len(lengths), RECORD)
        records["offset"] = ends - sizes + self.data.tell()
        records["src"], records["tgt"] = lengths.T
        records["ids_crc"] = ids_crcs(content, (ends - sizes).tolist(), ends.tolist())
        first = self.place + self.facts.pairs
        starts = range(0, records.nbytes, RECORD.itemsize)
        records["crc"] = record_crcs(records.tobytes(), starts, range(first, first + len(records)))
        self.data.write(content)
        self.index.write(records.tobytes())


@contextmanager
def new_shard(
    home: Path,
    number: int,
    *,
    vocabulary: int,
    shard_pairs: int,
    facts: ShardFacts,
    frames: Frames | None = None,
) -> Iterator[ShardWriter]:
    """Yield a writer; only a clean exit puts the shard in its place. `facts` are complete by then."""
    with new_folder(home / shard_name(number)) as folder:
        with (folder / INDEX).open("wb") as index, (folder / DATA).open("wb") as data:
            yield ShardWriter(index, data, vocabulary, number * shard_pairs, facts, frames)
        (folder / FACTS).write_text(json.dumps(asdict(facts)) + "\n", encoding="utf-8")


def read_shard(home: Path, number: int, *, verified: bool) -> ShardFacts | None:
    """Return the facts of a shard if it is complete. `verified` compares the SHA-256 of every file."""
    try:
        manifest = FolderManifest(home / shard_name(number))
        if verified:
            manifest.verify()
        return ShardFacts(**json.loads(manifest.read(home / shard_name(number) / FACTS)))
    except (Damaged, ValueError, TypeError):
        return None


def join(
    home: Path,
    shards: Sequence[ShardFacts],
    *,
    vocabulary: int,
    shard_pairs: int,
    frames: Frames | None = None,
) -> None:
    """Write the manifest, which makes the shards a store."""
    counts = Counter[str]()
    for facts in shards:
        counts.update(facts.counts)
    manifest = Manifest(
        fingerprint=shards[0].fingerprint,
        dtype=id_dtype(vocabulary),
        shard_pairs=shard_pairs,
        pairs=sum(facts.pairs for facts in shards),
        src_tokens=sum(facts.src_tokens for facts in shards),
        tgt_tokens=sum(facts.tgt_tokens for facts in shards),
        shards=tuple(_shard(home, number, facts) for number, facts in enumerate(shards)),
        counts=dict(counts),
        valid=shards[0].valid,
        leaked=sorted({number for facts in shards for number in facts.leaked}),
        frames=frames,
    )
    for old in home.glob("[0-9]*"):
        if old.name not in {shard_name(number) for number in range(len(shards))}:
            remove_folder(old)
    write_file(home / MANIFEST, manifest.to_json())


def _shard(home: Path, number: int, facts: ShardFacts) -> Shard:
    name = shard_name(number)
    files = FolderManifest(home / name).files
    index, data = (File(f"{name}/{file}", *files[file]) for file in (INDEX, DATA))
    return Shard(facts.pairs, index, data)


def disown(home: Path) -> None:
    """Delete the manifest: without it, the shards are not a store."""
    if (home / MANIFEST).exists():
        (home / MANIFEST).unlink(missing_ok=True)
        sync(home)
