"""The file of a SentencePiece model, as far as it has to be taken apart: Protocol Buffers, field by field.

Field 1 of the file is a piece, and stands once for each; its place is its id. SentencePiece can read such a
file but not leave pieces out of it, and the package that could is large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

PIECE = 1  # number of the field
LONGEST_VARINT = 10  # bytes


class Field(NamedTuple):
    number: int
    raw: bytes  # with its key, as it stands in the file


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in their order; ValueError where it is none."""
    place = 0
    while place < len(message):
        start = place
        key, place = varint(message, place)
        match key & 7:
            case 0:
                _, place = varint(message, place)
            case 1:
                place += 8
            case 2:
                size, place = varint(message, place)
                place += size
            case 5:
                place += 4
            case form:
                raise ValueError(f"a field of form {form}")
        if place > len(message):
            raise ValueError("the last field is cut off")
        yield Field(key >> 3, message[start:place])


def varint(message: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and the place behind it."""
    value = 0
    for shift, byte in enumerate(message[place : place + LONGEST_VARINT]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, place + shift + 1
    raise ValueError("a number without end")


def with_pieces(model: bytes, ids: Sequence[int]) -> bytes:
    """The same model with these pieces only, in the order of `ids`."""
    found = list(fields(model))
    pieces = [field.raw for field in found if field.number == PIECE]
    rest = [field.raw for field in found if field.number != PIECE]
    return b"".join([*(pieces[id] for id in ids), *rest])
