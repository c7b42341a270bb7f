"""A training example as text, and blocks of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MESSAGE_CHARACTERS = 60  # maximum length of a text in a message
REPORT_CHARACTERS = 300  # and in a report
# A block is large enough for array operations and has at most a few megabytes.
BLOCK_PAIRS = 8192
BLOCK_CHARACTERS = 8_000_000  # a single line may have a million


class Pair(NamedTuple):
    src: str
    tgt: str
    line: int  # 1-based, in the file it came from


def excerpt(pair: Pair) -> Pair:
    """Return the pair with truncated texts, since a line may have a million characters."""
    return Pair(pair.src[:REPORT_CHARACTERS], pair.tgt[:REPORT_CHARACTERS], pair.line)


def quoted(pair: Pair) -> str:
    """Return both sides for a message: truncated, on one line, without control characters."""
    return f"{quote(pair.src)} ↔ {quote(pair.tgt)}"


def quote(text: str) -> str:
    shown = text if len(text) <= MESSAGE_CHARACTERS else text[: MESSAGE_CHARACTERS - 1] + "…"
    return '"' + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown) + '"'


def blocks(pairs: Iterable[Pair], most: int = BLOCK_PAIRS) -> Iterator[list[Pair]]:
    """Yield the pairs in blocks of at most `most` pairs."""
    block: list[Pair] = []
    size = 0
    for pair in pairs:
        block.append(pair)
        size += len(pair.src) + len(pair.tgt)
        if len(block) == most or size > BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
