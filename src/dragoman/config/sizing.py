"""`model.preset = "auto"`: a size that fits the data and the machine, and the reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.cores import cores

AUTO = "auto"
UNPACKED = 3  # bytes of text in a byte of .gz, about
PAIR = 130  # bytes of a pair of sentences, about
FEW, MANY = 100_000, 2_000_000  # pairs
CORES = 16


class Sized(NamedTuple):
    preset: str
    why: str


def choose(pairs: int, cores: int) -> Sized:
    """More data fill a larger model, and a larger model needs a faster machine. GPUs are not used yet."""
    shown = f"about {float(f'{pairs:.2g}'):,.0f} pairs"
    if pairs < FEW:
        return Sized("transformer-tiny", f"{shown} are few: a larger model would learn them by heart")
    if pairs < MANY:
        return Sized("transformer-small", f"{shown} fill a model of this size")
    if cores >= CORES:
        return Sized("transformer-base", f"{shown} fill it, and {cores} cores can carry it")
    cores_ = "one core is" if cores == 1 else f"{cores} cores are"
    return Sized("transformer-small", f"{shown} would fill transformer-base, but {cores_} slow for it")


def auto(data: Any) -> Sized:
    return choose(guess_pairs(files_of(data)), cores())


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
    size = 0
    for file in files:
        try:
            size += file.stat().st_size * (UNPACKED if file.suffix == ".gz" else 1)
        except OSError:  # whoever opens it will say so
            continue
    return size // PAIR
