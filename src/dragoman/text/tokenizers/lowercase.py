"""Lowercasing before any tokenizer. Case is lost, so it is not reversible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.hashing import U64
from dragoman.text.tokenizer import Ids, Row, Tokenizer


class Lowercase:
    def __init__(self, inner: Tokenizer) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.size = inner.size

    def encode(self, text: str) -> list[int]:
        return self.inner.encode(text.lower())

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        return self.inner.encode_batch([text.lower() for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        return self.inner.decode(ids)

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return self.inner.resegment(rows, keys)

    def piece(self, id: int) -> str:
        return self.inner.piece(id)

    def save(self, folder: Path, name: str) -> None:
        self.inner.save(folder, name)
