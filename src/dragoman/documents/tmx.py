"""TMX documents: units in the source language without the target language."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from dragoman.data.readers.markup import End, Start, parse
from dragoman.data.readers.tmx import CODES
from dragoman.documents.slots import Edit, Filling, Found, Slot
from dragoman.documents.xml import PRESERVE, Segment, content_of, end_of_tag, indent, is_preserved
from dragoman.errors import UsageError
from dragoman.text.languages import Languages, index_of

MARK = ' creationid="MT!Dragoman"'


class Variant:
    """A <tuv>: the text of a unit in one language."""

    def __init__(self, start: Start) -> None:
        self.byte = start.byte
        self.attribute = "xml:lang" if "xml:lang" in start.attributes else "lang"
        self.language = start.attributes.get(self.attribute, "")
        self.inner = slice(0, 0)  # content of the <seg>
        self.is_preserved = False  # its line breaks
        self.space = ""  # the attribute that says so, if no outer element has it


class Unit(NamedTuple):
    """A <tu> and the offset of its end."""

    variants: list[Variant]
    line: int
    end: int


def find(document: bytes, file: Path, languages: Languages | None = None) -> Found:
    if languages is None:
        raise UsageError(
            "A TMX file has several languages, and no source and target are given.",
            where=str(file),
            expected="--languages SOURCE TARGET",
            hint=f"dragoman run MODEL {file} --languages en de -o OUT.tmx",
        )
    slots, before, variants, opened, line = list[Slot](), 0, list[Variant](), list[int](), 0
    preserve = [False]  # for each open element
    for event in parse(BytesIO(document), file):
        if isinstance(event, Start):
            preserve.append(is_preserved(event.attributes, preserve[-1]))
        elif isinstance(event, End):
            preserve.pop()
        match event:
            case Start("tu", _, number):
                variants, line = [], number
            case Start("tuv"):
                variants.append(Variant(event))
            case Start("seg", _, _, byte):
                opened.append(end_of_tag(document, byte))
                if variants and len(opened) == 1:
                    variants[-1].is_preserved = preserve[-1]
                    variants[-1].space = PRESERVE if preserve[-1] and not preserve[-3] else ""
            case End("seg", byte):
                begin = opened.pop()
                if variants and not opened:  # a nested <seg> is markup
                    variants[-1].inner = slice(begin, max(begin, byte))
            case End("tu", byte):
                unit = Unit(variants, line, byte)
                slot = slot_of(document, unit, languages, file)
                slots += [slot] if slot else []
                before += slot is None
    return Found(slots, before)


def slot_of(document: bytes, unit: Unit, languages: Languages, file: Path) -> Slot | None:
    names = tuple(variant.language for variant in unit.variants)
    src, tgt = (index_of(names, language) for language in languages)
    if src is None or (tgt is not None and tgt != src):
        return None
    variant = unit.variants[src]
    content = content_of(document, variant.inner, file, unit.line)
    segment = Segment(content, CODES, is_preserved=variant.is_preserved)
    if not segment.has_text:
        return None
    before = indent(document, variant.byte)
    # After the last <tuv>: before the </tu> and its indentation.
    offset = unit.end - len(indent(document, unit.end))

    def filled(outputs: Sequence[str]) -> Filling:
        language = f"{variant.attribute}={quoteattr(languages[1])}"
        written = segment.written(outputs)
        new = f"<tuv {language}{MARK}><seg{variant.space}>{written.xml}</seg></tuv>"
        return Filling([Edit(offset, offset, before + new.encode())], written.detached)

    return Slot(unit.line, segment.sources, filled)
