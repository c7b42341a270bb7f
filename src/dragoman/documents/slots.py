"""Units of a document with slots for translations, filled in as a stream. All other bytes are unchanged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from dragoman.data.readers.bad_line import OnBad
from dragoman.data.readers.lines import LIMIT, fits, overlong, undecodable

LINE_BREAKS = re.compile("([\n\x1d])")  # \x1d stands for a reference to a line break
# All except the tab. Line breaks would end a cue, gettext rejects EOT, and a byte model may output any.
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")
BATCH = 4096  # texts translated in one call, so that memory does not grow with the document


class Output(NamedTuple):
    """What a model wrote for a text, and why it needs review."""

    text: str
    flags: tuple[str, ...] = ()
    confidence: float | None = None


Translate = Callable[[Sequence[str]], Sequence[Output]]
Told = Callable[[int, str, Output], None]  # the line of a unit, a text of it, and what was written for it


class Edit(NamedTuple):
    """A replacement of bytes of the document; an insertion if start == end."""

    start: int
    end: int
    new: bytes


class Filling(NamedTuple):
    edits: list[Edit]
    detached: int = 0  # pairs of tags that are left out


class Slot(NamedTuple):
    """An untranslated unit: its source texts, and a function of their translations and of their flags.

    It returns None for a translation that the format does not allow.
    """

    line: int
    sources: tuple[str, ...]
    filled: Callable[[Sequence[str], Sequence[str]], Filling | None]


# A unit to be filled in, one with a translation, or one without text in the source language or not to be
# translated.
Unit = Slot | Literal["translated", "other"]


class Filled(NamedTuple):
    units: int  # translated now
    before: int  # already translated
    others: int
    # lines of units
    empty: list[int]  # whose output is empty: unchanged
    broken: list[int]  # whose output the format does not allow: unchanged
    detached: list[int]  # without some of their tags
    flagged: dict[int, tuple[str, ...]]


def fill(
    document: bytes, units: Iterable[Unit], translate: Translate, out: BinaryIO, told: Told | None = None
) -> Filled:
    """Write the document with outputs in its slots. A unit with an empty part in its output is unchanged.

    `told` is called with each text that is translated, whether its unit is filled or not.
    """
    counts, filled = Counter[str](), Filled(0, 0, 0, [], [], [], {})
    known: dict[tuple[str, ...], tuple[str, ...]] = {}  # each combination of flags once
    view, done = memoryview(document), 0
    for slots in batches(units, counts):
        sources = [source for slot in slots for source in slot.sources]
        outputs = iter(translate(sources))
        for slot in slots:
            written = [next(outputs) for _ in slot.sources]
            for source, output in zip(slot.sources, written, strict=True):
                if told:
                    told(slot.line, source, output)
            texts = [CONTROLS.sub(" ", output.text) for output in written]
            flags = tuple(dict.fromkeys(flag for output in written for flag in output.flags))
            if not all(text.strip() for text in texts):
                filled.empty.append(slot.line)
                continue
            filling = slot.filled(texts, flags)
            if filling is None:
                filled.broken.append(slot.line)
                continue
            counts["filled"] += 1
            if filling.detached:
                filled.detached.append(slot.line)
            if flags:
                filled.flagged[slot.line] = known.setdefault(flags, flags)
            for edit in sorted(filling.edits, key=lambda edit: edit.start):
                assert edit.start >= done
                out.write(view[done : edit.start])
                out.write(edit.new)
                done = edit.end
    out.write(view[done:])
    return filled._replace(units=counts["filled"], before=counts["translated"], others=counts["other"])


def batches(units: Iterable[Unit], counts: Counter[str]) -> Iterator[list[Slot]]:
    """Yield the slots in parts of about BATCH texts; count the other units."""
    slots: list[Slot] = []
    texts = 0
    for unit in units:
        if not isinstance(unit, Slot):
            counts[unit] += 1
            continue
        slots.append(unit)
        texts += len(unit.sources)
        if texts >= BATCH:
            yield slots
            slots, texts = [], 0
    if slots:
        yield slots


def lines_of(stream: BinaryIO, file: Path, on_bad: OnBad) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, offset and bytes of each line in UTF-8, without its "\\n"."""
    offset = number = 0
    while raw := stream.readline(LIMIT + 2):
        number += 1
        start, offset = offset, offset + len(raw)
        if len(raw) > LIMIT and not fits(raw):
            on_bad(overlong(file, number))
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LIMIT)
                offset += len(raw)
            continue
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            on_bad(undecodable(file, number, error))
            continue
        yield number, start, raw.removesuffix(b"\n")


class Lines:
    """A text of several lines. Each line with text is translated separately, and whitespace is preserved."""

    def __init__(self, text: str, has_text: Callable[[str], object] = str.strip) -> None:
        self._pieces: list[str] = []
        self._indices: list[int] = []
        for piece in LINE_BREAKS.split(text):
            inner = piece.strip()
            before, _, after = piece.partition(inner) if inner else (piece, "", "")
            if has_text(inner):
                self._indices.append(len(self._pieces) + 1)
            self._pieces += [before, inner, after]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self._pieces[n] for n in self._indices)

    def filled(self, outputs: Iterator[str]) -> str:
        pieces = list(self._pieces)
        for n in self._indices:
            pieces[n] = next(outputs).strip()
        return "".join(pieces)
