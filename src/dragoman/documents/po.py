"""PO documents: untranslated entries. New translations are fuzzy: gettext ignores them until reviewed."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.data.readers.inline import too_long
from dragoman.data.readers.lines import LIMIT, MOST_BETWEEN
from dragoman.data.readers.po import no_entries, no_field, unescaped
from dragoman.documents.slots import Edit, Filling, Found, Lines, Slot, lines_of
from dragoman.steering.placeholders import find_placeholders

FIELD = re.compile(rb'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]{1,2}\])[ \t]+(?=")')
MARK = "# Machine translation by Dragoman"
FUZZY = "fuzzy"
WIDTH = 76  # characters per line, as gettext wraps


class Flags(NamedTuple):
    """The last line of flags above an entry, which is the only one that gettext keeps."""

    start: int  # after its #,
    names: tuple[str, ...]


class Field:
    """msgid "…" with its continuation lines, the offset of the comments above it, and their flags."""

    def __init__(self, name: bytes, start: int, number: int, comments: int, flags: Flags | None) -> None:
        self.name, self.start, self.end, self.number = name.decode(), start, start, number
        self.comments, self.flags = comments, flags
        self.size = 0
        self._parts: list[str] = []

    def add(self, line: bytes, end: int) -> None:
        self.size += len(line)
        self._parts.append(unescaped(line.decode()[1:-1]))
        self.end = end

    @property
    def text(self) -> str:
        return "".join(self._parts)


def find(document: bytes, file: Path) -> Found:
    slots, before = [], 0
    newline = b"\r\n" if b"\r\n" in document else b"\n"
    for entry in entries(document, file):
        fields = {field.name: field for field in entry}
        forms = [field for field in entry if field.name.startswith("msgstr")]
        if "msgid" not in fields or not fields["msgid"].text.strip() or not forms:
            continue  # the header, or an incomplete entry
        if any(form.text for form in forms):
            before += 1
        else:
            slots.append(slot_of(fields, entry[0], forms, newline))
    return Found(slots, before)


def entries(document: bytes, file: Path) -> list[list[Field]]:
    """Return the fields of each entry, in order. Comments and obsolete entries are left out."""
    found: list[list[Field]] = []
    entry: list[Field] = []
    last, comments = 0, len(BOM_UTF8) if document.startswith(BOM_UTF8) else 0
    flags: Flags | None = None
    for number, start, raw in lines_of(document, file):
        line = raw.strip()
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        field = FIELD.match(line)
        if field and field[1] in (b"msgctxt", b"msgid") and any(f.name.startswith("msgstr") for f in entry):
            entry = []
        if field:
            if not entry:
                found.append(entry)
            entry.append(Field(field[1], start, number, comments, flags))
            line = line[field.end() :]
        if line.startswith(b"#,"):
            names = line[2:].decode(errors="replace").split(",")
            flags = Flags(start + raw.index(b"#,") + 2, tuple(name.strip() for name in names if name.strip()))
        if not line.startswith(b"#") or line.startswith(b"#~"):
            comments, flags = start + len(raw) + 1, None
        if line and not line.startswith(b"#"):
            last = number
            if not entry or len(line) < 2 or not (line.startswith(b'"') and line.endswith(b'"')):
                raise no_field(file, number).error
            if entry[-1].size + len(line) > LIMIT:
                raise too_long(file, entry[-1].number).error
            entry[-1].add(line, start + len(raw.rstrip(b"\r")))
        elif number - last > MOST_BETWEEN:
            raise no_entries(file, number)
    return found


def slot_of(fields: dict[str, Field], first: Field, forms: Sequence[Field], newline: bytes) -> Slot:
    """Return the slot of an entry."""
    texts = [fields[name].text for name in ("msgid", "msgid_plural") if name in fields]
    laid_out = [Lines(text) for text in texts]
    sources = tuple(source for lines in laid_out for source in lines.sources)
    which = sources_of_forms(texts, len(forms))

    def filled(outputs: Sequence[str]) -> Filling:
        remaining = iter(outputs)
        translated = [lines.filled(remaining) for lines in laid_out]
        edits = [
            Edit(form.start, form.end, written(form.name, translated[source], newline))
            for form, source in zip(forms, which, strict=True)
        ]
        return Filling([*mark(first, newline), *edits])

    return Slot(first.number, sources, filled)


def sources_of_forms(texts: Sequence[str], forms: int) -> list[int]:
    """Return which source each plural form translates: 0, the singular, or 1, the plural.

    The first form is the singular, unless it is the only one or also stands for other numbers: with three and
    more, as in Russian, it means 1, 21 and 31, so it needs the number that "One file" lacks.
    """
    if len(texts) == 1:
        return [0] * forms
    given = [{kept.literal for kept in find_placeholders(text, ("placeholders",))} for text in texts]
    is_plural = forms == 1 or (forms > 2 and given[0] != given[1])
    return [int(is_plural), *([1] * (forms - 1))]


def mark(first: Field, newline: bytes) -> list[Edit]:
    """Return the edits that mark an entry as a machine translation that nobody has reviewed."""
    said = MARK.encode() + newline
    if first.flags is None:
        return [Edit(first.comments, first.comments, said + f"#, {FUZZY}".encode() + newline)]
    if FUZZY in first.flags.names:
        return [Edit(first.comments, first.comments, said)]
    more = f" {FUZZY}," if first.flags.names else f" {FUZZY}"
    place = first.flags.start
    return [Edit(first.comments, first.comments, said), Edit(place, place, more.encode())]


def written(name: str, text: str, newline: bytes) -> bytes:
    """Return a field. A long or multi-line text begins on the line after its name, as gettext writes it."""
    whole = f'{name} "{escaped(text)}"'
    if len(whole) <= WIDTH + 4 and "\n" not in text[:-1]:
        return whole.encode()
    rows = [f'"{row}"' for line in re.findall(r"[^\n]*\n|[^\n]+", text) for row in broken(line)]
    return newline.join(row.encode() for row in (f'{name} ""', *rows))


def broken(line: str) -> list[str]:
    rows = [""]
    for word in re.findall(r"\S*\s+|\S+", line):
        if rows[-1] and len(rows[-1]) + len(escaped(word)) > WIDTH:
            rows.append("")
        rows[-1] += escaped(word)
    return rows


def escaped(text: str) -> str:
    for plain, code in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        text = text.replace(plain, code)
    return text
