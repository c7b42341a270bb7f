"""Verified reading of a folder by its MANIFEST.json, which lists the size and the SHA-256 of each file.

A file is opened only if the manifest lists it and it is a regular file of that size. It is read once, and
returned only if its hash matches, so that the bytes that were verified are those that are used. Pipes and
devices are never opened. Links are not followed, but for those of a Hugging Face cache to its own blobs.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from dragoman.errors import ModelError

MANIFEST = "MANIFEST.json"
FORMAT = 1
# Maximum bytes of a file by its name or suffix, checked before parsing; other files must fit into memory.
LARGEST = {MANIFEST: 1 << 20, ".toml": 1 << 20, ".md": 1 << 24, ".json": 1 << 25, ".model": 1 << 26}
KINDS: dict[str, Callable[[int], bool]] = {
    "a symbolic link": stat.S_ISLNK,
    "a folder": stat.S_ISDIR,
    "a FIFO": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
}

Read = Callable[[Path], bytes]  # Path.read_bytes, or Manifest.read


class Facts(NamedTuple):
    bytes: int
    sha256: str


class Damaged(ModelError):
    """The error for a damaged folder; `fault` is a clause that says what is wrong with which file."""

    def __init__(self, fault: str, what: str, *, where: str, expected: str = "", hint: str) -> None:
        super().__init__(what, where=where, expected=expected, hint=hint)
        self.fault = fault


class Manifest:
    """The files of a folder. In error messages, `kind` names the folder and `remedy` is the hint."""

    def __init__(
        self, folder: Path, kind: str = "folder", remedy: str = "Copy the complete folder again."
    ) -> None:
        self.folder, self.kind, self.remedy = folder, kind, remedy
        self._blobs = blobs_of(folder)
        self.files: dict[str, Facts] = {}
        self._read: set[str] = set()  # files that were read and verified
        with self._opened(MANIFEST, None) as file:
            self.raw = file.read(self._size(MANIFEST, file))
        try:
            self.files = dict(_parsed(self.raw))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why = f": {error}" if type(error) is ValueError else ""
            raise self.damaged(f"{MANIFEST} cannot be read{why}", MANIFEST) from None

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def facts(self, name: str) -> Facts:
        if name not in self.files:
            raise self.damaged(f"{name} is not in {MANIFEST}", name)
        return self.files[name]

    def read(self, file: Path) -> bytes:
        """Read a file and verify it."""
        name = file.relative_to(self.folder).as_posix()
        with self._opened(name, self.facts(name)) as opened:
            raw = opened.read(self._size(name, opened))
        self._refuse_change(name, raw)
        return raw

    def read_writable(self, file: Path) -> bytearray:
        """Read a file and verify it, into writable memory for tensors."""
        name = file.relative_to(self.folder).as_posix()
        with self._opened(name, self.facts(name)) as opened:
            raw = bytearray(self._size(name, opened))
            opened.readinto(raw)
        self._refuse_change(name, raw)
        return raw

    def verify(self) -> None:
        """Verify all files that have not been read yet."""
        for name in [name for name in self.files if name not in self._read]:
            with self._opened(name, self.files[name]) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            self._refuse_digest(name, digest)

    def refuse_others(self, apart: Collection[str] = ()) -> None:
        """Raise Damaged unless the folder contains exactly the files of the manifest, each with its size.

        `apart` names subfolders with their own manifest and files of other programs. Names that start with a
        dot belong to the system or to version control: they are ignored and never opened.
        """
        for name, status in self._entries("", apart):
            self._refuse_other_kinds(name, status.st_mode)
            if name != MANIFEST and name not in self.files:
                raise self._unknown(name)
            if name in self.files and status.st_size != self.files[name].bytes:
                raise self._resized(name, status.st_size)
        for name in self.files:
            self._status(name)  # raises if it is missing

    def _entries(self, inside: str, apart: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(self.folder / inside) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            raise self._refused(inside or self.folder.name, error) from None
        for entry in entries:
            name = f"{inside}{entry.name}"
            status = self._status(name) if entry.is_symlink() else entry.stat(follow_symlinks=False)
            is_plain = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
            if name.startswith(".") or (name in apart and is_plain):
                continue
            if stat.S_ISDIR(status.st_mode) and name not in self.files:
                yield from self._entries(f"{name}/", ())
            else:
                yield name, status

    def _size(self, name: str, file: BufferedReader) -> int:
        size = os.fstat(file.fileno()).st_size
        largest = LARGEST.get(name) or LARGEST.get(PurePosixPath(name).suffix) or physical_memory()
        if size > largest:
            raise self.damaged(f"{name} is too large: {size:,} bytes, at most {largest:,}", name)
        return size

    def _opened(self, name: str, facts: Facts | None) -> BufferedReader:
        self._refuse_other_kinds(name, self._status(name).st_mode)
        try:
            file = open(self._place(name), "rb", opener=_without_links)  # noqa: SIM115
        except OSError as error:
            raise self._refused(name, error) from None
        status = os.fstat(file.fileno())  # of the opened file, in case it was replaced in between
        try:
            self._refuse_other_kinds(name, status.st_mode)
            if facts and status.st_size != facts.bytes:
                raise self._resized(name, status.st_size)
        except Damaged:
            file.close()
            raise
        return file

    def _status(self, name: str) -> os.stat_result:
        try:
            return os.lstat(self._place(name))
        except (OSError, ValueError) as error:
            raise self._refused(name, error) from None

    def _place(self, name: str) -> str:
        """Return the path of a file, or of the blob that it is a link to."""
        path = os.path.join(self.folder, name)
        blob = os.path.realpath(path) if self._blobs and os.path.islink(path) else path
        return blob if os.path.dirname(blob) == self._blobs else path

    def _refuse_other_kinds(self, name: str, mode: int) -> None:
        if stat.S_ISREG(mode):
            return
        kind = next((kind for kind, is_one in KINDS.items() if is_one(mode)), "not a file")
        link = kind == "a symbolic link"
        raise Damaged(
            f"{name} is {kind}",
            f"The {self.kind} was changed: {name} is {kind}.",
            where=str(self.folder / name),
            expected="a regular file; it was not opened",
            hint="cp -rL copies the folder with files instead of links." if link else self.remedy,
        )

    def damaged(self, fault: str, name: str = "") -> Damaged:
        return Damaged(
            fault,
            f"The {self.kind} is damaged: {fault}.",
            where=str(self.folder / name),
            expected=f"every file as listed in {MANIFEST}",
            hint=self.remedy,
        )

    def _refuse_change(self, name: str, raw: bytes | bytearray) -> None:
        self._refuse_digest(name, hashlib.sha256(raw).hexdigest())

    def _refuse_digest(self, name: str, digest: str) -> None:
        if digest != self.files[name].sha256:
            raise self.damaged(f"{name} was changed (its SHA-256 differs)", name)
        self._read.add(name)

    def _resized(self, name: str, size: int) -> Damaged:
        return self.damaged(f"{name} has {size:,} bytes instead of {self.files[name].bytes:,}", name)

    def _unknown(self, name: str) -> Damaged:
        return Damaged(
            f"{name} is not in {MANIFEST}",
            f"Unexpected file {name} in the {self.kind}: it is not in {MANIFEST}.",
            where=str(self.folder / name),
            expected="only the files that were written",
            hint="Move it out of the folder, or copy the folder again.",
        )

    def _refused(self, name: str, error: Exception) -> Damaged:
        """Return the error for a file that the system refuses to open."""
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return self.damaged(f"{name} is missing", name)
        path = self.folder / name
        if isinstance(error, PermissionError):
            return Damaged(
                f"{name} is not readable",
                f"You do not have permission to read {name}.",
                where=str(path),
                expected="a readable file",
                hint=f"Its owner can allow it: chmod a+r {path}",
            )
        why = error.strerror if isinstance(error, OSError) else error
        return self.damaged(f"{name} cannot be read: {why}", name)


def _parsed(raw: bytes) -> Iterator[tuple[str, Facts]]:
    manifest: dict[str, Any] = json.loads(raw.decode("utf-8"))
    if manifest["format"] != FORMAT:
        raise ValueError("this version of Dragoman does not support its format")
    for name, facts in manifest["files"].items():
        size, digest = facts["bytes"], facts["sha256"]
        if (
            name != PurePosixPath(name).as_posix()
            or name.startswith("/")
            or ".." in PurePosixPath(name).parts
        ):
            raise ValueError("it lists a file outside the folder")
        if type(size) is not int or size < 0 or not isinstance(digest, str):
            raise ValueError("a size or a hash is invalid")
        yield name, Facts(size, digest)


def blobs_of(folder: Path) -> str | None:
    """Return where a Hugging Face cache has the files of a snapshot: REPOSITORY/snapshots/REVISION/…"""
    snapshots = next((path for path in folder.absolute().parents if path.name == "snapshots"), None)
    return os.path.realpath(snapshots.with_name("blobs")) if snapshots else None


def without_waiting(path: str, flags: int) -> int:
    """Open without blocking, in case a file was replaced by a FIFO; an opener for `open`."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _without_links(path: str, flags: int) -> int:
    return without_waiting(path, flags | getattr(os, "O_NOFOLLOW", 0))


def physical_memory() -> int:
    """Return the memory of this machine in bytes, or a very large number if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 63
