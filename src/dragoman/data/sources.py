"""The source files of a run, identified by content. Each is hashed once, and again after it changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.data.readers.open_file import opened, readable
from dragoman.durable import make_parents, verify_folder, write_file
from dragoman.errors import DataError

Stamp = list[int]  # size, and the times of the last change to content and to inode, in nanoseconds


class Sources:
    """Hashes of source files. `note` is a file that keeps them between runs, by the paths from its folder.

    A file that is gone has the hash that is known of it: the stores that were made of it do not need it.
    """

    def __init__(self, note: Path) -> None:
        self.note = note
        self.known: dict[str, tuple[Stamp, str]] = {}
        self.used: dict[str, str] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):  # the file is only a cache
            known = json.loads(note.read_text(encoding="utf-8")).items()
            self.known = {path: (list(stamp), str(digest)) for path, (stamp, digest) in known}

    def sha256(self, file: str) -> str:
        path = os.path.abspath(file)
        name = os.path.relpath(path, self.note.parent.absolute())
        before, digest = self.known.get(name, (None, ""))
        if before and not os.path.exists(path):
            return digest
        with opened(Path(file)) as raw, readable(Path(file)):
            now = stamp(os.fstat(raw.fileno()))
            if before != now:
                digest = hashlib.file_digest(raw, "sha256").hexdigest()
        self.used.setdefault(path, digest)
        if before != now:
            self.known[name] = now, digest
            with suppress(OSError):
                make_parents(self.note)
                write_file(self.note, json.dumps(self.known, indent=1) + "\n")
        return digest

    def all_of(self, files: Sequence[str]) -> list[str]:
        return [self.sha256(file) for file in files]

    def refuse_changed(self) -> None:
        """Raise if a file changed since it was hashed: the stores would not match the hashes."""
        for path, digest in self.used.items():
            if self.sha256(path) != digest:
                raise DataError(
                    "The file changed while it was being read.",
                    where=path,
                    expected="the same file from the first pass over it to the last",
                    hint="Run the same command again when no other program writes to the file.",
                )


def stamp(status: os.stat_result) -> Stamp:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def is_current(folder: Path, origin: str) -> bool:
    """Return whether `folder` is complete and was built from `origin`."""
    return verify_folder(folder) is None and (folder / "origin").read_text(encoding="utf-8") == origin
