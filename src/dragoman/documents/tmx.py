"""TMX translation memories: <tu> has a <tuv xml:lang="…"><seg>…</seg></tuv> per language.

Pairs for training, and units in the source language without the target language to be filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import quoteattr

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import OnBad, bad_line
from dragoman.data.readers.lines import LIMIT, too_long
from dragoman.documents.markup import Event, Start, Text, parse, read_xml
from dragoman.documents.slots import Edit, Filling, Slot, Unit
from dragoman.documents.xml import (
    PRESERVE,
    Inline,
    Segment,
    content_of,
    element_at,
    end_of_tag,
    indent,
    is_preserved,
    prefix_of,
    start_tag,
)
from dragoman.errors import DataError, UsageError
from dragoman.text.languages import Languages, code, index_of, language_error, matches_language

MOST_LANGUAGES = 1000
LONGEST_UNIT = 8 * LIMIT  # characters, in all its languages
CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})  # contain native codes of a tool, not text
MARK = ' creationid="MT!Dragoman"'
CREATOR = re.compile(rb"""(?<!\s)\s++creationid\s*+=\s*+(?:"[^"]*+"|'[^']*+')""")
SPACE = re.compile(rb"""(?<!\s)\s++xml:space\s*+=\s*+(?:"[^"]*+"|'[^']*+')""")


class Variant:
    """A <tuv>: the text of a unit in one language."""

    __slots__ = ("attribute", "byte", "is_machine", "is_preserved", "language", "seg", "space", "text")

    def __init__(self, start: Start) -> None:
        self.byte = start.byte
        self.attribute = "xml:lang" if "xml:lang" in start.attributes else "lang"
        self.language = start.attributes.get(self.attribute, "")
        self.is_machine = start.attributes.get("creationid", "").startswith("MT!")
        self.text: str | None = None  # of the <seg>
        self.seg = (0, 0)  # byte offsets of its tags
        self.is_preserved = False  # its line breaks
        self.space = ""  # the attribute that says so, if no outer element has it


class Tu:
    """A <tu>, its line, and the byte offset of its end."""

    def __init__(self, line: int, srclang: str) -> None:
        self.line, self.srclang = line, srclang  # of the header
        self.end = self.size = 0
        self.variants: list[Variant] = []


def tus(events: Iterable[Event], file: Path) -> Iterator[Tu]:
    seg, tu, srclang, depth = Inline(CODES, file), Tu(0, ""), "", 0
    preserve = [False]  # for each open element
    for event in events:  # no `match`: it takes 50% longer, and memories have millions of units
        if isinstance(event, Text):
            seg.take(event)
        elif isinstance(event, Start):
            name, attributes = event.name, event.attributes
            outer = preserve[-1]
            preserve.append(is_preserved(attributes, outer) if "xml:space" in attributes else outer)
            if depth:  # a <seg> in a <seg> is markup
                depth += 1
                seg.take(event)
            elif name == "seg" and tu.variants:
                depth, variant = 1, tu.variants[-1]
                seg.open(event)
                variant.seg, variant.is_preserved = (event.byte, 0), preserve[-1]
                variant.space = PRESERVE if preserve[-1] and not preserve[-3] else ""
            elif name == "tuv":
                tu.variants.append(Variant(event))
            elif name == "tu":
                tu = Tu(event.line, srclang)
            elif name == "header":
                srclang = attributes.get("srclang", "")
        else:
            preserve.pop()
            if depth > 1:
                seg.take(event)
            elif depth:
                variant = tu.variants[-1]
                variant.text, variant.seg = seg.close(), (variant.seg[0], event.byte)
                tu.size += len(variant.text)
                if tu.size > LONGEST_UNIT:
                    raise too_much(file, tu.line)
            elif event.name == "tu":
                tu.end = event.byte
                yield tu
            depth = max(0, depth - 1)


# ---- for training


