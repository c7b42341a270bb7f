"""A path → its bytes, unpacked where it ends in .gz; every way a file can be unreadable has its sentence."""

from __future__ import annotations

import difflib
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.errors import DataError

BUFFER = 1 << 18
BOMB_RATIO = 100
BOMB_FLOOR = 64 << 20  # bytes of output below which no ratio is suspicious


@contextmanager
def open_bytes(file: Path) -> Iterator[io.BufferedReader[Any]]:
    """The bytes of a text file. Faults met while reading become a DataError too."""
    with opened(file) as raw, readable(file):
        if file.suffix == ".gz":
            if raw.peek(2)[:2] != b"\x1f\x8b" and raw.peek(1):
                raise DataError(
                    "This file ends in .gz but is not gzip.",
                    where=str(file),
                    hint=f"mv {file} {file.with_suffix('')}",
                )
            yield io.BufferedReader(GzipReader(raw, file), BUFFER)
        else:
            yield raw


@contextmanager
def opened(file: Path) -> Iterator[io.BufferedReader[Any]]:
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISDIR(mode):
            raise DataError(
                "This is a folder, not a file.", where=str(file), hint=f"Name a file in it: ls {file}"
            )
        if not stat.S_ISREG(mode):  # a pipe is read once, and may never end; check and train read twice
            raise DataError(
                "This is not a regular file.",
                where=str(file),
                hint=f"cat {file} > corpus.txt, and give that.",
            )
        raw = io.BufferedReader(io.FileIO(file), BUFFER)
    except FileNotFoundError:
        raise DataError("There is no such file.", where=str(file), hint=near_file(file)) from None
    except PermissionError:
        raise DataError("You may not read this file.", where=str(file), hint=f"chmod u+r {file}") from None
    except (OSError, ValueError) as error:
        raise DataError(
            f"This file cannot be opened: {getattr(error, 'strerror', None) or error}.",
            where=repr(str(file)),
            hint="Give the path of a text file.",
        ) from None
    with raw:
        yield raw


def near_file(file: Path) -> str:
    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return f"There is no folder {file.parent} either; look at the path."
    if file.name in names:
        return f"It is a link to a file that is gone: ls -l {file}"
    close = difflib.get_close_matches(file.name, names, n=1)
    return f"Did you mean {file.parent / close[0]}?" if close else f"See what is there: ls {file.parent}"


@contextmanager
def readable(file: Path) -> Iterator[None]:
    again = f"Get the file again, and test it: gzip -t {file}"
    try:
        yield
    except EOFError:
        raise DataError("This gzip file is cut off before its end.", where=str(file), hint=again) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"This gzip file is damaged ({error}).", where=str(file), hint=again) from None
    except OSError as error:
        raise DataError(
            f"Reading failed: {error.strerror or error}.",
            where=str(file),
            hint="Copy the file to a local disk and try again.",
        ) from None


class GzipReader(io.RawIOBase):
    """Decompressed bytes, until they are more than any text gives for a file of this size."""

    def __init__(self, raw: BinaryIO, file: Path) -> None:
        self.file = file
        self.unpacked = gzip.GzipFile(fileobj=raw, mode="rb")
        self.limit = max(BOMB_FLOOR, BOMB_RATIO * os.fstat(raw.fileno()).st_size)
        self.given = 0
        if declared_size(raw) > self.limit:  # look first: whoever translates line by line would be long at it
            with suppress(EOFError, OSError, zlib.error):  # a promise that is broken: reading will say how
                while self.read(BUFFER):
                    pass
            self.unpacked.rewind()
            self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self.unpacked.read(len(buffer))
        buffer[: len(part)] = part
        self.given += len(part)
        if self.given > self.limit:
            raise DataError(
                f"This gzip file unpacks to more than {BOMB_RATIO} times its size; text does not.",
                where=str(self.file),
                expected=f"at most {self.limit:,} bytes",
                hint=f"Look at it: zcat {self.file} | head -c 1000. If it is right, unpack it with gunzip.",
            )
        return len(part)


def declared_size(raw: BinaryIO) -> int:
    """The size that the last four bytes of a gzip file give for what is inside, modulo 2³²."""
    here = raw.tell()
    raw.seek(-min(4, os.fstat(raw.fileno()).st_size), os.SEEK_END)
    size = int.from_bytes(raw.read(4), "little")
    raw.seek(here)
    return size
