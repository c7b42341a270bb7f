"""A document as bytes with slots for translations. All other bytes are unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.lines import LIMIT, overlong

Translate = Callable[[Sequence[str]], Sequence[str]]
# All except the tab. Line breaks would end a cue, gettext rejects EOT, and a byte model may output any.
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")


class Edit(NamedTuple):
    """A replacement of bytes of the document; an insertion if start == end."""

    start: int
    end: int
    new: bytes


class Slot(NamedTuple):
    """An untranslated unit: its source texts, and a function from their translations to edits."""

    line: int
    sources: tuple[str, ...]
    edits: Callable[[Sequence[str]], list[Edit]]


class Filled(NamedTuple):
    document: bytes
    units: int  # translated now
    before: int  # already translated
    empty: tuple[int, ...]  # lines of units with empty output


class Found(NamedTuple):
    slots: list[Slot]
    before: int


def fill(document: bytes, found: Found, translate: Translate) -> Filled:
    """Translate all slots in one call. A unit with an empty part in its output is left unchanged."""
    sources = [source for slot in found.slots for source in slot.sources]
    outputs = iter(translate(sources) if sources else ())
    edits: list[Edit] = []
    empty: list[int] = []
    for slot in found.slots:
        texts = [CONTROLS.sub(" ", next(outputs)) for _ in slot.sources]
        if all(text.strip() for text in texts):
            edits += slot.edits(texts)
        else:
            empty.append(slot.line)
    return Filled(spliced(document, edits), len(found.slots) - len(empty), found.before, tuple(empty))


def spliced(document: bytes, edits: Sequence[Edit]) -> bytes:
    parts, done = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        assert edit.start >= done
        parts += [document[done : edit.start], edit.new]
        done = edit.end
    return b"".join([*parts, document[done:]])


def lines_of(document: bytes, file: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, offset and bytes of each line without its "\\n". Raise if a line is too long."""
    offset = number = 0
    while offset <= len(document):
        number += 1
        end = document.find(b"\n", offset)
        end = len(document) if end < 0 else end
        if end - offset > LIMIT:
            raise overlong(file, number).error
        yield number, offset, document[offset:end]
        offset = end + 1


class Lines:
    """A text of several lines. Each line is translated separately, and whitespace is preserved."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str] = []
        for n, line in enumerate(text.split("\n")):
            inner = line.strip()
            before, _, after = line.partition(inner) if inner else (line, "", "")
            self._pieces += [("\n" if n else "") + before, inner, after]
        self._indices = [n for n, piece in enumerate(self._pieces) if piece.strip()]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self._pieces[n] for n in self._indices)

    def filled(self, outputs: Iterator[str]) -> str:
        pieces = list(self._pieces)
        for n in self._indices:
            pieces[n] = next(outputs).strip()
        return "".join(pieces)
