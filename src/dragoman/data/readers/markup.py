"""XML as a stream of events, hardened: no entities of its own, nothing fetched, nothing without a bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

from dragoman.data.readers.open_file import open_bytes
from dragoman.errors import DataError

CHUNK = 1 << 16  # bytes that are parsed at a time
LONGEST_TAG = 2 << 20  # bytes
DEEPEST = 256  # elements inside each other
MOST = 30_000  # elements from one unit to the next
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
    byte: int = 0  # about where it ends


Event = Start | End | Text


def read_xml(file: Path) -> Iterator[Event]:
    with open_bytes(file) as stream:
        yield from parse(stream, file)


def parse(stream: BinaryIO, file: Path) -> Iterator[Event]:
    """The events of what `file` holds, in UTF-8, UTF-16 or what it declares. Names stand without the prefix
    of their namespace."""
    found: list[Event] = []
    parser = parser_of(file, found)
    fed = 0
    while True:
        chunk = stream.read(CHUNK)
        fed += len(chunk)
        if not fed:
            raise DataError("This file is empty.", where=str(file), hint=f"ls -l {file.parent}")
        try:
            parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise broken(file, error) from None
        except (LookupError, ValueError) as error:  # of a declared encoding
            raise refused(file, parser, f"The encoding of this XML cannot be read: {error}.") from None
        yield from found
        found.clear()
        if not chunk:
            return
        if fed - parser.CurrentByteIndex > LONGEST_TAG:
            raise refused(file, parser, f"Something here is longer than {LONGEST_TAG:,} bytes.")


def parser_of(file: Path, found: list[Event]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = CHUNK
    depth = since = 0  # elements that are open, and since the last unit began

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, since
        depth += 1
        local = name.rpartition(":")[2]
        since = 0 if local in UNITS else since + 1
        if depth > DEEPEST:
            raise refused(file, parser, f"More than {DEEPEST} elements stand inside each other here.")
        if since > MOST:
            raise refused(file, parser, f"More than {MOST:,} elements stand here without a new unit.")
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
    """Of what makes much of little, or fetches what is elsewhere."""

    def entity(name: str, *_: object) -> None:
        raise refused(file, parser, f'This XML declares an entity of its own, "{name[:40]}".')

    def unknown(name: str, _: bool) -> None:
        raise refused(
            file, parser, f'The entity "&{name[:40]};" is known only to a file outside of this one.'
        )

    def default(_: str, name: str, __: str, value: str | None, ___: bool) -> None:
        """A few thousand of them, at each of many elements, are more than a memory holds."""
        if value is not None:
            raise refused(file, parser, f'This XML declares a value of the attribute "{name[:40]}".')

    parser.EntityDeclHandler = entity
    parser.AttlistDeclHandler = default
    parser.SkippedEntityHandler = unknown


def broken(file: Path, error: expat.ExpatError) -> DataError:
    return DataError(
        f"This is not whole XML: {expat.ErrorString(error.code)}.",
        where=f"{file}:{error.lineno}:{error.offset + 1}",
        hint=f"See what is wrong: xmllint --noout {file}. Then save it again from where it came.",
    )


def refused(file: Path, parser: expat.XMLParserType, what: str) -> DataError:
    return DataError(
        what,
        where=f"{file}:{parser.CurrentLineNumber}",
        expected="the XML of a translation memory, as a translation tool writes it",
        hint="Open it in such a tool and save it again.",
    )
