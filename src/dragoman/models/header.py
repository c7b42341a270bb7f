"""The header of a safetensors file: names, shapes and places of its tensors, read without torch.

Eight bytes say how long the header is, then comes JSON, then the numbers. The file was read and verified
before: one reading of it serves for its hash, its shapes and its tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_HEADER_BYTES = 1 << 24  # bytes of a header
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes of a number
DEEPEST = 8  # axes


class TensorEntry(NamedTuple):
    kind: str  # a key of SIZES
    shape: tuple[int, ...]
    begin: int  # bytes, in the file
    end: int

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)


def entries(raw: bytes | bytearray, size: int | None = None) -> dict[str, TensorEntry]:
    """ValueError where the file is not a whole one of tensors of numbers, one behind the other.

    Where only its beginning was read, `size` is that of the file.
    """
    size = len(raw) if size is None else size
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or length > min(MAX_HEADER_BYTES, len(raw) - 8):
        raise ValueError("its header is cut off or too long")
    try:
        header = json.loads(raw[8 : 8 + length].decode("utf-8"))
        found = dict(_entries(header, 8 + length))
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its header is of another form") from None
    place = 8 + length
    for entry in sorted(found.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != place:
            raise ValueError("its tensors do not stand one behind the other")
        place = entry.end
    if place != size:
        raise ValueError(f"its tensors end at byte {place:,} of {size:,}")
    return found


def _entries(header: dict[str, Any], start: int) -> Iterator[tuple[str, TensorEntry]]:
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        kind, shape, (begin, end) = facts["dtype"], facts["shape"], facts["data_offsets"]
        numbers = [*shape, begin, end]
        if kind not in SIZES or len(shape) > DEEPEST or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError(f"{name[:40]} is no tensor of numbers")
        entry = TensorEntry(kind, tuple(shape), start + begin, start + end)
        if end - begin != SIZES[kind] * entry.numbers:
            raise ValueError(f"{name[:40]} has {end - begin:,} bytes, which do not make its shape")
        yield name, entry
