"""TMX: the units that are in the source language and not in the target language."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import quoteattr

from dragoman.data.readers.languages import Languages, place_of
from dragoman.data.readers.markup import End, Start, parse
from dragoman.data.readers.tmx import CODES
from dragoman.documents.slots import Edit, Found, Slot
from dragoman.documents.xml import Segment, end_of_tag, indent
from dragoman.errors import UsageError

MARK = ' creationid="MT!Dragoman"'


class Variant:
    """A <tuv>: the text of a unit in one language."""

    def __init__(self, start: Start) -> None:
        self.byte = start.byte
        self.attribute = "xml:lang" if "xml:lang" in start.attributes else "lang"
        self.language = start.attributes.get(self.attribute, "")
        self.content = ""


def find(document: bytes, file: Path, languages: Languages | None = None) -> Found:
    if languages is None:
        raise UsageError(
            "A TMX has several languages: which is to be translated into which?",
            where=str(file),
            expected="--languages SOURCE TARGET",
            hint=f"dragoman run MODEL {file} --languages en de -o OUT.tmx",
        )
    slots, before, variants, opened, line = list[Slot](), 0, list[Variant](), 0, 0
    for event in parse(BytesIO(document), file):
        match event:
            case Start("tu", _, number):
                variants, line = [], number
            case Start("tuv"):
                variants.append(Variant(event))
            case Start("seg", _, _, byte):
                opened = end_of_tag(document, byte)
            case End("seg", byte) if variants:
                variants[-1].content = document[opened:byte].decode() if byte > opened else ""
            case End("tu", byte):
                slot = slot_of(document, variants, languages, line, byte)
                slots += [slot] if slot else []
                before += slot is None
    return Found(slots, before)


def slot_of(
    document: bytes, variants: Sequence[Variant], languages: Languages, line: int, end: int
) -> Slot | None:
    names = tuple(variant.language for variant in variants)
    src, tgt = (place_of(names, language) for language in languages)
    if src is None or (tgt is not None and tgt != src):
        return None
    variant = variants[src]
    segment = Segment(variant.content, CODES)
    if not segment.has_text:
        return None
    before = indent(document, variant.byte)
    # In front of the </tu> that stands on a line of its own: behind the last <tuv>.
    place = end - len(indent(document, end))

    def edits(outputs: Sequence[str]) -> list[Edit]:
        language = f"{variant.attribute}={quoteattr(languages[1])}"
        new = f"<tuv {language}{MARK}><seg>{segment.written(outputs[0])}</seg></tuv>"
        return [Edit(place, place, before + new.encode())]

    return Slot(line, (segment.source,), edits)
