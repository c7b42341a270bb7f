"""The base class of tokenizers whose entries are listed in one JSON file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from dragoman.hashing import U64
from dragoman.manifest import Read
from dragoman.text.tokenizer import Ids, Row
from dragoman.text.vocabulary import Vocabulary


class VocabularyTokenizer(ABC):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.size = len(vocabulary)

    @classmethod
    def load(cls, folder: Path, name: str, read: Read) -> Self:
        return cls(Vocabulary.load(folder / f"{name}.json", read))

    @abstractmethod
    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(self.encode(text), np.int32) for text in texts]

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return list(rows)

    def piece(self, id: int) -> str:
        return self.vocabulary.piece(id)

    def save(self, folder: Path, name: str) -> None:
        self.vocabulary.save(folder / f"{name}.json")
