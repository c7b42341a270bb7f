"""Reader of PO, the gettext format: msgid and msgstr of each entry, with plurals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.inline import too_long
from dragoman.data.readers.lines import LIMIT, MOST_BETWEEN, read_lines
from dragoman.errors import DataError

FIELD = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]{1,2}\])[ \t]+"')
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class Entry:
    def __init__(self) -> None:
        self.line = self.size = 0
        self.is_fuzzy = False
        self.fields: dict[str, list[str]] = {}

    def field(self, name: str) -> str:
        return "".join(self.fields.get(name, ())).strip()

    @property
    def is_translated(self) -> bool:
        return any(name.startswith("msgstr") for name in self.fields)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield pairs: the singular with the first form, the plural with the last."""
        forms = sorted(name for name in self.fields if name.startswith("msgstr["))
        if not forms:
            yield self.field("msgid"), self.field("msgstr")
            return
        if len(forms) > 1:
            yield self.field("msgid"), self.field(forms[0])
        yield self.field("msgid_plural"), self.field(forms[-1])


def read_po(file: Path, on_bad: OnBad) -> Iterator[Pair]:
    """Yield pairs, except the header and fuzzy, obsolete or untranslated entries."""
    entry, field, last = Entry(), "", 0  # the last line that was part of an entry
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, BadLine):
                on_bad(line)
                continue
            text = line.strip()
            begins = text.startswith(("msgctxt", "msgid ", "msgid\t", "#"))
            if entry.is_translated and (begins or not text):
                yield from checked_pair(file, entry, on_bad)
                entry, field = Entry(), ""
            if text.startswith("#,") and "fuzzy" in text:
                entry.is_fuzzy = True
            if not text or text.startswith("#"):
                if number - last > MOST_BETWEEN:
                    raise no_entries(file, number)
                continue
            last = number
            if found := FIELD.match(text):
                field, text = found[1], text[found.end() - 1 :]
                entry.line = entry.line or number
            if not field or len(text) < 2 or not (text[0] == text[-1] == '"'):
                on_bad(no_field(file, number))
                continue
            entry.size += len(text)
            if entry.size > LIMIT:  # no tool writes such an entry, and finding its end takes time
                raise too_long(file, entry.line).error
            entry.fields.setdefault(field, []).append(unescaped(text[1:-1]))
    yield from checked_pair(file, entry, on_bad)


def checked_pair(file: Path, entry: Entry, on_bad: OnBad) -> Iterator[Pair]:
    if not entry.is_translated or not entry.field("msgid"):  # empty, or the header
        return
    if entry.is_fuzzy:
        on_bad(bad_line("fuzzy", file, entry.line, "This entry is fuzzy.", hint=""))
        return
    for src, tgt in entry.pairs():
        if tgt:
            yield Pair(src, tgt, entry.line)
        else:
            on_bad(bad_line("untranslated", file, entry.line, "This entry has no translation.", hint=""))


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
