"""A document as bytes with slots for translations. All other bytes are unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.lines import LIMIT, overlong

Translate = Callable[[Sequence[str]], Sequence[str]]
# All except the tab. Line breaks would end a cue, gettext rejects EOT, and a byte model may output any.
LINE_BREAKS = re.compile("([\n\x1d])")  # \x1d stands for a reference to a line break
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")


class Edit(NamedTuple):
    """A replacement of bytes of the document; an insertion if start == end."""

    start: int
    end: int
    new: bytes


class Filling(NamedTuple):
    edits: list[Edit]
    detached: int = 0  # pairs of tags that are left out


class Slot(NamedTuple):
    """An untranslated unit: its source texts, and a function of their translations."""

    line: int
    sources: tuple[str, ...]
    filled: Callable[[Sequence[str]], Filling]


class Filled(NamedTuple):
    document: bytes
    units: int  # translated now
    before: int  # already translated
    empty: tuple[int, ...]  # lines of units with empty output
    detached: tuple[int, ...]  # lines of units without some of their tags


class Found(NamedTuple):
    slots: list[Slot]
    before: int


def fill(document: bytes, found: Found, translate: Translate) -> Filled:
    """Translate all slots in one call. A unit with an empty part in its output is left unchanged."""
    sources = [source for slot in found.slots for source in slot.sources]
    outputs = iter(translate(sources) if sources else ())
    edits: list[Edit] = []
    empty: list[int] = []
    detached: list[int] = []
    for slot in found.slots:
        texts = [CONTROLS.sub(" ", next(outputs)) for _ in slot.sources]
        if all(text.strip() for text in texts):
            filling = slot.filled(texts)
            edits += filling.edits
            detached += [slot.line] if filling.detached else []
        else:
            empty.append(slot.line)
    units = len(found.slots) - len(empty)
    return Filled(spliced(document, edits), units, found.before, tuple(empty), tuple(detached))


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
    """A text of several lines. Each line with text is translated separately, and whitespace is preserved."""

    def __init__(self, text: str, has_text: Callable[[str], object] = str.strip) -> None:
        self._pieces: list[str] = []
        self._indices: list[int] = []
        for piece in LINE_BREAKS.split(text):
            inner = piece.strip()
            before, _, after = piece.partition(inner) if inner else (piece, "", "")
            if has_text(inner):
                self._indices.append(len(self._pieces) + 1)
            self._pieces += [before, inner, after]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self._pieces[n] for n in self._indices)

    def filled(self, outputs: Iterator[str]) -> str:
        pieces = list(self._pieces)
        for n in self._indices:
            pieces[n] = next(outputs).strip()
        return "".join(pieces)
