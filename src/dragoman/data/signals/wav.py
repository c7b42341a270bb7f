"""WAV sounds as samples between −1 and 1, by the standard library."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.open_file import opened, readable
from dragoman.errors import DataError

Samples = NDArray[np.float32]
LARGEST_FILE = 1 << 28  # bytes


def read_wav(file: Path, rate: int) -> Samples:
    """Return the samples of a PCM file of this sample rate; two channels become their mean."""
    with opened(file) as stream, readable(file):
        if stream.seek(0, 2) > LARGEST_FILE:
            raise unreadable(file, f"it has more than {LARGEST_FILE:,} bytes")
        stream.seek(0)
        try:
            with wave.open(stream) as sound:
                head, raw = sound.getparams(), sound.readframes(sound.getnframes())
        except (wave.Error, EOFError, RuntimeError) as error:
            raise unreadable(file, str(error) or "it is truncated") from None
    if head.framerate != rate:
        raise DataError(
            f"This sound has {head.framerate:,} samples per second.",
            where=str(file),
            expected=f"{rate:,}, as data.source.sample_rate says",
            hint=f"Convert it: sox {file} -r {rate} new.wav",
        )
    if head.sampwidth not in (1, 2) or head.nchannels not in (1, 2):
        raise unreadable(file, f"it has {head.nchannels} channels of {8 * head.sampwidth} bits")
    if not head.nframes or len(raw) != head.nframes * head.nchannels * head.sampwidth:
        raise unreadable(file, "it is truncated" if head.nframes else "it has no samples")
    is_byte = head.sampwidth == 1  # which is unsigned
    values = np.frombuffer(raw, np.uint8 if is_byte else "<i2").astype(np.float64)
    values = values / 128 - 1 if is_byte else values / 32768
    mono: Samples = values.reshape(-1, head.nchannels).mean(axis=1).astype(np.float32)
    return mono


def write_wav(file: Path, samples: Samples, rate: int) -> None:
    """Write samples between −1 and 1 as 16-bit mono."""
    with wave.open(str(file), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes((samples.clip(-1, 1) * 32767).round().astype("<i2").tobytes())


def unreadable(file: Path, why: str) -> DataError:
    return DataError(
        f"This sound cannot be read: {why}.",
        where=str(file),
        expected="a WAV file of PCM samples, 8 or 16 bits, one or two channels",
        hint=f"Convert it: sox {file} -b 16 -c 1 new.wav",
    )