def read(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs. Without `languages`, the source language is that of the header, or the first one, and the
    target language is the other one."""
    seen: dict[str, str] = {}  # the languages of the file, in order of occurrence
    for tu in tus(read_xml(file), file):
        unit: dict[str, str] = {}
        for variant in tu.variants:
            if variant.text is not None:
                unit.setdefault(variant.language, variant.text)
        seen.update(unit)
        if len(seen) > MOST_LANGUAGES:
            raise too_much(file, tu.line)
        languages = languages or chosen(file, tuple(unit), tu.srclang)
        names, values = tuple(unit), list(unit.values())
        indices = [index_of(names, name) for name in languages or ()]
        texts = [values[index] for index in indices if index is not None]
        if max(map(len, texts or values), default=0) > LIMIT:
            on_bad(too_long(file, tu.line))
        elif len(texts) < 2 or not all(texts):
            on_bad(bad_line("untranslated", file, tu.line, "This unit has only one language.", hint=""))
        elif any(variant.is_machine and variant.text in texts for variant in tu.variants):
            what = "This unit is unreviewed machine translation."
            on_bad(bad_line("unfinished", file, tu.line, what, hint=""))
        else:
            yield Pair(texts[0], texts[1], tu.line)
    if languages and None in [index_of(tuple(seen), name) for name in languages]:
        raise language_error(file, list(seen), languages)


def languages_in(file: Path) -> Languages | None:
    """Return the source and target language of a memory that has two, if its beginning shows them."""
    for tu in tus(read_xml(file), file):
        if tu.end > LIMIT:
            return None
        if found := chosen(file, tuple({variant.language: 0 for variant in tu.variants}), tu.srclang):
            return found
    return None


def chosen(file: Path, names: Sequence[str], srclang: str) -> Languages | None:
    """Return the languages of the first unit with two languages, None for other units."""
    if len(names) < 2:
        return None
    index = index_of(tuple(names), srclang) if code(srclang) != "*all*" else 0
    src = names[index or 0]
    others = [name for name in names if not matches_language(name, src)]
    if len(others) != 1:
        raise language_error(file, names, None)
    return src, others[0]


def too_much(file: Path, line: int) -> DataError:
    return DataError(
        "This memory has too many languages, or a unit has too much text.",
        where=f"{file}:{line}",
        expected=f"at most {MOST_LANGUAGES:,} languages, and {LONGEST_UNIT:,} characters in a unit",
        hint="Export it again from the tool that created it.",
    )


# ---- to be filled in


def units(document: bytes, file: Path, languages: Languages | None = None) -> Iterator[Unit]:
    if languages is None:
        raise UsageError(
            "A TMX file has several languages, and no source and target are given.",
            where=str(file),
            expected="--languages SOURCE TARGET",
            hint=f"dragoman run MODEL {file} --languages en de -o OUT.tmx",
        )
    for tu in tus(parse(BytesIO(document), file), file):
        yield unit_of(document, tu, languages, file)


def unit_of(document: bytes, tu: Tu, languages: Languages, file: Path) -> Unit:
    variants = [variant for variant in tu.variants if variant.text is not None]
    names = tuple(variant.language for variant in variants)
    src, tgt = (index_of(names, language) for language in languages)
    if src is None:
        return "other"
    source, target = variants[src], variants[tgt] if tgt not in (None, src) else None
    if target:
        element = element_at(document, *target.seg)
        if document[element.inner].strip():
            return "translated"
    content = content_of(document, element_at(document, *source.seg).inner, file, tu.line)
    segment = Segment(content, CODES, is_preserved=source.is_preserved)
    if not segment.has_text:
        return "other"
    prefix = prefix_of(document, source.byte)
    # After the last <tuv>: before the </tu> and its indentation.
    place = tu.end - len(indent(document, tu.end))

    def filled(outputs: Sequence[str], flags: Sequence[str]) -> Filling:
        written = segment.written(outputs)
        note = f'<{prefix}prop type="x-flags">{" ".join(flags)}</{prefix}prop>' if flags else ""
        if target:
            tuv = document[target.byte : end_of_tag(document, target.byte)]
            tag = document[element.start : element.inner.start]
            seg = note.encode() + start_tag(tag, SPACE, source.space)
            new = seg + f"{written.xml}</{prefix}seg>".encode()
            marked = Edit(target.byte, target.byte + len(tuv), start_tag(tuv, CREATOR, MARK))
            return Filling([marked, Edit(element.start, element.end, new)], written.detached)
        language = f"{source.attribute}={quoteattr(languages[1])}"
        seg_ = f"{note}<{prefix}seg{source.space}>{written.xml}</{prefix}seg>"
        tuv_ = f"<{prefix}tuv {language}{MARK}>{seg_}</{prefix}tuv>"
        return Filling([Edit(place, place, indent(document, source.byte) + tuv_.encode())], written.detached)

    return Slot(tu.line, segment.sources, filled)
