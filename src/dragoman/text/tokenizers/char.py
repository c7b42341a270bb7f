"""Character tokenizer: every code point is an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dragoman.hashing import U64
from dragoman.manifest import Read
from dragoman.text.specials import textual
from dragoman.text.tokenizer import Ids, Row
from dragoman.text.vocabulary import Vocabulary


class Char:
    kind = "char"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.size = len(vocabulary)

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Char:
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(line)
        return cls(Vocabulary.most_frequent(counts, size))

    @classmethod
    def load(cls, folder: Path, name: str, read: Read) -> Char:
        return cls(Vocabulary.load(folder / f"{name}.json", read))

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.id(character) for character in text]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(self.encode(text), np.int32) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.vocabulary.text(id) for id in textual(ids, self.size))

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return list(rows)

    def piece(self, id: int) -> str:
        return self.vocabulary.piece(id)

    def save(self, folder: Path, name: str) -> None:
        self.vocabulary.save(folder / f"{name}.json")
