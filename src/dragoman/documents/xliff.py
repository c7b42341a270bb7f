"""XLIFF 1.2 and 2: <source> and <target> of each <trans-unit> or <segment>.

Pairs for training, and units without text in a <target> to be filled in, marked as machine translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.lines import LIMIT, too_long
from dragoman.documents.markup import Event, Start, Text, parse, read_xml
from dragoman.documents.slots import Edit, Filling, Slot
from dragoman.documents.slots import Unit as Found
from dragoman.documents.xml import (
    PRESERVE,
    TOKEN,
    Inline,
    Segment,
    Written,
    change,
    content_of,
    element_at,
    end_of_tag,
    indent,
    is_preserved,
    name_of,
    prefix_of,
    start_tag,
)
from dragoman.errors import DataError
from dragoman.text.languages import Languages, language_error, matches_language

UNITS = frozenset({"trans-unit", "segment"})
SIDES = frozenset({"source", "seg-source", "target"})
CODES = frozenset({"bpt", "ept", "it", "ph", "sub"})
ASIDE = frozenset({"alt-trans", "matches"})  # translation proposals
UNFINISHED = frozenset({"new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"})
UNREVIEWED = frozenset({"needs-review-translation"})
MACHINE = ("mt-suggestion", "leveraged-mt", "dragoman:mt")  # how a state-qualifier or a subState begins
UNTRANSLATED = frozenset({"new", "needs-translation", "initial"})  # tools give it to copies of the source
MARK_1 = ' state="needs-review-translation" state-qualifier="mt-suggestion"'
SEGMENT = re.compile(r"""\smtype\s*+=\s*+["']seg["']""")
MID = re.compile(r"""\smid\s*+=\s*+["']([^"'<>]*+)""")
VALUE = rb"""\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
STATES = re.compile(rb"(?<!\s)\s++(?:state|state-qualifier|subState)" + VALUE)
APPROVED = re.compile(rb"(?<!\s)\s++approved" + VALUE)
STATES_AND_SPACE = re.compile(rb"(?<!\s)\s++(?:state|state-qualifier|subState|xml:space)" + VALUE)


class Side(NamedTuple):
    """A <source>, <seg-source> or <target>: its text, and the byte offsets of its tags."""

    text: str
    start: int
    end: int


class Unit:
    """A <trans-unit> or <segment>."""

    def __init__(self, start: Start, languages: Languages | None, *, is_wanted: bool) -> None:
        self.name, self.line, self.byte = start.name, start.line, start.byte
        self.state = start.attributes.get("state", "")
        self.qualifier = start.attributes.get("subState", "")
        self.languages, self.is_wanted = languages, is_wanted
        self.is_preserved = False  # the line breaks of the source
        self.space = ""  # the attribute that says so, if no outer element has it
        self.sides: dict[str, Side] = {}


def units_of(events: Iterable[Event], file: Path) -> Iterator[Unit]:
    text, unit, aside, languages = Inline(CODES, file), None, 0, None
    translate, preserve = [True], [False]  # for each open element
    side: Start | None = None  # that is open
    for event in events:  # no `match`: it takes 50% longer, and files have millions of units
        if isinstance(event, Text):
            text.take(event)
        elif isinstance(event, Start):
            name, attributes = event.name, event.attributes
            wish = attributes.get("translate")
            translate.append(translate[-1] if wish not in ("yes", "no") else wish == "yes")
            outer = preserve[-1]
            preserve.append(is_preserved(attributes, outer) if "xml:space" in attributes else outer)
            if aside or name in ASIDE:
                aside += 1
            elif side:
                text.take(code_point(event))
            elif name in UNITS:
                unit = Unit(event, languages, is_wanted=translate[-1])
            elif unit and name in SIDES:
                side = event
                text.open(event)
                if name == "target":
                    unit.state = attributes.get("state", unit.state)
                    unit.qualifier = attributes.get("state-qualifier", unit.qualifier)
                elif name == "source":
                    unit.is_preserved = preserve[-1]
                    unit.space = PRESERVE if preserve[-1] and not preserve[-2] else ""
            elif name in ("xliff", "file"):
                languages = languages_of(name, attributes) or languages
        else:
            translate.pop()
            preserve.pop()
            if aside:
                aside -= 1
            elif side and unit and event.name == side.name:
                unit.sides[side.name] = Side(text.close(), side.byte, event.byte)
                side = None
            elif side:
                text.take(event)
            elif unit and event.name in UNITS:
                yield unit
                unit = None


def languages_of(element: str, attributes: dict[str, str]) -> Languages | None:
    names = ("source-language", "target-language") if element == "file" else ("srcLang", "trgLang")
    if not any(name in attributes for name in names):
        return None
    src, tgt = (attributes.get(name, "") for name in names)
    return src, tgt


def turned(file: Path, theirs: Languages | None, wanted: Languages | None) -> bool:
    """Return whether the file has the reverse direction of `wanted`."""
    if wanted is None or theirs is None:
        return False
    pairs = (theirs, theirs[::-1])
    fits = [
        all(not name or matches_language(name, want) for name, want in zip(pair, wanted, strict=True))
        for pair in pairs
    ]
    if not any(fits):
        raise language_error(file, theirs, wanted)
    return not fits[0]


def code_point(event: Start) -> Event:
    """Convert <cp hex="…"/> of XLIFF 2, a character that XML cannot represent, to text."""
    if event.name != "cp":
        return event
    number = event.attributes.get("hex", "")
    is_hex = 0 < len(number) <= 6 and all(c in "0123456789abcdefABCDEF" for c in number)
    return Text(chr(int(number, 16)) if is_hex and int(number, 16) < 0xD800 else " ")


# ---- for training


def read(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs in the direction of `languages`, which may be the reverse of that of the file."""
    theirs, is_turned = None, False
    for unit in units_of(read_xml(file), file):
        if unit.languages != theirs:
            theirs, is_turned = unit.languages, turned(file, unit.languages, languages)
        src, tgt = (unit.sides[name].text if name in unit.sides else "" for name in ("source", "target"))
        if bad := unfit(file, unit, (src, tgt)):
            on_bad(bad)
        else:
            yield Pair(tgt, src, unit.line) if is_turned else Pair(src, tgt, unit.line)


def unfit(file: Path, unit: Unit, texts: tuple[str, str]) -> BadLine | None:
    if max(map(len, texts)) > LIMIT:
        return too_long(file, unit.line)
    if not all(texts):
        return bad_line("untranslated", file, unit.line, "This unit has no translation.", hint="")
    if unit.state in UNFINISHED | UNREVIEWED:
        return bad_line("unfinished", file, unit.line, f'This unit is "{unit.state}".', hint="")
    if unit.qualifier.startswith(MACHINE):
        return bad_line(
            "unfinished", file, unit.line, "This unit is unreviewed machine translation.", hint=""
        )
    return None


def languages_in(file: Path) -> Languages | None:
    """Return the source and target language, if the beginning of the file names both."""
    beginning = takewhile(lambda event: event.byte <= LIMIT, read_xml(file))
    return next((two for two in languages_named(beginning) if all(two)), None)


def languages_named(events: Iterable[Event]) -> Iterator[Languages]:
    """Yield the languages of each element that names some, "" for one that it does not name."""
    for event in events:
        if isinstance(event, Start) and event.name in ("xliff", "file"):
            found = languages_of(event.name, event.attributes)
            if found:
                yield found


# ---- to be filled in


def units(document: bytes, file: Path, languages: Languages | None = None) -> Iterator[Found]:
    theirs = None
    for unit in units_of(parse(BytesIO(document), file), file):
        if unit.languages and unit.languages != theirs:
            theirs = unit.languages
            if turned(file, theirs, languages):
                raise other_way(file, theirs)
        yield slot_of(document, unit, file) if unit.is_wanted and "source" in unit.sides else "other"


class Mark(NamedTuple):
    """A <mrk mtype="seg">: its tags, and what is between them."""

    start: str
    inner: str
    end: str

    @property
    def mid(self) -> str:
        found = MID.search(self.start)
        return found[1] if found else ""


def segments_of(content: str) -> Iterator[str | Mark]:
    """Yield the segments of a <seg-source> or <target>, and the tokens between them."""
    start, inside, depth = "", list[str](), 0
    for token in TOKEN.findall(content):
        opened = change(token)
        if depth:
            depth += opened
            if depth:
                inside.append(token)
            else:
                yield Mark(start, "".join(inside), token)
        elif name_of(token) == "mrk" and SEGMENT.search(token):
            if opened:
                start, inside, depth = token, [], 1
            else:
                yield Mark(f"{token[:-2].rstrip()}>", "", f"</{token[1:].split(maxsplit=1)[0]}>")
        else:
            yield token


class Segments:
    """A unit that its <seg-source> divides into segments: those without a translation, like one Segment."""

    def __init__(self, source: str, target: str, state: str, *, is_preserved: bool) -> None:
        sources = list(segments_of(source))
        self._parts = list(segments_of(target))
        if not any(isinstance(part, Mark) for part in self._parts):
            self._parts = [part._replace(inner="") if isinstance(part, Mark) else part for part in sources]
        texts = {part.mid: part.inner for part in sources if isinstance(part, Mark)}
        found = {
            n: Segment(texts[part.mid], CODES, is_preserved=is_preserved)
            for n, part in enumerate(self._parts)
            if isinstance(part, Mark)
            and part.mid in texts
            and is_fillable(texts[part.mid], part.inner, state)
        }
        self._segments = {n: segment for n, segment in found.items() if segment.has_text}
        self.has_text = bool(self._segments)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(source for segment in self._segments.values() for source in segment.sources)

    def written(self, outputs: Sequence[str]) -> Written:
        remaining, xml, detached = iter(outputs), list[str](), 0
        for n, part in enumerate(self._parts):
            inner = part.inner if isinstance(part, Mark) else ""
            if segment := self._segments.get(n):
                inner, lost = segment.written([next(remaining) for _ in segment.sources])
                detached += lost
            xml.append(f"{part.start}{inner}{part.end}" if isinstance(part, Mark) else part)
        return Written("".join(xml), detached)


def slot_of(document: bytes, unit: Unit, file: Path) -> Found:
    """Return the slot of a unit, or why it has none."""
    source = element_at(document, *unit.sides["source"][1:])
    target = element_at(document, *unit.sides["target"][1:]) if "target" in unit.sides else None
    own = document[target.inner].decode() if target else ""
    divided = ""
    if "seg-source" in unit.sides:
        divided = content_of(
            document, element_at(document, *unit.sides["seg-source"][1:]).inner, file, unit.line
        )
    mids = [part.mid for part in segments_of(divided) if isinstance(part, Mark)]
    is_divided = bool(mids) and len({*mids}) == len(mids)  # a target says by its mid which segment it is
    segment: Segment | Segments
    if is_divided and (SEGMENT.search(own) or not own.strip()):
        segment = Segments(divided, own, unit.state, is_preserved=unit.is_preserved)
        if not segment.has_text and unit.sides.get("target", Side("", 0, 0)).text:
            return "translated"
    elif target and not is_fillable(document[source.inner].decode(), own, unit.state):
        return "translated"
    else:
        content = content_of(document, source.inner, file, unit.line)
        segment = Segment(content, CODES, is_preserved=unit.is_preserved)
    if not segment.has_text:
        return "other"
    is_2 = unit.name == "segment"
    prefix = prefix_of(document, source.start)
    after = element_at(document, *unit.sides.get("seg-source", unit.sides["source"])[1:]).end

    def filled(outputs: Sequence[str], flags: Sequence[str]) -> Filling:
        written = segment.written(outputs)
        mark = "" if is_2 else MARK_1
        if target:
            begin = document[target.start : target.inner.start]
            begin = start_tag(begin, STATES_AND_SPACE if unit.space else STATES, mark + unit.space)
        else:
            begin = f"<{prefix}target{mark}{unit.space}>".encode()
        new = begin + f"{written.xml}</{prefix}target>".encode()
        note = f'<{prefix}note from="Dragoman">{" ".join(flags)}</{prefix}note>' if flags and not is_2 else ""
        row = indent(document, source.start)
        new += row + note.encode() if note else b""
        edits = [Edit(target.start, target.end, new) if target else Edit(after, after, row + new)]
        tag = document[unit.byte : end_of_tag(document, unit.byte)]
        if is_2:
            mark = f' state="translated" subState="dragoman:{",".join(("mt", *flags))}"'
            edits.append(Edit(unit.byte, unit.byte + len(tag), start_tag(tag, STATES, mark)))
        elif APPROVED.search(tag):  # nobody has approved what is filled in
            edits.append(Edit(unit.byte, unit.byte + len(tag), start_tag(tag, APPROVED, ' approved="no"')))
        return Filling(edits, written.detached)

    return Slot(unit.line, segment.sources, filled)


def is_fillable(source: str, target: str, state: str) -> bool:
    """Return whether nobody wrote this target: it is empty, or a copy of the source with such a state."""
    words = target.split()
    return not words or (state in UNTRANSLATED and words == source.split())


def other_way(file: Path, theirs: Languages) -> DataError:
    src, tgt = theirs
    return DataError(
        f"This document is translated from {src} to {tgt}; its sources are in {src}.",
        where=str(file),
        expected=f"a model that reads {src}",
        hint=f"Omit --languages, or pass --languages {src} {tgt}",
    )
