"""UTF-8 encoding that reports a lone surrogate as an error in the data."""

from __future__ import annotations

from dragoman.errors import DataError


def utf8(text: str) -> bytes:
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
