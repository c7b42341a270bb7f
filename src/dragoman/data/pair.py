"""One training example as text."""

from __future__ import annotations

from typing import NamedTuple

SHOWN = 60  # characters of a text in a message
KEPT = 300  # and in a report


class Pair(NamedTuple):
    src: str
    tgt: str
    line: int  # 1-based, in the file it came from


def excerpt(pair: Pair) -> Pair:
    """A pair to remember: a line may have a million characters."""
    return Pair(pair.src[:KEPT], pair.tgt[:KEPT], pair.line)


def quoted(pair: Pair) -> str:
    """Both sides for a message, cut, on one line, without controls."""
    return f"{quote(pair.src)} ↔ {quote(pair.tgt)}"


def quote(text: str) -> str:
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return '"' + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown) + '"'
