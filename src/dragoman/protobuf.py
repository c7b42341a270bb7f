"""A minimal Protocol Buffers parser, for inspecting SentencePiece models and ONNX graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LONGEST_VARINT = 10  # bytes


class Field(NamedTuple):
    number: int
    value: int | memoryview  # a number, or the bytes of a text, a message or packed numbers
    raw: memoryview  # the encoded field, including its key

    @property
    def inner(self) -> memoryview:
        """The bytes of the field; raises ValueError if it is a number."""
        if isinstance(self.value, int):
            raise ValueError(f"field {self.number} is a number")
        return self.value

    @property
    def text(self) -> str:
        return str(self.inner, "utf-8")


def fields(message: bytes | memoryview) -> Iterator[Field]:
    """Yield the fields of a message in order, without copying; raise ValueError if it is invalid."""
    whole = memoryview(message)
    place = 0
    while place < len(whole):
        start = place
        key, place = varint(whole, place)
        value: int | memoryview
        match key & 7:
            case 0:
                value, place = varint(whole, place)
            case 1 | 5 as form:
                size = 8 if form == 1 else 4
                value, place = whole[place : place + size], place + size
            case 2:
                size, place = varint(whole, place)
                value, place = whole[place : place + size], place + size
            case form:
                raise ValueError(f"a field of wire type {form}")
        if place > len(whole):
            raise ValueError("the last field is truncated")
        yield Field(key >> 3, value, whole[start:place])


def varint(message: memoryview, place: int) -> tuple[int, int]:
    """Decode a varint; return its value and the position after it."""
    value = 0
    for shift, byte in enumerate(message[place : place + LONGEST_VARINT]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, place + shift + 1
    raise ValueError("a varint without an end")


def varints(packed: memoryview) -> list[int]:
    """Decode packed varints."""
    found, place = [], 0
    while place < len(packed):
        value, place = varint(packed, place)
        found.append(value)
    return found
