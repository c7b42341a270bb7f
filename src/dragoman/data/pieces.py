"""A corpus in pieces of equally many lines, each of which becomes a shard of the token store on its own.

Two plain files are read where they are, from the byte where a piece begins. Other formats, compressed files
and pairs that are cleaned have no such place: their pairs are first copied to a file with one pair per line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import OnBad
from dragoman.data.readers.lines import Span
from dragoman.data.readers.open_file import open_bytes
from dragoman.data.readers.open_pairs import form
from dragoman.data.readers.plain import read_plain, unequal
from dragoman.data.sources import is_current
from dragoman.data.store.layout import digest
from dragoman.durable import make_parents, new_folder, write_file

BLOCK = 1 << 20
COPY, CUTS = "pairs", "pieces.json"  # in the folder of a store
NEWLINE = ord("\n")

Pairs = Callable[[], Iterator[Pair]]


class Piece(NamedTuple):
    """Some lines of a corpus: of two plain files, or of one copy."""

    number: int
    files: tuple[str, ...]
    spans: tuple[Span, ...]


def cut(files: Sequence[str], lines: int, home: Path, fingerprint: str, copied: Pairs | None) -> list[Piece]:
    """Cut a corpus into pieces of `lines` lines. `copied` returns its pairs if they must be copied.

    The places are kept in `home`: finding them takes a pass over the files.
    """
    origin = digest([fingerprint, copied is not None])
    if copied and not is_current(home / COPY, origin):
        with new_folder(home / COPY) as folder:
            copy(copied(), folder / "pairs.jsonl")
            (folder / "origin").write_text(origin, encoding="utf-8")
    parts = (str(home / COPY / "pairs.jsonl"),) if copied else tuple(files)
    places = read_places(home / CUTS, origin)
    if places is None:
        places = find_places(parts, lines)
        make_parents(home / CUTS)
        write_file(home / CUTS, json.dumps({"origin": origin, "places": places}) + "\n")
    *starts, (total, _) = places
    return [
        Piece(number, parts, tuple(Span(offset, before, min(lines, total - before)) for offset in offsets))
        for number, (before, offsets) in enumerate(starts)
    ]


# For each piece, the lines before it and the bytes before it in each file; then the totals.
Places = list[tuple[int, list[int]]]


def read_places(file: Path, origin: str) -> Places | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        places = [(before, offsets) for before, offsets in found["places"]]
        return places if found["origin"] == origin else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_places(files: Sequence[str], lines: int) -> Places:
    """Return the place of every `lines`-th line, and that of the end."""
    found = [line_starts(Path(file), lines) for file in files]
    totals = [total for _, total, _ in found]
    if len(set(totals)) > 1:
        raise unequal(Path(files[0]), Path(files[1]), *totals)
    starts = zip(*(starts for starts, _, _ in found), strict=True)
    places = [(number * lines, list(offsets)) for number, offsets in enumerate(starts)]
    return [*places, (totals[0], [size for _, _, size in found])]


def line_starts(file: Path, every: int) -> tuple[list[int], int, int]:
    """Return the offset of every `every`-th line, and the numbers of lines and bytes."""
    starts, lines, size, last = [0], 0, 0, b"\n"
    with open_bytes(file) as stream:
        while block := stream.read(BLOCK):
            count = block.count(b"\n")
            due = range(len(starts) * every, lines + count + 1, every)
            if due:
                ends = np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE)
                starts += (size + 1 + ends[np.array(due) - lines - 1]).tolist()
            lines, size, last = lines + count, size + len(block), block[-1:]
    lines += last != b"\n"
    return starts[: max(1, -(-lines // every))], lines, size


def copy(pairs: Iterable[Pair], file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for pair in pairs:
            out.write(json.dumps(pair, ensure_ascii=False) + "\n")


def read_piece(piece: Piece, on_bad: OnBad) -> Generator[Pair, None, None]:
    match piece:
        case Piece(_, (src, tgt), (left, right)):
            yield from read_plain(Path(src), Path(tgt), on_bad, (left, right))
        case Piece(_, (copy,), (span,)):
            with open(copy, "rb") as stream:
                stream.seek(span.offset)
                for line in islice(stream, span.lines):
                    yield Pair(*json.loads(line))


def must_be_copied(files: Sequence[str]) -> bool:
    """Return whether the lines of these files are not found by counting bytes: only plain ones are."""
    return any(form(Path(file)) != "plain" or Path(file).suffix == ".gz" for file in files)
