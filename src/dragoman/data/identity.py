"""The identity of the data of a run, which resumes only with the same data; the error names what differs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dragoman.data.pair import Pair
from dragoman.data.store.layout import digest
from dragoman.errors import DataError

SAME = "the data that the run started with, so that it resumes as if it had never stopped"
HINT = (
    "Restore it and run the same command; or train on the new data in another folder: -o OTHER; "
    "or restart this run with --force."
)


@dataclass(frozen=True)
class SourceFile:
    """A corpus: the names and hashes of its files, and its weight in the mixture."""

    files: list[str]
    sha256: list[str]
    weight: float
    languages: list[str] | None = None

    @property
    def content(self) -> list[str]:
        """Return everything that its pairs depend on."""
        return [*self.sha256, *(self.languages or ())]


@dataclass(frozen=True)
class Rows:
    """What a corpus is in the token store."""

    read: int  # pairs
    kept: int
    src_tokens: int
    tgt_tokens: int
    frames: str = ""  # a hash, where sources are files: the corpus itself has only their names


@dataclass(frozen=True)
class Identity:
    given: list[SourceFile]
    rows: list[Rows]
    valid_pairs: int
    valid: str  # a hash of the validation pairs
    vocabulary: dict[str, str]  # the SHA-256 of each of its files

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(facts: Mapping[str, Any]) -> Identity:
    given = [SourceFile(**corpus) for corpus in facts["given"]]
    return Identity(**{**facts, "given": given, "rows": [Rows(**rows) for rows in facts["rows"]]})


def hash_of(pairs: Sequence[Pair]) -> str:
    return digest([[pair.src, pair.tgt] for pair in pairs])


def refuse_other_sources(
    was: Identity, now: Sequence[SourceFile], count: Callable[[int], int | None]
) -> None:
    """Raise if the files differ. `count` returns the number of pairs of a corpus for the message, or None if
    its files cannot be paired."""
    if len(now) != len(was.given):
        raise other(
            f"The number of corpora in data.train was {len(was.given)} and is now {len(now)}.",
            " ".join(file for corpus in now for file in corpus.files),
        )
    for number, (given, before) in enumerate(zip(now, was.given, strict=True)):
        if given.sha256 != before.sha256:
            raise other_files(given, before, was.rows[number].read, count(number))
        if given.languages != before.languages:
            languages, now_ = (" ".join(x.languages or ["not given"]) for x in (before, given))
            names = " ".join(given.files)
            raise other(f"The languages of {names} were {languages} and are now {now_}.", names)
        if given.weight != before.weight:
            names = " ".join(given.files)
            raise other(f"The weight of {names} was {before.weight:g} and is now {given.weight:g}.", names)


def other_files(given: SourceFile, before: SourceFile, pairs_before: int, pairs: int | None) -> DataError:
    changed = [
        file for file, digest in zip(given.files, given.sha256, strict=True) if digest not in before.sha256
    ] or given.files
    names = " and ".join(os.path.basename(file) for file in changed)
    are = "are not the files" if len(changed) > 1 else "is not the file"
    return other(
        f"{names} {are} this run started with: {difference(pairs_before, pairs)}.", " ".join(given.files)
    )


def difference(before: int, now: int | None) -> str:
    if now is None:
        return f"{before:,} pairs then, and now its lines cannot be paired"
    return f"{before:,} → {now:,} pairs" if before != now else f"{now:,} pairs as before, but different ones"


def refuse_other_valid(was: Identity, valid: Sequence[Pair], files: Sequence[str]) -> None:
    if hash_of(valid) != was.valid:
        numbers = difference(was.valid_pairs, len(valid))
        where = " ".join(files) or "the pairs held out from data.train"
        raise other(f"The validation pairs are not those this run started with: {numbers}.", where)


def refuse_other_vocabulary(was: Identity, vocabulary: Mapping[str, str], folder: str) -> None:
    for name in sorted({*was.vocabulary, *vocabulary}):
        if vocabulary.get(name) != was.vocabulary.get(name):
            raise other(f"The vocabulary is not the one this run started with: {name} differs.", folder)


def refuse_other_rows(was: Identity, now: Identity) -> None:
    for before, rows, corpus in zip(was.rows, now.rows, now.given, strict=True):
        if before.frames and rows.frames != before.frames:
            raise other(
                "The files that the corpus names are not those this run started with: their content differs.",
                " ".join(corpus.files),
            )
        if replace(rows, frames="") != replace(before, frames=""):
            raise other(
                f"The same files gave {before.kept:,} pairs with {before.tgt_tokens:,} target tokens when "
                f"this run started, and give {rows.kept:,} with {rows.tgt_tokens:,} now.",
                " ".join(corpus.files),
            )


def other(what: str, where: str) -> DataError:
    return DataError(what, where=where, expected=SAME, hint=HINT)
