"""Sounds as samples between −1 and 1, by libsndfile."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.open_file import opened, readable
from dragoman.errors import DataError, needs_extra

Samples = NDArray[np.float32]

KINDS = (b"RIFF", b"fLaC", b"OggS")  # how WAV, FLAC and OGG begin; libsndfile has many more
LARGEST_FILE, LARGEST = 1 << 28, 1 << 27  # bytes, and samples, which FLAC packs as tightly as it likes


def read_sound(file: Path, rate: int) -> Samples:
    """Return the samples of a file of this sample rate; several channels become their mean."""
    soundfile = libsndfile()
    with opened(file) as stream, readable(file):
        raw = stream.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise unreadable(file, f"it has more than {LARGEST_FILE:,} bytes")
    if not raw.startswith(KINDS):
        raise unreadable(file, "it does not begin as such a file does")
    if raw[:4] == b"RIFF" and int.from_bytes(raw[4:8], "little") + 8 > len(raw):
        raise unreadable(file, "it is truncated")  # libsndfile reads the rest
    try:
        with soundfile.SoundFile(BytesIO(raw)) as sound:
            refuse_rate(file, sound.samplerate, rate)
            if sound.frames * sound.channels > LARGEST:
                raise unreadable(file, f"it has {sound.frames:,} samples")
            samples = sound.read(dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise unreadable(file, error.error_string.rstrip(".")) from None
    if not len(samples):
        raise unreadable(file, "it has no samples")
    if not np.isfinite(samples).all():
        raise unreadable(file, "a sample is not a finite number")
    mono: Samples = samples.mean(axis=1)
    return mono


def write_sound(file: Path, samples: Samples, rate: int) -> None:
    """Write samples between −1 and 1 in 16 bits, in the format of the file's name."""
    libsndfile().write(file, samples, rate, subtype="PCM_16")


def refuse_rate(file: Path, found: int, wanted: int) -> None:
    if found != wanted:
        raise DataError(
            f"This sound has {found:,} samples per second.",
            where=str(file),
            expected=f"{wanted:,}, as data.source.sample_rate says",
            hint=f"Convert it: sox {file} -r {wanted} new.wav",
        )


def unreadable(file: Path, why: str) -> DataError:
    return DataError(
        f"This sound cannot be read: {why}.",
        where=str(file),
        expected=f"a WAV, FLAC or OGG file of at most {LARGEST:,} samples",
        hint=f"Convert it: sox {file} new.wav",
    )


def libsndfile() -> Any:
    with needs_extra("Sounds need soundfile, which is not installed.", "signals"):
        return import_module("soundfile")
