"""Opening of files, with decompression of .gz and a specific error for each way a file can be unreadable."""

from __future__ import annotations

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
from dragoman.spelling import files_in, missing_file_hint

BUFFER = 1 << 18
BOMB_RATIO = 100
BOMB_FLOOR = 64 << 20  # bytes of output below which no ratio is suspicious


@contextmanager
def open_bytes(file: Path) -> Iterator[io.BufferedReader[Any]]:
    """Open a text file as bytes. Errors while reading it also become a DataError."""
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
            raise DataError("This is a folder, not a file.", where=str(file), hint=files_in(file))
        # A pipe can be read only once, and may never end; check and train read several times.
        if not stat.S_ISREG(mode):
            raise DataError(
                "This is not a regular file.",
                where=str(file),
                hint=f"cat {file} > corpus.txt, and pass that file.",
            )
        raw = io.BufferedReader(io.FileIO(file), BUFFER)
    except FileNotFoundError:
        raise DataError("There is no such file.", where=str(file), hint=missing_file_hint(file)) from None
    except PermissionError:
        raise DataError("Permission denied.", where=str(file), hint=f"chmod u+r {file}") from None
    except (OSError, ValueError) as error:
        raise DataError(
            f"This file cannot be opened: {getattr(error, 'strerror', None) or error}.",
            where=repr(str(file)),
            hint="Pass the path of a text file.",
        ) from None
    with raw:
        yield raw


@contextmanager
def readable(file: Path) -> Iterator[None]:
    again = f"Download the file again and test it: gzip -t {file}"
    try:
        yield
    except EOFError:
        raise DataError("This gzip file is truncated.", where=str(file), hint=again) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"This gzip file is damaged ({error}).", where=str(file), hint=again) from None
    except OSError as error:
        raise DataError(
            f"Reading failed: {error.strerror or error}.",
            where=str(file),
            hint="Copy the file to a local disk and try again.",
        ) from None


class GzipReader(io.RawIOBase):
    """Decompressed bytes, up to the limit that text of this compressed size could reach."""

    def __init__(self, raw: BinaryIO, file: Path) -> None:
        self.file = file
        self.unpacked = gzip.GzipFile(fileobj=raw, mode="rb")
        self.limit = max(BOMB_FLOOR, BOMB_RATIO * os.fstat(raw.fileno()).st_size)
        self.bytes_read = 0
        # Check first: translating line by line would take long to reach the limit.
        if declared_size(raw) > self.limit:
            with suppress(EOFError, OSError, zlib.error):  # reported when the file is read
                while self.read(BUFFER):
                    pass
            self.unpacked.rewind()
            self.bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self.unpacked.read(len(buffer))
        buffer[: len(part)] = part
        self.bytes_read += len(part)
        if self.bytes_read > self.limit:
            raise DataError(
                f"This gzip file expands to more than {BOMB_RATIO} times its size, which text does not.",
                where=str(self.file),
                expected=f"at most {self.limit:,} bytes",
                hint=f"Inspect it: zcat {self.file} | head -c 1000. If it is right, unpack it with gunzip.",
            )
        return len(part)


def declared_size(raw: BinaryIO) -> int:
    """Return the uncompressed size modulo 2³², from the last four bytes of a gzip file."""
    here = raw.tell()
    raw.seek(-min(4, os.fstat(raw.fileno()).st_size), os.SEEK_END)
    size = int.from_bytes(raw.read(4), "little")
    raw.seek(here)
    return size
