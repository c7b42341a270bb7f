"""The sources of a corpus that are files: their paths, their frames, and whether one of them changed."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.store.layout import Frames
from dragoman.errors import DataError
from dragoman.text.languages import Languages

FrameArray = NDArray[Any]  # (S, F), of uint8 that are fractions of 255, or of float16
BLOCK_FILES = 64  # read at a time: a frame is larger than a token


class Signals(NamedTuple):
    """How sources that are files are read. It is pickled, for other processes."""

    read_file: Callable[[Path], FrameArray]
    frames: Frames
    max_frames: int
    settings: str  # all that the frames depend on
    root: str = "."  # the folder that paths are relative to
    listed_in: str = ""  # the file that names them, for messages

    def read(self, pairs: Sequence[Pair]) -> tuple[list[Pair], list[FrameArray], list[BadLine]]:
        """Return the pairs whose source can be read, their frames, and the others."""
        good, frames, bad = [], [], []
        for pair in pairs:
            try:
                frames.append(self.read_file(Path(joined(self.root, pair.src))))
                good.append(pair)
            except DataError as error:
                error.where = f"{error.where} ({self.listed_in}:{pair.line})"
                bad.append(BadLine("signal", self.listed_in, pair.line, error))
        return good, frames, bad


class FrameFile:
    """Frames in a temporary file, for sources that do not fit into memory. It goes with the last of them."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self.file.close)

    def add(self, frames: FrameArray) -> FiledFrames:
        offset = self.file.seek(0, os.SEEK_END)
        self.file.write(frames.tobytes())
        return FiledFrames(self, offset, frames.shape, frames.dtype)


@dataclass(frozen=True)
class FiledFrames:
    """The frames of a source in a file. Their number is known without reading them."""

    home: FrameFile
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    def load(self) -> FrameArray:
        self.home.file.seek(self.offset)
        raw = self.home.file.read(math.prod(self.shape) * self.dtype.itemsize)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)


def read_listed(
    files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
) -> Iterator[Pair]:
    """Yield pairs of a path, which is given relative to the folder of the file that lists it, and a text."""
    folder = Path(files[0]).parent
    for pair in open_pairs(files, on_bad=on_bad, languages=languages):
        yield pair._replace(src=str(folder / pair.src))


def relative_to(root: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the pairs with paths relative to `root`: the same ones wherever the data and the process are."""
    for pair in pairs:
        yield pair._replace(src=os.path.relpath(pair.src, root))


def joined(root: str, path: str) -> str:
    # The folders of `root` need not exist: ".." is resolved in the names.
    return os.path.normpath(os.path.join(root, path))


def stamps(pairs: Iterable[Pair], root: str) -> str:
    """Return a hash of the sizes and times of all sources: reading them again to compare would take long."""
    seen = hashlib.sha256()
    for pair in pairs:
        try:
            status = os.stat(joined(root, pair.src))
        except (OSError, ValueError):
            continue  # reported when it is read
        seen.update(f"{pair.src} {status.st_size} {status.st_mtime_ns}\n".encode())
    return seen.hexdigest()
