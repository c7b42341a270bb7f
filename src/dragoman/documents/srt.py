"""SRT, subtitles: a number, a time and some lines of text. The format has no place for a mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.documents.slots import Edit, Found, Slot

TIME = re.compile(rb"[0-9:,.]{5,20} *+--> *+[0-9:,.]{5,20}")


def find(document: bytes) -> Found:
    slots, place, lines = [], 0, document.split(b"\n")
    text: list[tuple[int, bytes]] | None = None  # of the cue, with the byte where each line begins
    for number, raw in enumerate([*lines, b""], start=1):
        if TIME.match(raw.strip()):
            text = []
        elif raw.strip() and text is not None:
            text.append((place, raw))
        elif text:
            slots.append(slot_of(text, number - len(text)))
            text = None
        place += len(raw) + 1
    return Found(slots, 0)


def slot_of(lines: Sequence[tuple[int, bytes]], number: int) -> Slot:
    """Lines are one sentence, unless each is what another speaker says."""
    texts = [raw.decode().strip() for _, raw in lines]
    are_spoken = len(texts) > 1 and all(text.startswith(("-", "–", "—")) for text in texts)
    ends = [raw[len(raw.rstrip()) :] for _, raw in lines]
    last = lines[-1]

    def edits(outputs: Sequence[str]) -> list[Edit]:
        rows = list(outputs) if are_spoken else balanced(outputs[0], len(texts))
        new = b"\n".join(row.encode() + end for row, end in zip(rows, ends, strict=False))
        if len(rows) < len(ends):  # the end of the last line is that of the cue
            new = new.removesuffix(ends[len(rows) - 1]) + ends[-1]
        return [Edit(lines[0][0], last[0] + len(last[1]), new)]

    return Slot(number, tuple(texts) if are_spoken else (" ".join(texts),), edits)


def balanced(text: str, most: int) -> list[str]:
    """As many lines as there were, at most, and about as long as each other."""
    words, rows = text.split(), list[str]()
    for left in range(most, 0, -1):
        share = len(" ".join(words)) / left
        row = ""
        while words and (not row or left == 1 or len(row) + len(words[0]) / 2 < share):
            row = f"{row} {words.pop(0)}".strip()
        if row:
            rows.append(row)
    return rows
