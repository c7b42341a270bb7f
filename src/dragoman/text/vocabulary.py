"""Vocabulary: a list of entries whose indices are their ids."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.manifest import Read
from dragoman.text.specials import SPECIALS, UNK, UNKNOWN, check


class Vocabulary:
    def __init__(self, entries: Iterable[str]) -> None:
        """Add `entries` after the specials; an entry may have the same text as a special."""
        self.entries = [*SPECIALS, *entries]
        self._ids = {entry: id for id, entry in enumerate(self.entries) if id >= len(SPECIALS)}

    @classmethod
    def most_frequent(cls, counts: dict[str, int], size: int, always: Iterable[str] = ()) -> Vocabulary:
        """Return a vocabulary of at most `size` entries: `always`, then by count, then alphabetically."""
        first = list(always)
        ranked = sorted(counts.keys() - set(first), key=lambda entry: (-counts[entry], entry))
        return cls([*first, *ranked][: size - len(SPECIALS)])

    @classmethod
    def load(cls, file: Path, read: Read) -> Vocabulary:
        try:
            entries = json.loads(read(file).decode("utf-8"))
        except (OSError, ValueError, RecursionError):
            raise _damaged(file, "The vocabulary cannot be read.") from None
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise _damaged(file, "The vocabulary is not a list of strings.")
        if tuple(entries[: len(SPECIALS)]) != SPECIALS:
            raise _damaged(file, "The vocabulary does not begin with the special entries.")
        if any("\ud800" <= character <= "\udfff" for character in "".join(entries)):
            raise _damaged(file, "The vocabulary contains half a character (a lone surrogate).")
        learned = entries[len(SPECIALS) :]
        if len(set(learned)) < len(learned):
            raise _damaged(file, "The vocabulary has a duplicate entry.")
        return cls(learned)

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(self.entries, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self.entries)

    def id(self, entry: str) -> int:
        return self._ids.get(entry, UNK)

    def piece(self, id: int) -> str:
        check(id, len(self.entries))
        return self.entries[id]

    def text(self, id: int) -> str:
        return UNKNOWN if id == UNK else self.entries[id]


def _damaged(file: Path, what: str) -> ModelError:
    return ModelError(
        what,
        where=str(file),
        expected="a JSON list of strings that begins with " + ", ".join(SPECIALS),
        hint="Copy the complete model folder again.",
    )
