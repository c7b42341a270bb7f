"""Normalised text for comparison, and 64-bit hashes that are the same in every process."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b


class _KeepTable(dict[int, str | None]):
    """A table for str.translate that looks up the Unicode category of each character once."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        self[code] = None if unicodedata.category(char)[0] in "PZ" or char.isspace() else char
        return self[code]


_KEEP_TABLE = _KeepTable()


def normalise(text: str) -> str:
    """Return the text casefolded, in NFC, without spaces and punctuation unless it has nothing else."""
    return unicodedata.normalize("NFC", text.casefold()).translate(_KEEP_TABLE) or text.strip()


def hash64(text: str, key: bytes = b"") -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=key).digest(), "little")
