"""Tokenizer: the conversion of strings to ids and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DataError
from dragoman.hashing import U64

Ids = NDArray[np.int32]
Row = NDArray[np.integer]  # ids as a store holds them


@runtime_checkable
class Tokenizer(Protocol):
    @property
    def kind(self) -> str:
        """The name of the segmentation, as in the settings."""

    @property
    def size(self) -> int:
        """Number of entries of the vocabulary, including specials."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a line, without <s> and </s>."""

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each line as arrays, since one object per token is too slow for a corpus."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids, skipping <pad>, <s> and </s>."""

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        """Return other ids for the same lines (sub-word regularisation), or the same if the kind has none.

        Rows are as `encode` returns them. Each is drawn from its own key, whatever the others are.
        """

    def piece(self, id: int) -> str:
        """Return one entry for display."""

    def save(self, folder: Path, name: str) -> None: ...


def unique_token_names(tokenizer: Tokenizer) -> list[str]:
    """Return a unique name for each id: ids are looked up by name, and a word may equal a special."""
    found: dict[str, int] = {}
    for id in range(tokenizer.size):
        name = tokenizer.piece(id)
        found[name if name not in found else f"{name}#{id}"] = id
    return list(found)


def utf8(text: str) -> bytes:
    """Return the text in UTF-8, or raise DataError for a lone surrogate, which has no encoding."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise DataError(
            f"The text contains half a character: the lone surrogate U+{code:04X}.",
            where=f"character {error.start + 1} of the line",
            expected="text that can be encoded as UTF-8",
            hint="Remove that character; it often comes from a truncated JSON escape.",
        ) from None
