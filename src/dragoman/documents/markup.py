"""A hardened stream of XML events: no declared entities, no external files, and limits on all sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

from dragoman.data.readers.open_file import open_bytes
from dragoman.errors import DataError

CHUNK = 1 << 16  # bytes parsed per step
LONGEST_TAG, LONGEST_TEXT = 2 << 20, 32 << 20  # bytes
EMBEDDED = frozenset({"internal-file", "skeleton"})  # may contain a whole document
DEEPEST = 256  # maximum nesting depth
MOST = 30_000  # maximum number of elements between two units
UNITS = frozenset({"tu", "trans-unit", "segment"})


class Start(NamedTuple):
    name: str
    attributes: dict[str, str]
    line: int
    byte: int


class End(NamedTuple):
    name: str
    byte: int


class Text(NamedTuple):
    text: str
    byte: int = 0  # approximate offset of its end


Event = Start | End | Text


def read_xml(file: Path) -> Iterator[Event]:
    with open_bytes(file) as stream:
        yield from parse(stream, file)


def parse(stream: BinaryIO, file: Path) -> Iterator[Event]:
    """Yield the events of a stream in UTF-8, UTF-16 or its declared encoding. Names have no namespace prefix.
    `file` is for messages."""
    found: list[Event] = []
    parser = parser_of(file, found)
    tag: Start | End = End("", 0)  # the last one
    fed = 0
    while True:
        chunk = stream.read(CHUNK)
        fed += len(chunk)
        if not fed:
            raise DataError(
                "This file is empty.",
                where=str(file),
                hint="Make it again: what wrote it may have been cut short.",
            )
        try:
            parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise broken(file, error) from None
        except (LookupError, ValueError) as error:  # from the declared encoding
            raise refused(file, parser, f"The encoding of this XML cannot be read: {error}.") from None
        tag = next((event for event in reversed(found) if not isinstance(event, Text)), tag)
        yield from found
        found.clear()
        if not chunk:
            return
        if fed - tag.byte > LONGEST_TEXT and tag.name not in EMBEDDED:
            raise refused(file, parser, f"A text here is longer than {LONGEST_TEXT:,} bytes.")
        if fed - parser.CurrentByteIndex > LONGEST_TAG:
            raise refused(file, parser, f"A tag or other token here is longer than {LONGEST_TAG:,} bytes.")


def parser_of(file: Path, found: list[Event]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = CHUNK
    depth = since = 0  # open elements, and elements since the start of the last unit

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, since
        depth += 1
        local = name.rpartition(":")[2]
        since = 0 if local in UNITS else since + 1
        if depth > DEEPEST:
            raise refused(file, parser, f"More than {DEEPEST} elements are nested here.")
        if since > MOST:
            raise refused(file, parser, f"More than {MOST:,} elements without a new unit.")
        found.append(Start(local, attributes, parser.CurrentLineNumber, parser.CurrentByteIndex))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        found.append(End(name.rpartition(":")[2], parser.CurrentByteIndex))

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: found.append(Text(text, parser.CurrentByteIndex))
    forbid_declarations(file, parser)
    return parser


def forbid_declarations(file: Path, parser: expat.XMLParserType) -> None:
    """Refuse declarations that can expand to large content or refer to external files."""

    def entity(name: str, *_: object) -> None:
        raise refused(file, parser, f'This XML declares an entity, "{name[:40]}".')

    def unknown(name: str, _: bool) -> None:
        raise refused(file, parser, f'The entity "&{name[:40]};" is defined only in an external file.')

    def default(_: str, name: str, __: str, value: str | None, ___: bool) -> None:
        """Refuse default values: some thousands of them, repeated at many elements, would exhaust memory."""
        if value is not None:
            raise refused(file, parser, f'This XML declares a default value of the attribute "{name[:40]}".')

    parser.EntityDeclHandler = entity
    parser.AttlistDeclHandler = default
    parser.SkippedEntityHandler = unknown


def broken(file: Path, error: expat.ExpatError) -> DataError:
    return DataError(
        f"This is not well-formed XML: {expat.ErrorString(error.code)}.",
        where=f"{file}:{error.lineno}:{error.offset + 1}",
        hint=f"Find the fault with xmllint --noout {file}, then export the file again.",
    )


def refused(file: Path, parser: expat.XMLParserType, what: str) -> DataError:
    return DataError(
        what,
        where=f"{file}:{parser.CurrentLineNumber}",
        expected="the XML of a translation memory, as a translation tool writes it",
        hint="Open it in a translation tool and save it again.",
    )
