"""PO, the gettext format: pairs for training, and untranslated entries to be filled in.

New translations are fuzzy: gettext ignores them until reviewed.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line, refuse
from dragoman.data.readers.lines import LIMIT, MOST_BETWEEN, skip_mark, too_long
from dragoman.data.readers.open_file import open_bytes
from dragoman.documents.format_strings import breaks_formats
from dragoman.documents.slots import Edit, Filling, Lines, Slot, Unit, lines_of
from dragoman.errors import DataError
from dragoman.steering.placeholders import find_placeholders
from dragoman.text.languages import Languages, are_different

FIELD = re.compile(rb'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]{1,2}\])[ \t]+(?=")')
LANGUAGE = re.compile(rb'^"Language:[ \t]*+([\w@.-]++)', re.MULTILINE)
HEADER = 10_000  # bytes that have it
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
MARK = "# Machine translation by Dragoman"
FUZZY = "fuzzy"
WIDTH = 76  # characters per line, as gettext wraps


class Flags(NamedTuple):
    """The last line of flags above an entry, which is the only one that gettext keeps."""

    start: int  # after its #,
    names: tuple[str, ...]


class Field:
    """msgid "…" with its continuation lines, and their offsets."""

    def __init__(self, name: str, start: int) -> None:
        self.name, self.start, self.end = name, start, start
        self.parts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.parts)


class Entry:
    """The fields of an entry, its first line, and what is above it."""

    def __init__(self) -> None:
        self.line = self.size = 0
        self.comments = 0  # offset of the comments above it
        self.flags: Flags | None = None
        self.is_fuzzy = False
        self.fields: dict[str, Field] = {}
        self.forms: list[Field] = []  # those of a translation

    def text(self, name: str) -> str:
        return self.fields[name].text if name in self.fields else ""

    @property
    def sources(self) -> list[str]:
        return [self.text(name) for name in ("msgid", "msgid_plural") if name in self.fields]


# ---- for training


def read(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs, except the header and fuzzy, obsolete or untranslated entries."""
    _, theirs = languages_in(file) or ("", "")
    if languages and theirs and are_different(theirs, languages[1]):
        raise DataError(
            f"This catalogue is in {theirs}, not in {languages[1]}.",
            where=str(file),
            expected=f"translations into {languages[1]}",
            hint=f"If this is what you want: --languages {languages[0]} {theirs}",
        )
    with open_bytes(file) as stream:
        skip_mark(file, stream)
        for entry in entries(stream, file, on_bad):
            if not entry.text("msgid").strip():  # the header
                continue
            if entry.is_fuzzy:
                on_bad(bad_line("fuzzy", file, entry.line, "This entry is fuzzy.", hint=""))
                continue
            for src, tgt in pairs_of(entry):
                if tgt.strip():
                    yield Pair(src.strip(), tgt.strip(), entry.line)
                else:
                    what = "This entry has no translation."
                    on_bad(bad_line("untranslated", file, entry.line, what, hint=""))


def languages_in(file: Path) -> Languages | None:
    """Return the target language, if the header names it. No catalogue names that of its sources."""
    with open_bytes(file) as stream:
        target = language_of(stream.read(HEADER))
    return ("", target) if target else None


def language_of(document: bytes) -> str:
    found = LANGUAGE.search(document, 0, HEADER)
    return found[1].decode() if found else ""


