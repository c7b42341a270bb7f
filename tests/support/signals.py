"""Corpora of pictures, sounds and numbers, each with a list of paths and texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dragoman.data.signals.picture import write_picture
from dragoman.data.signals.sound import write_sound


def write_pictures(folder: Path, texts: list[str], *, name: str = "train", suffix: str = "png") -> Path:
    """Write a picture for each text, 8 columns per letter that depend on it, and the list of them."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(texts))
    for number, text in enumerate(texts):
        codes = np.frombuffer(text.encode(), np.uint8)
        letters = np.unpackbits(codes[None], axis=0).repeat(2, axis=0).repeat(8, axis=1) * np.uint8(200)
        write_picture(
            folder / name / f"{number}.{suffix}", 255 - letters - rng.integers(0, 50, letters.shape, np.uint8)
        )
    return write_list(folder, texts, name, suffix)


def write_tones(
    folder: Path, texts: list[str], *, rate: int = 8000, name: str = "train", suffix: str = "wav"
) -> Path:
    """Write a sound for each text, 60 ms of one tone per letter, and the list of them."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(texts))
    t = np.arange(round(rate * 0.06)) / rate
    for number, text in enumerate(texts):
        tones = [np.sin(2 * np.pi * (300 + 100 * (ord(letter) - 97)) * t) for letter in text]
        sound = np.concatenate(tones) / 2 + rng.normal(0, 0.02, len(t) * len(text))
        write_sound(folder / name / f"{number}.{suffix}", sound.astype(np.float32), rate)
    return write_list(folder, texts, name, suffix)


def write_series(folder: Path, texts: list[str], *, features: int = 3, name: str = "train") -> Path:
    """Write a series for each text, two steps per letter, and the list of them."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        codes = np.frombuffer(text.encode(), np.uint8).astype(np.float32)
        steps = (codes[:, None] / np.arange(20, 20 + features)).repeat(2, axis=0)
        np.save(folder / name / f"{number}.npy", steps)
    return write_list(folder, texts, name, "npy")


def write_list(folder: Path, texts: list[str], name: str, suffix: str) -> Path:
    file = folder / f"{name}.tsv"
    lines = [f"{name}/{number}.{suffix}\t{text}\n" for number, text in enumerate(texts)]
    file.write_text("".join(lines), encoding="utf-8")
    return file
