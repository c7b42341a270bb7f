"""Folders that are whole or absent: written under a temporary name, hashed, synced, renamed once."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any

from dragoman.errors import CheckpointError

MANIFEST = "MANIFEST.json"
FORMAT = 1
LARGEST_MANIFEST = 10_000_000  # bytes


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """`fill` writes files into a fresh folder; it takes its name only when every byte is on disk.

    A folder in it that has a manifest already is not in this one: it may come and go.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")
    try:
        _fill(temporary, fill)
        _write_manifest(temporary)
        for path in [*temporary.rglob("*"), temporary]:
            sync(path)
        displaced = folder.with_name(f".{folder.name}.old")
        shutil.rmtree(displaced, ignore_errors=True)
        if folder.exists():
            folder.rename(displaced)
        temporary.rename(folder)
        sync(folder.parent)
        shutil.rmtree(displaced, ignore_errors=True)
    except OSError as error:
        free = shutil.disk_usage(folder.parent).free if folder.parent.exists() else 0
        raise CheckpointError(
            f"{folder.name} could not be written: {os.strerror(error.errno) if error.errno else error}.",
            where=str(error.filename or folder),
            expected=f"a writable disk with room ({free / 1e6:,.0f} MB free)",
            hint="Free some space and run the same command again: it goes on from the last whole checkpoint."
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "Mend that, then run the same command again.",
        ) from error


def _write_manifest(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    apart = {path.parent for path in files if path.name == MANIFEST}
    manifest = {
        "format": FORMAT,
        "files": {
            str(path.relative_to(folder)): {"bytes": path.stat().st_size, "sha256": sha256(path)}
            for path in files
            if apart.isdisjoint(path.parents)
        },
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _fill(folder: Path, fill: Callable[[Path], None]) -> None:
    """A fresh folder with its files; none where they cannot be made."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        fill(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def verify_folder(
    folder: Path, required: Sequence[str] = (), only: Sequence[str] | None = None
) -> str | None:
    """None where every file is as it was written, those `required` among them; else what is wrong.

    With `only` those are read, where they are in the manifest, and no other.
    """
    try:
        if not (folder / MANIFEST).is_file():
            return f"{MANIFEST} is missing"
        if (folder / MANIFEST).stat().st_size > LARGEST_MANIFEST:
            return f"{MANIFEST} is too large to be one"
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        expected = manifest["files"]
        if manifest["format"] != FORMAT:
            return f"{MANIFEST} has a format that this Dragoman does not know"
        for name in required:
            if name not in expected:
                return f"{name} is not in {MANIFEST}"
        for name, facts in expected.items():
            if only is not None and name not in only:
                continue
            if fault := _fault(folder, name, facts):
                return fault
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{MANIFEST} cannot be read"
    return None


def _fault(folder: Path, name: str, facts: dict[str, Any]) -> str | None:
    path = folder / name
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        return f"{MANIFEST} names a file outside of the folder"
    if not path.is_file():
        return f"{name} is missing"
    if path.stat().st_size != facts["bytes"]:
        return f"{name} has {path.stat().st_size:,} bytes instead of {facts['bytes']:,}"
    if sha256(path) != facts["sha256"]:
        return f"{name} is not the file that was written (its SHA-256 differs)"
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
