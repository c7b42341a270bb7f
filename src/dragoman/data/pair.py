"""One training example as text."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    src: str
    tgt: str
    line: int  # 1-based, in the file it came from
