"""Lines of strict UTF-8. Only "\\n" separates lines; a "\\r" before it (Windows) is dropped."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.data.readers.bad_line import BadLine, bad_line
from dragoman.data.readers.open_file import open_bytes
from dragoman.errors import DataError

LIMIT = 1 << 20  # maximum bytes of a line
MOST_BETWEEN = 100_000  # maximum lines between two entries, in formats that allow other lines there

# Byte order marks of other encodings. UTF-32 first: its mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
ARCHIVES = (
    (b"\x1f\x8b", "gzip", "mv {file} {file}.gz"),
    (b"PK\x03\x04", "zip", "unzip {file}"),
    (b"\xfd7zXZ\x00", "xz", "xz -dc {file} > corpus.txt"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc {file} > corpus.txt"),
)


Lines = Generator[str | BadLine, None, None]


class Span(NamedTuple):
    """Some lines of a file."""

    offset: int  # bytes before the first of them
    before: int  # lines before it
    lines: int  # at most


WHOLE = Span(0, 0, sys.maxsize)


def read_lines(file: Path, span: Span = WHOLE) -> Lines:
    """Yield one item per line, with one line in memory. Faults of the whole file raise DataError.

    Callers that may stop early close the generator, so that the file is closed immediately.
    """
    with open_bytes(file) as stream:
        if span.offset:
            stream.seek(span.offset)
        else:
            skip_mark(file, stream)
        number, last = span.before, span.before + span.lines
        while number < last and (raw := stream.readline(LIMIT + 2)):
            number += 1
            if len(raw) > LIMIT and not fits(raw):
                yield overlong(file, number)
                skip_line(stream, raw)
                continue
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                yield undecodable(file, number, error)
                continue
            if text[-2:] == "\r\n":
                yield text[:-2]
            elif text[-1] == "\n":
                yield text[:-1]
            else:
                yield text[:-1] if text[-1] == "\r" else text


def skip_mark(file: Path, stream: io.BufferedReader[Any]) -> None:
    """Skip the byte order mark at the beginning of a file. Raise if the file is not UTF-8 text."""
    refuse_other_formats(file, stream)
    if stream.peek(3)[:3] == codecs.BOM_UTF8:
        stream.read(3)
    if not stream.peek(1):
        raise DataError(
            "This file is empty.",
            where=str(file),
            hint="Make it again: what wrote it may have been cut short.",
        )


XML = {".tmx", ".xlf", ".xliff"}


def refuse_other_formats(file: Path, stream: io.BufferedReader[Any]) -> None:
    head = stream.peek(1024)[:1024]
    for mark, name in MARKS:
        if head.startswith(mark):
            raise other_encoding(file, name)
    for magic, name, command in ARCHIVES:
        if head.startswith(magic):
            raise DataError(
                f"This is an archive ({name}), not text.",
                where=str(file),
                hint=command.format(file=file),
                expected="text or .gz",
            )
    if len(head) >= 16 and head.count(0) * 3 > len(head):
        name = "UTF-16LE" if head[1::2].count(0) > head[::2].count(0) else "UTF-16BE"
        raise other_encoding(file, name if head.count(0) * 3 < 2 * len(head) else "UTF-32")


def other_encoding(file: Path, name: str) -> DataError:
    return DataError(
        f"This file looks like {name}, not UTF-8.",
        where=f"{file}:1:1",
        expected="UTF-8",
        hint=recode_xml(file) if XML & {*file.suffixes} else recode(file, name),
    )


def recode_xml(file: Path) -> str:
    """Return the command that converts XML to UTF-8, and what it declares with it."""
    if file.suffix == ".gz":
        return f"zcat {file} | xmllint --encode UTF-8 - > utf8-{file.stem}"
    return f"xmllint --encode UTF-8 {file} > utf8-{file.name}"


def recode(file: Path, name: str) -> str:
    """Return the command that converts a file to UTF-8. It keeps the suffix, which determines the reader."""
    if file.suffix == ".gz":
        return f"zcat {file} | iconv -f {name} -t UTF-8 > utf8-{file.stem}"
    return f"iconv -f {name} -t UTF-8 {file} > utf8-{file.name}"


def fits(raw: bytes) -> bool:
    return raw.endswith(b"\n") and len(raw.rstrip(b"\r\n")) <= LIMIT


def skip_line(stream: io.BufferedReader[Any], raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(LIMIT)


def overlong(file: Path, line: int) -> BadLine:
    return bad_line(
        "too long",
        file,
        line,
        f"This line is longer than {LIMIT:,} bytes.",
        expected="one sentence or paragraph per line",
        hint=f"Split it into sentences, or inspect it: sed -n {line}p {file} | head -c 1000",
    )


def too_long(file: Path, line: int) -> BadLine:
    return bad_line(
        "too long",
        file,
        line,
        f"This unit is longer than {LIMIT:,} characters or has too much markup.",
        expected="a sentence or a paragraph in each unit",
        hint="Split it in the tool that created it.",
    )


def undecodable(file: Path, line: int, error: UnicodeDecodeError) -> BadLine:
    """Return the fault of a line that is not UTF-8. `column` counts characters, as editors do."""
    raw: bytes = error.object
    shown = raw[error.start : max(error.end, error.start + 1)][:4].hex(" ")
    return bad_line(
        "encoding",
        file,
        line,
        f"This is not UTF-8: the byte{'s' if ' ' in shown else ''} {shown} ({error.reason}).",
        column=len(raw[: error.start].decode()) + 1,
        expected="UTF-8",
        hint=f"If it is Latin-1: {recode(file, 'LATIN1')}",
    )
