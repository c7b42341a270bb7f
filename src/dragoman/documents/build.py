"""Reading and translation of documents, by format."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dragoman.data.readers.lines import recode, recode_xml, refuse_other_formats
from dragoman.data.readers.open_file import open_bytes
from dragoman.documents import po, srt, tmx, xliff
from dragoman.documents.markup import parse
from dragoman.documents.slots import Filled, Slot, Told, Translate, Unit, fill
from dragoman.errors import DataError
from dragoman.text.languages import Languages, are_different, base_language

KINDS = {".po": "po", ".pot": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".srt": "srt"}
UNITS = {"po": po.units, "xliff": xliff.units, "tmx": tmx.units, "srt": srt.units}
LARGEST = 1 << 28  # bytes; a document is held in memory
CHUNK = 1 << 20
DECLARED = {
    "xml": re.compile(rb"""<\?xml\s[^<>]{0,200}?encoding\s*+=\s*+["']([\w.:-]++)"""),
    "po": re.compile(rb"""Content-Type:[^\n"]{0,100}?charset=([\w.:-]++)""", re.IGNORECASE),
}
UTF_8 = frozenset({"utf-8", "utf8", "charset"})  # templates have the placeholder CHARSET


class Document(NamedTuple):
    file: Path
    content: bytes
    languages: Languages | None
    texts: int  # to be translated
    characters: int  # of them

    def fill(self, out: BinaryIO, translate: Translate, told: Told | None = None) -> Filled:
        """Write the document with a translation in each untranslated unit; all other bytes are unchanged."""
        return fill(self.content, units(self.content, self.file, self.languages), translate, out, told)

    def refuse_other_languages(self, trained_on: Languages) -> None:
        """Raise if the document is in another language than a model, as far as both are known."""
        for named in languages_of(self.content, self.file):
            refuse_other_languages(self.file, named, trained_on)


def is_document(file: Path) -> bool:
    """Tell whether this is a document; it may be compressed (.po.gz)."""
    return suffix(file) in KINDS


def suffix(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def read_document(file: Path, languages: Languages | None = None) -> Document:
    """Read a document. Faults raise here, before anything is translated: units are read again then."""
    with open_bytes(file) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(
            f"This document is too large: more than {LARGEST:,} bytes.",
            where=str(file),
            expected=f"at most {LARGEST:,} bytes",
            hint="Split it in the tool that created it.",
        )
    refuse_other_encodings(content, file, KINDS[suffix(file)])
    texts = characters = 0
    for unit in units(content, file, languages):
        if isinstance(unit, Slot):
            texts += len(unit.sources)
            characters += sum(map(len, unit.sources))
    return Document(file, content, languages, texts, characters)


def units(document: bytes, file: Path, languages: Languages | None) -> Iterator[Unit]:
    return UNITS[KINDS[suffix(file)]](document, file, languages)


def languages_of(document: bytes, file: Path) -> Iterator[Languages]:
    """Yield the source and the target language that a document, or each of its parts, names, "" for none."""
    match KINDS[suffix(file)]:
        case "po":
            yield "", po.language_of(document)
        case "xliff":
            yield from xliff.languages_named(parse(BytesIO(document), file))


def refuse_other_languages(file: Path, named: Languages, trained_on: Languages) -> None:
    if not any(map(are_different, named, trained_on)):
        return
    theirs = [base_language(name) for name in named]
    # A language that is not named is one of the model's, but not the one that is named.
    src = named[0] or next((name for name in trained_on if base_language(name) != theirs[1]), "SOURCE")
    tgt = named[1] or next((name for name in trained_on[::-1] if base_language(name) != theirs[0]), "TARGET")
    raise DataError(
        f"This document is to be translated from {src} to {tgt}.",
        where=str(file),
        expected=f"{trained_on[0] or src} to {trained_on[1]}, which the model was trained on",
        hint=f"If the model is right all the same: --languages {src} {tgt}",
    )


def recode_po(file: Path) -> str:
    if file.suffix == ".gz":
        return f"zcat {file} | msgconv --to-code=UTF-8 - > utf8-{file.stem}"
    return f"msgconv --to-code=UTF-8 {file} > utf8-{file.name}"


def refuse_other_encodings(document: bytes, file: Path, kind: str) -> None:
    """Raise unless the document is UTF-8: edits have byte offsets and are written as UTF-8."""
    # UTF-16 of ASCII characters is also valid UTF-8.
    refuse_other_formats(file, BufferedReader(BytesIO(document)))
    declared = DECLARED["xml" if kind in ("xliff", "tmx") else "po"].search(document, 0, 10_000)
    if declared and kind != "srt" and declared[1].decode().lower() not in UTF_8:
        raise DataError(
            f"This document declares the encoding {declared[1].decode()}.",
            where=str(file),
            expected="a document in UTF-8, which declares it",
            hint=recode_po(file) if kind == "po" else recode_xml(file),
        )
    decoder, offset = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        for offset in range(0, len(document), CHUNK):
            decoder.decode(document[offset : offset + CHUNK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(
            "This document is not UTF-8.",
            where=f"{file}, byte {offset + error.start:,}",
            expected="a document in UTF-8",
            hint=f"If it is Latin-1: {recode(file, 'LATIN1')}",
        ) from None
