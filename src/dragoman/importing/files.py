"""Reading of the files of a model to import: regular files of a limited size."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import ModelError
from dragoman.manifest import physical_memory, without_waiting

LARGEST_SETTINGS, LARGEST_VOCABULARY, LARGEST_PIECES = 1 << 16, 1 << 24, 1 << 26  # bytes


def opened(file: Path) -> BinaryIO:
    """Open a regular file. Links are followed (download caches use them); pipes and devices are refused."""
    try:
        if stat.S_ISREG(os.stat(file).st_mode):
            return open(file, "rb", opener=without_waiting)
        why = "it is not a regular file"
    except (OSError, ValueError) as error:
        why = str(error.strerror if isinstance(error, OSError) else error)
    raise refusal([f"{file.name[:80]} cannot be read ({why})"], str(file))


def read(file: Path, largest: int | None = None) -> bytearray:
    """Read a file of at most `largest` bytes, by default half of the memory: converting it takes as much."""
    most = physical_memory() // 2 if largest is None else largest
    with opened(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most:
            raise refusal([f"{file.name[:80]} is too large: {size:,} bytes, at most {most:,}"], str(file))
        raw = bytearray(size)
        stream.readinto(raw)  # type: ignore[attr-defined]
    return raw


def read_pieces(file: Path) -> bytes:
    """Read a SentencePiece model, whose parser does not limit the size of its file."""
    return bytes(read(file, LARGEST_PIECES))


def read_text(file: Path, largest: int) -> str:
    try:
        return read(file, largest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal([f"{file.name} is not UTF-8, at byte {error.start:,}"], str(file)) from None


def refusal(reasons: Sequence[str], file: str, hint: str | None = None) -> ModelError:
    return ModelError(
        f"This model cannot be imported: {' · '.join(reasons)}.",
        where=file,
        expected="a supported Transformer; see docs/import.md for the list",
        hint=hint or "Run it with its own toolkit.",
    )
