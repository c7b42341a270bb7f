"""The header of a safetensors file: names, shapes and offsets of its tensors, read without torch.

The file has eight bytes with the length of the header, the header in JSON, then the data. It is read only
once, for its hash, its shapes and its tensors, and was verified before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_HEADER_BYTES = 1 << 24  # maximum size of a header
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes per number
MAX_AXES = 8


class TensorEntry(NamedTuple):
    kind: str  # a key of SIZES
    shape: tuple[int, ...]
    begin: int  # bytes, in the file
    end: int

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)


def entries(raw: bytes | bytearray, size: int | None = None) -> dict[str, TensorEntry]:
    """Return the tensor entries; raise ValueError if the file is incomplete or not contiguous.

    If `raw` is only the beginning of the file, `size` is the size of the file.
    """
    size = len(raw) if size is None else size
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or length > min(MAX_HEADER_BYTES, len(raw) - 8):
        raise ValueError("its header is truncated or too long")
    try:
        header = json.loads(raw[8 : 8 + length].decode("utf-8"))
        found = dict(_entries(header, 8 + length))
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its header has another format") from None
    offset = 8 + length
    for entry in sorted(found.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != offset:
            raise ValueError("its tensors are not contiguous")
        offset = entry.end
    if offset != size:
        raise ValueError(f"its tensors end at byte {offset:,} of {size:,}")
    return found


def _entries(header: dict[str, Any], start: int) -> Iterator[tuple[str, TensorEntry]]:
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        kind, shape, (begin, end) = facts["dtype"], facts["shape"], facts["data_offsets"]
        numbers = [*shape, begin, end]
        if kind not in SIZES or len(shape) > MAX_AXES or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError(f"{name[:40]} is not a tensor of numbers")
        entry = TensorEntry(kind, tuple(shape), start + begin, start + end)
        if end - begin != SIZES[kind] * entry.numbers:
            raise ValueError(f"{name[:40]} has {end - begin:,} bytes, which does not match its shape")
        yield name, entry
