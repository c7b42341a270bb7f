"""The token store on disk: numbered shards, each an index and its data, and a manifest written last.

MANIFEST.json      counts, sizes and SHA-256 of every file, and the fingerprint of the sources
00000/index        one record per pair: the offset of its ids, the numbers of source and target ids, and two
                   CRC-32, of the ids and of the record itself
00000/data         the ids: source then target of each pair, without separators; a source that is not text
                   is S frames of F numbers instead of S ids
00000/shard.json   what the manifest sums up over the shards

A shard has the pairs that are kept of `shard_pairs` lines of the corpus, so it can be written without the
others. It is complete or absent, like every folder that `durable` writes.

A store may be too large to hash at every start. So every record and every pair is checked against its CRC
when it is read: a flipped bit is an error that names the file, never another token.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.errors import DataError

FORMAT = "dragoman-store"
VERSION = 3
MANIFEST = "MANIFEST.json"
INDEX, DATA, FACTS = "index", "data", "shard.json"  # the files of a shard
# The offset is in bytes, the lengths are in ids, or in frames.
RECORD = np.dtype([("offset", "<u8"), ("src", "<u4"), ("tgt", "<u4"), ("ids_crc", "<u4"), ("crc", "<u4")])


@dataclass(frozen=True)
class File:
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Shard:
    pairs: int
    index: File
    data: File


@dataclass(frozen=True)
class Frames:
    """The form of sources that are arrays: uint8, as fractions of 255, or float16."""

    dtype: str
    features: int  # numbers of a frame

    @property
    def bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * self.features


@dataclass(frozen=True)
class Manifest:
    fingerprint: str
    dtype: str
    shard_pairs: int  # lines of the corpus, of which a shard has at most as many pairs
    pairs: int
    src_tokens: int
    tgt_tokens: int
    shards: tuple[Shard, ...]
    counts: dict[str, int] = field(default_factory=dict)
    valid: str = ""  # a hash of the validation pairs that were looked for
    leaked: list[int] = field(default_factory=list)  # and those of them that were found
    frames: Frames | None = None  # of sources that are not text

    def to_json(self) -> str:
        body = {"format": FORMAT, "version": VERSION, **asdict(self)}
        if self.frames is None:
            del body["frames"]
        return json.dumps({**body, "sha256": digest(body)}, indent=1) + "\n"


def shard_name(number: int) -> str:
    return f"{number:05d}"


def record_crcs(records: bytes, starts: Iterable[int], places: Iterable[int]) -> list[int]:
    """Return the CRCs of the records at `starts`. They cover the place, to detect misplaced records: the
    row in its shard, after `shard_pairs` rows for each shard before it, which may have fewer."""
    covered = RECORD.itemsize - 4
    return [
        zlib.crc32(records[start : start + covered], place & 0xFFFF_FFFF)
        for start, place in zip(starts, places, strict=True)
    ]


def ids_crcs(ids: bytes, starts: Iterable[int], ends: Iterable[int]) -> list[int]:
    return [zlib.crc32(ids[start:end]) for start, end in zip(starts, ends, strict=True)]


def id_dtype(vocabulary: int) -> str:
    return "<u2" if vocabulary < 65536 else "<u4"


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a complete store. Raise DataError if it is missing or damaged."""
    path = folder / MANIFEST
    try:
        body = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise damaged(path, "The token store is incomplete: it has no manifest.") from None
    except (ValueError, OSError, RecursionError) as error:
        raise damaged(path, f"The token store's manifest cannot be read: {error}.") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise damaged(path, "This is not the manifest of a token store.")
    if body.get("version") != VERSION:
        raise damaged(
            path, f"The token store has version {body.get('version')}; this program reads {VERSION}."
        )
    if body.pop("sha256", None) != digest(body):
        raise damaged(path, "The token store's manifest was changed after it was written.")
    shards = tuple(Shard(s["pairs"], File(**s["index"]), File(**s["data"])) for s in body.pop("shards"))
    frames = Frames(**body.pop("frames")) if "frames" in body else None
    del body["format"], body["version"]
    return Manifest(shards=shards, frames=frames, **body)


def fingerprint(sources: Sequence[str], vocabulary: Mapping[str, str], settings: Sequence[object]) -> str:
    """Return a hash of what a store is built from: source files and vocabulary by content, and settings."""
    return digest([list(sources), dict(vocabulary), list(settings)])


def contents(folder: Path) -> list[list[str]]:
    files: Iterable[Path] = sorted(path for path in folder.rglob("*") if path.is_file())
    return [[path.relative_to(folder).as_posix(), sha256_of(path)] for path in files]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damaged(path: Path, what: str) -> DataError:
    return DataError(
        what,
        where=str(path),
        hint=f"Delete the folder {path.parent} and run the same command; it is rebuilt.",
    )
