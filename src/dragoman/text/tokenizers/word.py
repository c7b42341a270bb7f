"""Word tokenizer: words are separated by single spaces."""

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


class Word:
    kind = "word"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.size = len(vocabulary)

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Word:
        counts = Counter(word for line in lines for word in line.split(" "))
        # The empty word is between two consecutive spaces; with it, joining is exact.
        return cls(Vocabulary.most_frequent(counts, size, always=[""]))

    @classmethod
    def load(cls, folder: Path, name: str, read: Read) -> Word:
        return cls(Vocabulary.load(folder / f"{name}.json", read))

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.id(word) for word in text.split(" ")] if text else []

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
