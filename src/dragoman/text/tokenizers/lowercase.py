"""Lowercasing before any tokenizer. Case is lost, so it is not reversible."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from dragoman.text.tokenizer import Ids, Tokenizer


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

    def resegment(self, ids: Sequence[int], rng: random.Random) -> list[int]:
        return self.inner.resegment(ids, rng)

    def piece(self, id: int) -> str:
        return self.inner.piece(id)

    def save(self, folder: Path, name: str) -> None:
        self.inner.save(folder, name)
