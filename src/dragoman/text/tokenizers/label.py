"""Label tokenizer: a whole line is one entry, the name of a class. An unknown class is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dragoman.errors import DataError
from dragoman.hashing import U64
from dragoman.manifest import Read
from dragoman.spelling import closest, did_you_mean
from dragoman.text.specials import SPECIALS, UNK, textual
from dragoman.text.tokenizer import Ids, Row
from dragoman.text.vocabulary import Vocabulary


class Label:
    kind = "label"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.size = len(vocabulary)

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Label:
        counts = Counter(line for line in lines if line)
        if len(counts) > size - len(SPECIALS):
            raise DataError(
                f"There are {len(counts):,} labels, too many for a vocabulary of {size:,}.",
                expected="one label per line, most of them often",
                hint="Check that the target side holds labels, not texts, or set text.tgt.size.",
            )
        return cls(Vocabulary.most_frequent(counts, size))

    @classmethod
    def load(cls, folder: Path, name: str, read: Read) -> Label:
        return cls(Vocabulary.load(folder / f"{name}.json", read))

    def encode(self, text: str) -> list[int]:
        """Return the id of the label, or none for an empty line; raise DataError for an unknown label."""
        if not text:
            return []
        id = self.vocabulary.id(text)
        if id == UNK:
            known = self.vocabulary.entries[len(SPECIALS) :]
            raise DataError(
                f'The label "{text[:60]}" does not occur in the training data.'
                + did_you_mean(closest(text, known)),
                expected=f"one of its {len(known)} labels: {', '.join(known[:5])}{' …' if known[5:] else ''}",
                hint="Add examples of this label to the training data, or remove these lines.",
            )
        return [id]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(self.encode(text), np.int32) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.vocabulary.text(id) for id in textual(ids, self.size))

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return list(rows)

    def piece(self, id: int) -> str:
        return self.vocabulary.piece(id)

    def save(self, folder: Path, name: str) -> None:
        self.vocabulary.save(folder / f"{name}.json")
