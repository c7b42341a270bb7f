"""Which document is which, and how it is translated as a whole."""

from __future__ import annotations

import codecs
import re
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.lines import other_encoding, recode, refuse_other_formats
from dragoman.data.readers.open_file import opened
from dragoman.documents import po, srt, tmx, xliff
from dragoman.documents.slots import Filled, Found, Translate, fill
from dragoman.errors import DataError
from dragoman.text.languages import Languages

KINDS = {".po": "po", ".pot": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".srt": "srt"}
LARGEST = 1 << 28  # bytes: it is held in memory
CHUNK = 1 << 20
DECLARED = {
    "xml": re.compile(rb"""<\?xml\s[^<>]{0,200}?encoding\s*+=\s*+["']([\w.:-]++)"""),
    "po": re.compile(rb"""Content-Type:[^\n"]{0,100}?charset=([\w.:-]++)""", re.IGNORECASE),
}
UTF_8 = frozenset({"utf-8", "utf8", "charset"})  # the last is in templates, for what is not known yet


class Document(NamedTuple):
    file: Path
    content: bytes
    found: Found

    def filled(self, translate: Translate) -> Filled:
        """With a translation in each unit that had none; all else is byte for byte as it was."""
        return fill(self.content, self.found, translate)


def is_document(file: Path) -> bool:
    return file.suffix.lower() in KINDS


def translate_document(file: Path, translate: Translate, languages: Languages | None = None) -> Filled:
    return read_document(file, languages).filled(translate)


def read_document(file: Path, languages: Languages | None = None) -> Document:
    """What is wrong with it is said here, before anything is translated."""
    with opened(file) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(
            f"This document is too large to be written back: more than {LARGEST:,} bytes.",
            where=str(file),
            expected=f"{LARGEST:,} bytes at most",
            hint="Split it in the tool that it came from.",
        )
    return Document(file, content, find(content, file, languages))


def find(document: bytes, file: Path, languages: Languages | None) -> Found:
    kind = KINDS[file.suffix.lower()]
    refuse_other_encodings(document, file, kind)
    match kind:
        case "xliff":
            return xliff.find(document, file, languages)
        case "tmx":
            return tmx.find(document, file, languages)
        case "po":
            return po.find(document, file)
    return srt.find(document, file)


def refuse_other_encodings(document: bytes, file: Path, kind: str) -> None:
    """Places in a document are counted in bytes, and bytes are written back: in UTF-8 only."""
    refuse_other_formats(file, BufferedReader(BytesIO(document)))  # UTF-16 of plain letters is UTF-8, too
    declared = DECLARED["xml" if kind in ("xliff", "tmx") else "po"].search(document, 0, 10_000)
    if declared and kind != "srt" and declared[1].decode().lower() not in UTF_8:
        raise other_encoding(file, declared[1].decode())
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        for place in range(0, len(document), CHUNK):
            decoder.decode(document[place : place + CHUNK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(
            "This document is not UTF-8.",
            where=f"{file}, byte {place + error.start:,}",
            expected="a document in UTF-8, which can be written back byte for byte",
            hint=f"If it is Latin-1: {recode(file, 'LATIN1')}",
        ) from None
