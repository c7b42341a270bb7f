"""SRT subtitles: a number, a time and lines of text. The format cannot mark machine translations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from operator import add
from pathlib import Path

from dragoman.data.readers.bad_line import refuse
from dragoman.data.readers.lines import LIMIT, MOST_BETWEEN, too_long
from dragoman.documents.slots import Edit, Filling, Slot, Unit, lines_of
from dragoman.errors import DataError
from dragoman.text.languages import Languages

DASH = re.compile(r"[-–—]++(?:\s++|(?=[^\s\d]))")  # of a speaker: "-5" is a number, "- 5" is said by somebody
TIME = re.compile(rb"[0-9:,.]{5,20} *+--> *+[0-9:,.]{5,20}")


def units(document: bytes, file: Path, languages: Languages | None = None) -> Iterator[Unit]:
    last = 0
    text: list[tuple[int, bytes]] = []  # the lines since a time or a blank line, each with its byte offset
    size, number, is_inside = 0, 0, False  # inside: the lines follow their time
    for number, offset, raw in lines_of(BytesIO(document), file, refuse):
        if TIME.match(raw.strip()):
            if text and is_number(text[-1:]):  # of this cue
                text.pop()
            if text:  # no blank line before this cue, or one within the cue before
                yield slot_of(text, number - len(text) - 1)
            text, size, last, is_inside = [], 0, number, True
        elif raw.strip() and last:
            text.append((offset, raw))
            size += len(raw)
            if size > LIMIT:
                raise too_long(file, number - len(text) + 1).error
        elif text:
            if is_inside or not is_number(text):
                yield slot_of(text, number - len(text))
            text, last, is_inside = [], number, False
        elif number - last > MOST_BETWEEN:
            break
    if text and (is_inside or not is_number(text)):
        yield slot_of(text, number - len(text) + 1)
    if number - last > MOST_BETWEEN or (not last and document.strip()):
        raise no_cues(file, last + 1)


def is_number(lines: Sequence[tuple[int, bytes]]) -> bool:
    return len(lines) == 1 and lines[0][1].strip().isdigit()


def no_cues(file: Path, line: int) -> DataError:
    return DataError(
        "This file has no subtitles.",
        where=f"{file}:{line}",
        expected="a number, 00:00:01,000 --> 00:00:02,000, and text below it",
        hint="If it is another format, export it as SubRip (.srt).",
    )


def slot_of(lines: Sequence[tuple[int, bytes]], number: int) -> Slot:
    """Return the slot of a cue. Its lines are one sentence, unless each begins with a dash (dialogue)."""
    texts = [raw.decode().strip() for _, raw in lines]
    dashes = [dash[0] for text in texts if (dash := DASH.match(text))]  # markup, like a tag
    is_dialogue = len(dashes) == len(texts)
    ends = [raw[len(raw.rstrip()) :] for _, raw in lines]
    last = lines[-1]

    def filled(outputs: Sequence[str], flags: Sequence[str]) -> Filling:
        rows = list(map(add, dashes, outputs)) if is_dialogue else balanced(outputs[0], len(texts))
        new = b"\n".join(row.encode() + end for row, end in zip(rows, ends, strict=False))
        if len(rows) < len(ends):  # the last line keeps the line end of the cue
            new = new.removesuffix(ends[len(rows) - 1]) + ends[-1]
        return Filling([Edit(lines[0][0], last[0] + len(last[1]), new)])

    sources = map(str.removeprefix, texts, dashes) if is_dialogue else [" ".join(texts)]
    return Slot(number, tuple(sources), filled)


def balanced(text: str, most: int) -> list[str]:
    """Wrap text into at most `most` lines of about equal length."""
    words, rows = text.split(), list[str]()
    for left in range(most, 0, -1):
        share = len(" ".join(words)) / left
        row = ""
        while words and (not row or left == 1 or len(row) + len(words[0]) / 2 < share):
            row = f"{row} {words.pop(0)}".strip()
        if row:
            rows.append(row)
    return rows
