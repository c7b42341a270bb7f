"""Defaults that follow from the data: `model.preset = "auto"`, the vocabulary, the learning rate."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

AUTO = "auto"
SAMPLED_BYTES = 1 << 18  # bytes of a file that are looked at
MOST_UNPACKED = 1 << 24
XLIFF = (b"<trans-unit", b"<segment")
UNITS = {".tmx": (b"<tu ", b"<tu>"), ".xlf": XLIFF, ".xliff": XLIFF, ".po": (b"\nmsgid ",)}  # how one begins
FEW, MANY = 100_000, 2_000_000  # pairs
CORES = 16
FULL_BUDGET = 4 * 3600.0  # seconds of one core, in which a model larger than the smallest learns enough
LEARNED = ("bpe", "unigram")
SMALLEST, LARGEST = 500, 8_000  # sub-words
WIDEST_STEP = 4e-3
SMALLEST_BATCH, LARGEST_BATCH = 512, 4096  # tokens
BATCH_PER_PAIR = 0.4  # tokens of an update for each pair of the data: about fifty updates an epoch


class AutoPreset(NamedTuple):
    preset: str
    why: str


def choose(pairs: int, cores: int, budget: float = math.inf) -> AutoPreset:
    """More data fill a larger model, and a larger model needs a faster machine or more time: `budget` is in
    seconds. GPUs are not used yet."""
    if not pairs:  # not known
        return AutoPreset("transformer-small", "")
    shown = f"about {float(f'{pairs:.2g}'):,.0f} pairs"
    if pairs < FEW:
        few = f"{shown} are few: a larger model would learn them by heart"
        return AutoPreset("transformer-tiny", f"{few}; model.preset=transformer-small is larger")
    if budget * cores < FULL_BUDGET:
        more = (
            f"with {FULL_BUDGET / cores / 3600:.2g} hours or more, model.preset=transformer-small is better"
        )
        return AutoPreset(
            "transformer-tiny", f"{shown} would fill a larger model, which needs more time; {more}"
        )
    if pairs < MANY:
        return AutoPreset(
            "transformer-small", f"{shown} fill a model of this size; model.preset=transformer-base is larger"
        )
    if cores >= CORES:
        return AutoPreset("transformer-base", f"{shown} fill it, and {cores} cores can carry it")
    cores_ = "one core is" if cores == 1 else f"{cores} cores are"
    return AutoPreset("transformer-small", f"{shown} would fill transformer-base, but {cores_} slow for it")


def default_vocabulary_size(pairs: int) -> int:
    """As many sub-words as so many pairs show often enough. Multi30k, with 29,000, does well at 6,000."""
    if not pairs:
        return LARGEST
    return min(LARGEST, max(SMALLEST, round(35 * math.sqrt(pairs) / 100) * 100))


def default_batch_tokens(pairs: int) -> int:
    """Tokens of an update, a power of two: little data learns more from more and smaller updates (Sennrich &
    Zhang 2019)."""
    if not pairs:
        return LARGEST_BATCH
    return 1 << round(math.log2(min(LARGEST_BATCH, max(SMALLEST_BATCH, BATCH_PER_PAIR * pairs))))


def default_learning_rate(encoder: Any) -> float | None:
    """Of a Transformer, by its width: what is twice as wide takes steps half as long (Yang et al. 2021)."""
    is_transformer = isinstance(encoder, Mapping) and encoder.get("kind") == "transformer"
    width = encoder.get("width") if is_transformer else None
    return min(WIDEST_STEP, 0.5 / width) if isinstance(width, int) and width > 0 else None


def corpora_of(data: Any) -> list[list[Path]]:
    """The training files that a table of settings names, whatever else is wrong with it."""
    train = data.get("train", ()) if isinstance(data, Mapping) else ()
    train = [train] if isinstance(train, str | Mapping) else train
    if isinstance(train, list | tuple) and len(train) == 2 and all(isinstance(one, str) for one in train):
        train = [train]  # ["a.en", "a.de"] is one corpus
    found: list[list[Path]] = []
    for corpus in train if isinstance(train, list | tuple) else ():
        files = corpus.get("files", ()) if isinstance(corpus, Mapping) else corpus
        files = [files] if isinstance(files, str) else files
        named = [Path(file) for file in files if isinstance(file, str)] if isinstance(files, list) else []
        found += [named] if named else []
    return found


def guess_pairs(corpora: Iterable[Sequence[Path]]) -> int:
    """By the beginning of each first file: counting them all would mean to read the files."""
    return sum(guess_units(files[0]) for files in corpora)


def guess_units(file: Path) -> int:
    """Lines, or units of a translation memory."""
    is_packed = file.suffix == ".gz"
    suffix = (Path(file.stem) if is_packed else file).suffix.lower()
    try:
        if not file.is_file():  # to open a pipe would wait for whoever writes to it
            return 0
        with file.open("rb") as stream:
            head, size = stream.read(SAMPLED_BYTES), file.stat().st_size
        text = zlib.decompressobj(wbits=31).decompress(head, MOST_UNPACKED) if is_packed else head
    except (OSError, ValueError, zlib.error):  # whoever opens it will say so
        return 0
    count = max(1, sum(text.count(mark) for mark in UNITS.get(suffix, (b"\n",)))) if text else 0
    return count if size <= SAMPLED_BYTES else round(count * size / SAMPLED_BYTES)
