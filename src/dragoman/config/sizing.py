"""Defaults that follow from the data: `model.preset = "auto"`, the vocabulary, the learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.cores import cores

AUTO = "auto"
UNPACKED = 3  # bytes of text in a byte of .gz, about
PAIR = 130  # bytes of a pair of sentences, about
PAIRS = {".tmx": 600, ".xlf": 500, ".xliff": 500, ".po": 250, ".jsonl": 170}  # with what is around them
FEW, MANY = 100_000, 2_000_000  # pairs
CORES = 16
LEARNED = ("bpe", "unigram")
SMALLEST, LARGEST = 500, 8_000  # sub-words
WIDEST_STEP = 4e-3


class Sized(NamedTuple):
    preset: str
    why: str


def choose(pairs: int, cores: int) -> Sized:
    """More data fill a larger model, and a larger model needs a faster machine. GPUs are not used yet."""
    if not pairs:  # not known
        return Sized("transformer-small", "")
    shown = f"about {float(f'{pairs:.2g}'):,.0f} pairs"
    if pairs < FEW:
        few = f"{shown} are few: a larger model would learn them by heart"
        return Sized("transformer-tiny", f"{few}; model.preset=transformer-small is larger")
    if pairs < MANY:
        return Sized(
            "transformer-small", f"{shown} fill a model of this size; model.preset=transformer-base is larger"
        )
    if cores >= CORES:
        return Sized("transformer-base", f"{shown} fill it, and {cores} cores can carry it")
    cores_ = "one core is" if cores == 1 else f"{cores} cores are"
    return Sized("transformer-small", f"{shown} would fill transformer-base, but {cores_} slow for it")


def auto(data: Any) -> Sized:
    return choose(guess_pairs(files_of(data)), cores())


def usual_size(pairs: int) -> int:
    """As many sub-words as so many pairs show often enough. Multi30k, with 29,000, does well at 6,000."""
    if not pairs:
        return LARGEST
    return min(LARGEST, max(SMALLEST, round(35 * math.sqrt(pairs) / 100) * 100))


def usual_lr(encoder: Any) -> float | None:
    """Of a Transformer, by its width: what is twice as wide takes steps half as long (Yang et al. 2021)."""
    is_transformer = isinstance(encoder, Mapping) and encoder.get("kind") == "transformer"
    width = encoder.get("width") if is_transformer else None
    return min(WIDEST_STEP, 0.5 / width) if isinstance(width, int) and width > 0 else None


def files_of(data: Any) -> list[Path]:
    """The training files that a table of settings names, whatever else is wrong with it."""
    corpora = data.get("train", ()) if isinstance(data, Mapping) else ()
    corpora = [corpora] if isinstance(corpora, str | Mapping) else corpora
    found: list[Path] = []
    for corpus in corpora if isinstance(corpora, list | tuple) else ():
        files = corpus.get("files", ()) if isinstance(corpus, Mapping) else corpus
        files = [files] if isinstance(files, str) else files
        found += [Path(file) for file in files if isinstance(file, str)] if isinstance(files, list) else []
    return found


def guess_pairs(files: Iterable[Path]) -> int:
    """By the size of the files: counting lines would mean to read them."""
    pairs = 0.0
    for file in files:
        is_packed = file.suffix == ".gz"
        suffix = (Path(file.stem) if is_packed else file).suffix.lower()
        try:
            pairs += file.stat().st_size * (UNPACKED if is_packed else 1) / PAIRS.get(suffix, PAIR)
        except OSError:  # whoever opens it will say so
            continue
    return int(pairs)
