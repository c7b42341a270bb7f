"""Which document is which, and how it is translated as a whole."""

from __future__ import annotations

from pathlib import Path

from dragoman.data.readers.languages import Languages
from dragoman.documents import po, srt, tmx, xliff
from dragoman.documents.slots import Filled, Found, Translate, fill
from dragoman.errors import DataError

KINDS = {".po": "po", ".pot": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".srt": "srt"}
LARGEST = 1 << 28  # bytes: it is held in memory


def is_document(file: Path) -> bool:
    return file.suffix.lower() in KINDS


def translate_document(file: Path, translate: Translate, languages: Languages | None = None) -> Filled:
    """The document with a translation in each unit that had none; all else is byte for byte as it was."""
    if (size := file.stat().st_size) > LARGEST:
        raise DataError(
            f"This document is too large to be written back: {size:,} bytes.",
            where=str(file),
            expected=f"{LARGEST:,} bytes at most",
            hint="Split it in the tool that it came from.",
        )
    document = file.read_bytes()
    return fill(document, find(document, file, languages), translate)


def find(document: bytes, file: Path, languages: Languages | None) -> Found:
    refuse_other_encodings(document, file)
    match KINDS[file.suffix.lower()]:
        case "xliff":
            return xliff.find(document, file, languages)
        case "tmx":
            return tmx.find(document, file, languages)
        case "po":
            return po.find(document)
    return srt.find(document)


def refuse_other_encodings(document: bytes, file: Path) -> None:
    """Places in a document are counted in bytes, and bytes are written back: in UTF-8 only."""
    try:
        document.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            "This document is not UTF-8.",
            where=f"{file}, byte {error.start:,}",
            expected="a document in UTF-8, which can be written back byte for byte",
            hint=f"Save it as UTF-8; or: iconv -f UTF-16 -t UTF-8 {file}, with the declared encoding changed",
        ) from None
