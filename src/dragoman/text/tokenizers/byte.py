"""Byte tokenizer: the 256 byte values of UTF-8. There is nothing to learn and no unknown token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.hashing import U64
from dragoman.text.specials import SPECIALS, UNK, UNKNOWN, check, textual
from dragoman.text.tokenizer import Ids, Row, utf8

OFFSET = len(SPECIALS)


class Byte:
    kind = "byte"
    size = OFFSET + 256

    def encode(self, text: str) -> list[int]:
        return [OFFSET + byte for byte in utf8(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        return [np.array(self.encode(text), np.int32) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids; bytes that are not valid UTF-8 become U+FFFD."""
        spelled = [UNKNOWN.encode() if id == UNK else bytes([id - OFFSET]) for id in textual(ids, self.size)]
        return b"".join(spelled).decode("utf-8", errors="replace")

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return list(rows)

    def piece(self, id: int) -> str:
        check(id, self.size)
        return SPECIALS[id] if id < OFFSET else f"<0x{id - OFFSET:02X}>"

    def save(self, folder: Path, name: str) -> None:
        """Do nothing: the vocabulary is fixed."""
