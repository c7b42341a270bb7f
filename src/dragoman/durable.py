"""Atomic writing of folders: under a temporary name, hashed, synced, then renamed."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from dragoman.errors import CheckpointError
from dragoman.manifest import FORMAT, MANIFEST, Damaged, Manifest

if sys.platform != "win32":
    import fcntl

OURS = ".dragoman-"  # in the names of our temporary files, so that no others are ever deleted
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # constants of renameat2 on Linux
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def new_folder(folder: Path, *, size: int = 0) -> Iterator[Path]:
    """Yield a temporary folder to write files into; it is renamed to `folder` once every byte is on disk.

    Sub-folders with a manifest of their own (exports) are not listed in this one, so they can be added or
    removed later. `size` is the least number of bytes that will be written, if it is known: a disk without
    room for them raises an error before the first is written.
    """
    with explained(folder, size):
        make_parents(folder)
        recover(folder.parent)
        sweep(folder.parent, folder.name)
        refuse_full_disk(folder.parent, size)
        with temporary(folder) as new:
            yield new
            _write_manifest(new)
            for path in [*new.rglob("*"), new]:
                sync(path)
            put_in_place(new, folder)


def write_file(file: Path, text: str) -> None:
    """Write a file atomically."""
    new = temporary_name(file)
    try:
        new.write_text(text, encoding="utf-8")
        sync(new)
        new.replace(file)
        sync(file.parent)
    finally:
        new.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder. It is renamed first, so that it is never seen with only some of its files."""
    doomed = temporary_name(folder)
    with suppress(OSError):
        folder.rename(doomed)
        sync(folder.parent)
        shutil.rmtree(doomed)


def put_in_place(new: Path, folder: Path) -> None:
    """Rename `new` to `folder`, and delete the old folder. If the process is killed, neither is lost."""
    if not folder.exists():
        new.rename(folder)
    elif not exchange(new, folder):
        old = new.with_suffix(".old")
        folder.rename(old)
        new.rename(folder)  # if the process is killed before this, `recover` does it
        sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    sync(folder.parent)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names atomically; return False if the system or the file system does not support it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def recover(home: Path) -> None:
    """Finish each replacement in `home` whose process was killed between its two renames.

    The new folder is complete, since the old one is renamed only then. If the new one no longer exists, the
    old one gets its name back. Only what writes folders does this, and only with folders of this user: a name
    is all that tells ours from those that somebody else has put there.
    """
    for old, name in left_overs(home, ".old"):
        new = old.with_suffix(".tmp")
        there = new if new.is_dir() else old
        if not (home / name).exists() and is_own(there) and lock_of(there) is not False:
            with suppress(OSError):  # it may be read-only for this user
                there.rename(home / name)
                sync(home)


def is_own(path: Path) -> bool:
    """Return whether a file or folder belongs to the user of this process."""
    return sys.platform == "win32" or path.lstat().st_uid == os.getuid()


def sweep(home: Path, only: str | None = None) -> None:
    """Delete temporary files that killed processes left in `home`, for the folder `only` or for all.

    Folders that are being written are locked, and not deleted.
    """
    for left, name in [*left_overs(home, ".tmp"), *left_overs(home, ".old")]:
        is_needed = left.suffix == ".old" and not (home / name).exists()
        if only in (None, name) and not is_needed and lock_of(left):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def left_overs(home: Path, kind: str) -> list[tuple[Path, str]]:
    """Return paths with a temporary name, and the name that each was meant for."""
    pattern = re.compile(rf"\.(.+){re.escape(OURS)}[0-9a-f]+{re.escape(kind)}")
    with suppress(OSError):  # a folder that does not exist or is not readable
        return [(path, match[1]) for path in home.iterdir() if (match := pattern.fullmatch(path.name))]
    return []


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{OURS}{secrets.token_hex(8)}.tmp")


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `folder`, locked while it is filled and deleted afterwards."""
    new = temporary_name(folder)
    new.mkdir()
    handle = os.open(new, os.O_RDONLY)
    try:
        lock(handle)
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(handle)


def lock(handle: int) -> bool | None:
    """Lock a file or folder until the handle is closed or the process ends.

    Return True if it was locked, False if another process holds the lock, and None if locks are not supported
    (Windows, some network file systems).
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def lock_of(path: Path) -> bool | None:
    """Return what `lock` returns for a file or folder, without keeping the lock."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # it may be a FIFO
    except OSError:
        return None
    try:
        return lock(handle)
    finally:
        os.close(handle)


@contextmanager
def explained(folder: Path, size: int) -> Iterator[None]:
    """Convert write errors of the system and of safetensors to a CheckpointError."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        number = error.errno if isinstance(error, OSError) else os_error(str(error))
        needed = f"{megabytes(size)} needed, " if size else ""
        raise CheckpointError(
            f"{folder.name} could not be written: {os.strerror(number) if number else error}.",
            where=str(folder.absolute()),
            expected=f"a writable disk with enough space ({needed}{megabytes(free_bytes(folder))} free)",
            hint="Free some space, then run the same command again."
            if number in FULL
            else "Fix that, then run the same command again.",
        ) from error


def os_error(message: str) -> int | None:
    """Return the number in "… (os error 28)"."""
    found = re.search(r"\(os error (\d+)\)", message)
    return int(found[1]) if found else None


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def free_bytes(path: Path) -> int:
    """Return the free space on the disk of `path`, which need not exist yet."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def refuse_full_disk(folder: Path, size: int) -> None:
    if free_bytes(folder) < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def make_parents(path: Path) -> None:
    """Create all parent folders of `path`, and sync each to disk."""
    if path.parent.is_dir():
        return
    make_parents(path.parent)
    path.parent.mkdir(exist_ok=True)
    sync(path.parent.parent)


def _write_manifest(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    apart = {path.parent for path in files if path.name == MANIFEST}
    manifest = {
        "format": FORMAT,
        "files": {
            path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
            for path in files
            if apart.isdisjoint(path.parents)
        },
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    mode = (folder / MANIFEST).stat().st_mode
    for path in files:
        path.chmod(mode)  # safetensors makes files readable by the owner only; follow the umask instead


def verify_folder(folder: Path) -> str | None:
    """Return None if every file is unchanged, else a description of the damage."""
    try:
        Manifest(folder).verify()
    except Damaged as damaged:
        return damaged.fault
    return None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