def pairs_of(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield pairs: the singular with the first form, the plural with the last."""
    texts, forms = entry.sources, entry.forms
    if len(texts) == 1 or len(forms) > 1:
        yield texts[0], forms[0].text
    if len(texts) > 1:
        yield texts[1], forms[-1].text


# ---- the entries


def entries(stream: BinaryIO, file: Path, on_bad: OnBad) -> Iterator[Entry]:
    """Yield the translated and untranslated entries. Comments and obsolete entries are left out."""
    entry, field = Entry(), None  # the field that is open
    last = 0  # the last line that is part of an entry
    for number, start, raw in lines_of(stream, file, on_bad):
        line = raw.strip()
        if number == 1 and line.startswith(BOM_UTF8):
            entry.comments, line = len(BOM_UTF8), line.removeprefix(BOM_UTF8)
        begins = FIELD.match(line)
        is_comment = line.startswith(b"#")
        if entry.forms and (is_comment or (begins and begins[1] in (b"msgctxt", b"msgid"))):
            if "msgid" in entry.fields:
                yield entry
            entry, field = Entry(), None
            entry.comments = start
        if line.startswith(b"#~"):
            entry = Entry()
        if (not line and not entry.fields) or line.startswith(b"#~"):
            entry.comments = start + len(raw) + 1
        elif line.startswith(b"#,"):
            names = [name.strip() for name in line[2:].decode().split(",")]
            entry.flags = Flags(start + raw.index(b"#,") + 2, tuple(filter(None, names)))
            entry.is_fuzzy |= FUZZY in names
        if not line or is_comment:
            if number - last > MOST_BETWEEN:
                raise no_entries(file, number)
            continue
        last = number
        if begins:
            name = begins[1].decode()
            field = entry.fields[name] = Field(name, start)
            if name.startswith("msgstr"):
                entry.forms.append(field)
            entry.line = entry.line or number
            line = line[begins.end() :]
        if field is None or len(line) < 2 or not (line.startswith(b'"') and line.endswith(b'"')):
            on_bad(no_field(file, number))
            continue
        entry.size += len(line)
        if entry.size > LIMIT:  # no tool writes such an entry, and finding its end takes time
            raise too_long(file, entry.line).error
        field.parts.append(unescaped(line[1:-1].decode()))
        field.end = start + len(raw.rstrip(b"\r"))
    if entry.forms and "msgid" in entry.fields:
        yield entry


def unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: ESCAPED.get(found[1], found[1]), text)


def no_entries(file: Path, line: int) -> DataError:
    return DataError(
        f"More than {MOST_BETWEEN:,} lines are not part of an entry.",
        where=f"{file}:{line}",
        expected='msgid "…" and msgstr "…", as gettext writes them',
        hint=f"Find the fault with msgfmt --check {file} -o /dev/null",
    )


def no_field(file: Path, line: int) -> BadLine:
    return bad_line(
        "po",
        file,
        line,
        "This line is not valid in a PO file.",
        expected='msgid "…", msgstr "…", or a comment after #',
        hint=f"Find the fault with msgfmt --check {file} -o /dev/null",
    )


# ---- to be filled in


def units(document: bytes, file: Path, languages: Languages | None = None) -> Iterator[Unit]:
    newline = b"\r\n" if b"\r\n" in document else b"\n"
    for entry in entries(BytesIO(document), file, refuse):
        if not entry.text("msgid"):
            continue  # the header
        if not entry.text("msgid").strip():
            yield "other"
        elif all(form.text for form in entry.forms):
            yield "translated"
        else:
            yield slot_of(entry, newline)


def slot_of(entry: Entry, newline: bytes) -> Slot:
    """Return the slot of the forms of an entry that are empty."""
    texts = entry.sources
    which = sources_of_forms(texts, len(entry.forms))
    empty = [(form, source) for form, source in zip(entry.forms, which, strict=True) if not form.text]
    laid_out = {source: Lines(texts[source]) for source in sorted({source for _, source in empty})}
    kinds = entry.flags.names if entry.flags else ()

    def filled(outputs: Sequence[str], flags: Sequence[str]) -> Filling | None:
        remaining = iter(outputs)
        translated = {source: lines.filled(remaining) for source, lines in laid_out.items()}
        if any(breaks_formats(kinds, texts[source], text) for source, text in translated.items()):
            return None
        edits = [
            Edit(form.start, form.end, written(form.name, translated[source], newline))
            for form, source in empty
        ]
        return Filling([*mark(entry, flags, newline), *edits])

    sources = tuple(source for lines in laid_out.values() for source in lines.sources)
    return Slot(entry.line, sources, filled)


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


def mark(entry: Entry, flags: Sequence[str], newline: bytes) -> list[Edit]:
    """Return the edits that mark an entry as a machine translation that nobody has reviewed."""
    place = entry.comments
    said = (f"{MARK}: {' '.join(flags)}" if flags else MARK).encode() + newline
    if entry.flags is None:
        return [Edit(place, place, said + f"#, {FUZZY}".encode() + newline)]
    if FUZZY in entry.flags.names:
        return [Edit(place, place, said)]
    more = f" {FUZZY}," if entry.flags.names else f" {FUZZY}"
    return [Edit(place, place, said), Edit(entry.flags.start, entry.flags.start, more.encode())]


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
