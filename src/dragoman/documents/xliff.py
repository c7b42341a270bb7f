"""XLIFF 1.2 and 2 documents: units without a <target>. New ones are marked as machine translation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.markup import End, Start, parse
from dragoman.data.readers.xliff import ASIDE, CODES, UNFINISHED, UNITS, languages_of, turned
from dragoman.documents.slots import Edit, Filling, Found, Slot
from dragoman.documents.xml import PRESERVE, Segment, content_of, end_of_tag, indent, is_preserved
from dragoman.errors import DataError
from dragoman.text.languages import Languages

MARK_1 = ' state="needs-review-translation" state-qualifier="mt-suggestion"'
MARK_2 = ' state="translated" subState="dragoman:mt"'
STATES = re.compile(rb"""(?<!\s)\s++(?:state|subState)\s*+=\s*+(?:"[^"]*+"|'[^']*+')""")


class Element(NamedTuple):
    """Byte offsets of an element and of its content."""

    start: int
    inner: slice
    end: int


class Unit:
    """A <trans-unit> or <segment>: its <source>, <seg-source> and <target>."""

    def __init__(self, start: Start) -> None:
        self.start, self.state = start, start.attributes.get("state", "")
        self.is_preserved = False  # the line breaks of the source
        self.space = ""  # the attribute that says so, if no outer element has it
        self.elements: dict[str, Element] = {}
        self.open: dict[str, int] = {}

    def close(self, document: bytes, name: str, byte: int) -> None:
        start = self.open.pop(name)
        inner = end_of_tag(document, start)
        is_empty = byte == inner and document[inner - 2 : inner] == b"/>"
        end = inner if is_empty else end_of_tag(document, byte)
        self.elements[name] = Element(start, slice(inner, byte), end)


def find(document: bytes, file: Path, languages: Languages | None = None) -> Found:
    slots, before, unit, aside = list[Slot](), 0, None, 0
    translate, preserve = [True], [False]  # for each open element
    for event in parse(BytesIO(document), file):
        match event:
            case Start(name, attributes):
                wish = {"no": False, "yes": True}
                translate.append(wish.get(attributes.get("translate", ""), translate[-1]))
                preserve.append(is_preserved(attributes, preserve[-1]))
                if aside or name in ASIDE:
                    aside += 1
                elif name in ("xliff", "file") and (theirs := languages_of(name, attributes)):
                    if turned(file, theirs, languages):
                        raise other_way(file, theirs)
                elif name in UNITS:
                    unit = Unit(event)
                elif unit and name in ("source", "seg-source", "target"):
                    unit.open[name] = event.byte
                    if name == "source":
                        unit.is_preserved = preserve[-1]
                        unit.space = PRESERVE if preserve[-1] and not preserve[-2] else ""
                    if name == "target":
                        unit.state = attributes.get("state", unit.state)
            case End(name, byte):
                is_wanted = translate.pop()
                preserve.pop()
                if aside:
                    aside -= 1
                elif unit and name in unit.open:
                    unit.close(document, name, byte)
                elif unit and name in UNITS:
                    is_wanted = is_wanted and "source" in unit.elements
                    slot = slot_of(document, unit, name, file) if is_wanted else None
                    slots += [slot] if slot else []
                    before += slot is None
                    unit = None
    return Found(slots, before)


def slot_of(document: bytes, unit: Unit, name: str, file: Path) -> Slot | None:
    """Return the slot of a unit, or None if it has a translation or no text."""
    source, target = unit.elements["source"], unit.elements.get("target")
    has_target = bool(target and document[target.inner].strip())
    if has_target and unit.state not in UNFINISHED:
        return None
    content = content_of(document, source.inner, file, unit.start.line)
    segment = Segment(content, CODES, is_preserved=unit.is_preserved)
    if not segment.has_text:
        return None
    is_2 = name == "segment"
    after = unit.elements.get("seg-source", source).end

    def filled(outputs: Sequence[str]) -> Filling:
        mark, written = "" if is_2 else MARK_1, segment.written(outputs)
        new = f"<target{mark}{unit.space}>{written.xml}</target>".encode()
        marked = [remarked(document, unit.start.byte)] if is_2 else []
        place = Edit(after, after, indent(document, source.start) + new)
        if target:
            place = Edit(target.start, target.end, new)
        return Filling([*marked, place], written.detached)

    return Slot(unit.start.line, segment.sources, filled)


def remarked(document: bytes, start: int) -> Edit:
    """Return the edit that marks a <segment> as machine translation (XLIFF 2)."""
    tag = document[start : end_of_tag(document, start)]
    name = re.match(rb"<[^\s/>]+", tag)
    assert name
    kept = STATES.sub(b"", tag[name.end() :])
    return Edit(start, start + len(tag), name[0] + MARK_2.encode() + kept)


def other_way(file: Path, theirs: Languages) -> DataError:
    src, tgt = theirs
    return DataError(
        f"This document is translated from {src} to {tgt}; its sources are in {src}.",
        where=str(file),
        expected=f"a model that reads {src}",
        hint=f"Omit --languages, or pass --languages {src} {tgt}",
    )
