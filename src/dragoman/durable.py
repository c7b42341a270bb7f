"""Folders that are whole or absent: written under a temporary name, hashed, synced, renamed once."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from dragoman.errors import CheckpointError
from dragoman.manifest import FORMAT, MANIFEST, Damaged, Manifest

if sys.platform != "win32":
    import fcntl

OURS = ".dragoman-"  # in the name of everything temporary, so that nobody else's is ever deleted
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux's renameat2
FULL = (errno.ENOSPC, errno.EDQUOT)


def write_folder(folder: Path, fill: Callable[[Path], None], *, size: int = 0) -> None:
    """`fill` writes files into a fresh folder; it takes its name only when every byte is on disk.

    A folder in it that has a manifest already is not in this one: it may come and go. Where it is known how
    many bytes will be written at least, a disk without room for them is refused before the first.
    """
    with explained(folder, size):
        make_parents(folder)
        recover(folder.parent)
        sweep(folder.parent, folder.name)
        refuse_full_disk(folder.parent, size)
        with temporary(folder) as new:
            fill(new)
            _write_manifest(new)
            for path in [*new.rglob("*"), new]:
                sync(path)
            put_in_place(new, folder)


def write_file(file: Path, text: str) -> None:
    """The file is as it was, or holds all of the new text."""
    new = temporary_name(file)
    try:
        new.write_text(text, encoding="utf-8")
        sync(new)
        new.replace(file)
        sync(file.parent)
    finally:
        new.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """The name goes first, so that a folder is never seen with a part of its files."""
    doomed = temporary_name(folder)
    with suppress(OSError):
        folder.rename(doomed)
        sync(folder.parent)
        shutil.rmtree(doomed)


def put_in_place(new: Path, folder: Path) -> None:
    """Give `new` the name of `folder`, and delete what had it. A kill at any point loses neither."""
    if not folder.exists():
        new.rename(folder)
    elif not exchange(new, folder):
        old = new.with_suffix(".old")
        folder.rename(old)
        new.rename(folder)  # `recover` does this where it was not reached
        sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    sync(folder.parent)


def exchange(one: Path, other: Path) -> bool:
    """Each gets the other's name, in one step; False where the system or the file system cannot."""
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

    The new folder is whole, since the old one gives up its name only then; where the new one is gone, the
    old one gets its name back.
    """
    for old, name in left_overs(home, ".old"):
        new = old.with_suffix(".tmp")
        there = new if new.is_dir() else old
        if not (home / name).exists() and lock_of(there) is not False:
            with suppress(OSError):  # it may be read-only for whoever looks
                there.rename(home / name)
                sync(home)


def sweep(home: Path, only: str | None = None) -> None:
    """Delete what killed processes left in `home`, for the folder `only` or for all; what is being written
    is locked."""
    for left, name in [*left_overs(home, ".tmp"), *left_overs(home, ".old")]:
        is_needed = left.suffix == ".old" and not (home / name).exists()
        if only in (None, name) and not is_needed and lock_of(left):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def left_overs(home: Path, kind: str) -> list[tuple[Path, str]]:
    """What has a temporary name, and the name that it was for."""
    pattern = re.compile(rf"\.(.+){re.escape(OURS)}[0-9a-f]+{re.escape(kind)}")
    with suppress(OSError):  # a folder that is not there, or is not ours to read
        return [(path, match[1]) for path in home.iterdir() if (match := pattern.fullmatch(path.name))]
    return []


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{OURS}{secrets.token_hex(8)}.tmp")


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """A fresh folder beside `folder`, locked while it is filled; whatever has its name then is deleted."""
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
    """True: it is ours until the handle is closed or the process ends, however it ends. False: it is
    another's. None: there are no locks here (Windows, some network file systems)."""
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
    """What `lock` says of a file or folder; nothing stays locked."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # it may be anyone's FIFO
    except OSError:
        return None
    try:
        return lock(handle)
    finally:
        os.close(handle)


@contextmanager
def explained(folder: Path, size: int) -> Iterator[None]:
    """Turns the system's refusal to write into words. safetensors has an error of its own for it."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        number = error.errno if isinstance(error, OSError) else os_error(str(error))
        needed = f"{megabytes(size)} needed, " if size else ""
        raise CheckpointError(
            f"{folder.name} could not be written: {os.strerror(number) if number else error}.",
            where=str(folder.absolute()),
            expected=f"a writable disk with room ({needed}{megabytes(free_bytes(folder))} free)",
            hint="Free some space, then run the same command again."
            if number in FULL
            else "Mend that, then run the same command again.",
        ) from error


def os_error(message: str) -> int | None:
    """The number in "… (os error 28)"."""
    found = re.search(r"\(os error (\d+)\)", message)
    return int(found[1]) if found else None


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def free_bytes(path: Path) -> int:
    """On the disk of `path`, which need not be there yet."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def refuse_full_disk(folder: Path, size: int) -> None:
    if free_bytes(folder) < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def make_parents(path: Path) -> None:
    """All folders above `path`, each of them on disk."""
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
        path.chmod(mode)  # safetensors writes for the owner alone; whom the umask lets read may read all


def verify_folder(folder: Path) -> str | None:
    """None where every file is as it was written; else what is wrong."""
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
