"""Sounds of dialled numbers: the two tones of each key of a telephone (ITU-T Q.23), with noise."""

from __future__ import annotations

import random
from pathlib import Path
from zlib import crc32

import numpy as np

from dragoman.data.signals.sound import Samples, write_sound

SIZES = {"train": 1_500, "valid": 100, "test": 300}
RATE = 8000
KEYS = ("123A", "456B", "789C", "*0#D")
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)  # Hz
TONES = {key: (ROWS[r], COLUMNS[c]) for r, row in enumerate(KEYS) for c, key in enumerate(row)}


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the paths of sounds and the keys that are heard. No number is repeated."""
    rng = random.Random(seed)
    numbers: dict[str, None] = {}
    while len(numbers) < sum(SIZES.values()):
        numbers["".join(rng.choices("0123456789*#", k=rng.randint(3, 8)))] = None
    fresh = iter(numbers)
    return {
        name: [(f"{name}/{number:04d}.wav", next(fresh)) for number in range(size)]
        for name, size in SIZES.items()
    }


def write_source(file: Path, text: str) -> None:
    write_sound(file, dial(text, crc32(f"{file.parent.name}/{file.name} {text}".encode())), RATE)


def dial(text: str, seed: int) -> Samples:
    """Return tones of 60 to 120 ms with pauses of 40 to 90 ms, 5 to 20 dB louder than the noise."""
    rng = np.random.default_rng(seed)
    loudness, parts = rng.uniform(0.1, 0.4), [np.zeros(round(RATE * rng.uniform(0.03, 0.1)))]
    for key in text:
        t = np.arange(round(RATE * rng.uniform(0.06, 0.12))) / RATE
        tone = np.sin(2 * np.pi * (np.outer(t, TONES[key]) + rng.random(2))).sum(axis=1)
        parts += [loudness * tone, np.zeros(round(RATE * rng.uniform(0.04, 0.09)))]
    sound = np.concatenate(parts)
    noise = rng.normal(0.0, loudness * 10 ** (-rng.uniform(5, 20) / 20), sound.shape)
    return (sound + noise).astype(np.float32)
