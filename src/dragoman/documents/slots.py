"""A document as bytes and the slots in them that a translation goes into. All else stays byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.lines import LIMIT, overlong

Translate = Callable[[Sequence[str]], Sequence[str]]
# All but the tab. Line breaks would end a cue, and gettext takes no EOT; a model of bytes may write any.
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")


class Edit(NamedTuple):
    """These bytes of the document become others; an insertion is where start == end."""

    start: int
    end: int
    new: bytes


class Slot(NamedTuple):
    """A unit without a translation: what is to be translated, and what that does to the document."""

    line: int
    sources: tuple[str, ...]
    edits: Callable[[Sequence[str]], list[Edit]]


class Filled(NamedTuple):
    document: bytes
    units: int  # that were translated
    before: int  # that had a translation
    empty: tuple[int, ...]  # lines of units for which nothing came out


class Found(NamedTuple):
    slots: list[Slot]
    before: int


def fill(document: bytes, found: Found, translate: Translate) -> Filled:
    """Translate all slots at once. A unit of which a part stays empty is left as it was."""
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
    """Number, place and bytes of each line, without its "\\n"; one at a time, and none that is too long."""
    place = number = 0
    while place <= len(document):
        number += 1
        end = document.find(b"\n", place)
        end = len(document) if end < 0 else end
        if end - place > LIMIT:
            raise overlong(file, number).error
        yield number, place, document[place:end]
        place = end + 1


class Lines:
    """A text of several lines: each is translated by itself, and white space stays where it is."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str] = []
        for n, line in enumerate(text.split("\n")):
            inner = line.strip()
            before, _, after = line.partition(inner) if inner else (line, "", "")
            self._pieces += [("\n" if n else "") + before, inner, after]
        self._places = [n for n, piece in enumerate(self._pieces) if piece.strip()]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self._pieces[n] for n in self._places)

    def filled(self, outputs: Iterator[str]) -> str:
        pieces = list(self._pieces)
        for n in self._places:
            pieces[n] = next(outputs).strip()
        return "".join(pieces)
