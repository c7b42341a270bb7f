"""The files of a foreign model: plain ones, no larger than they need to be; others are refused in words."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import ModelError
from dragoman.manifest import physical_memory, without_waiting

LARGEST_SETTINGS, LARGEST_VOCABULARY, LARGEST_PIECES = 1 << 20, 1 << 28, 1 << 26  # bytes


def opened(file: Path) -> BinaryIO:
    """Links are followed, as downloads are often kept behind them; pipes and devices are not opened."""
    try:
        if stat.S_ISREG(os.stat(file).st_mode):
            return open(file, "rb", opener=without_waiting)
        why = "it is no plain file"
    except (OSError, ValueError) as error:
        why = str(error.strerror if isinstance(error, OSError) else error)
    raise refusal([f"{file.name[:80]} cannot be read ({why})"], str(file))


def read(file: Path, largest: int | None = None) -> bytearray:
    """By default as large as half of the memory, since what is made of it takes as much."""
    most = physical_memory() // 2 if largest is None else largest
    with opened(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most:
            raise refusal([f"{file.name[:80]} is too large: {size:,} bytes, and {most:,} at most"], str(file))
        raw = bytearray(size)
        stream.readinto(raw)  # type: ignore[attr-defined]
    return raw


def read_pieces(file: Path) -> bytes:
    """A SentencePiece model, whose parser trusts the size of its file."""
    return bytes(read(file, LARGEST_PIECES))


def read_text(file: Path, largest: int) -> str:
    try:
        return read(file, largest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal([f"{file.name} is not UTF-8, at byte {error.start:,}"], str(file)) from None


def refusal(reasons: Sequence[str], file: str) -> ModelError:
    return ModelError(
        f"This model cannot be imported: {' · '.join(reasons)}.",
        where=file,
        expected="a Transformer that ours can express: docs/import.md has the list",
        hint="Its own tools can run it; ctranslate2 has converters for more of them.",
    )
