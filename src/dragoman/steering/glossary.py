"""Glossaries: required translations of source terms.

A file has one term per line: source, a tab, target, in UTF-8. A first line that names the columns
(`source<TAB>target`, `en<TAB>de`) is skipped. Both sides may have alternatives separated by bars
(`bike|bicycle<TAB>Fahrrad|Rad`); a literal bar is written `\\|`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import DataError
from dragoman.steering.words import fold, folded, is_inside
from dragoman.text.languages import is_heading


class Entry(NamedTuple):
    source: tuple[str, ...]
    target: tuple[str, ...]


class GlossaryMatch(NamedTuple):
    """A term of an entry that occurs at text[begin:end]."""

    entry: Entry
    begin: int
    end: int


class Glossary:
    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._terms: dict[str, dict[str, Entry]] = {}  # folded → as written → entry
        self._longest = 0
        for entry in self.entries:
            for term in entry.source:
                self._terms.setdefault(folded(term), {})[term] = entry
                self._longest = max(self._longest, len(term))
        self._beginnings = {key[:n] for key in self._terms for n in range(len(key) + 1)}

    def find(self, text: str, taken: Sequence[tuple[int, int]] = ()) -> list[GlossaryMatch]:
        """Return the terms in a text from left to right, the longest at each position, outside `taken`."""
        found: list[GlossaryMatch] = []
        begin = 0
        while begin < len(text):
            match = self._longest_at(text, begin)
            is_whole = match is not None and not is_inside(text, begin)
            if match and is_whole and not any(match.begin < e and b < match.end for b, e in taken):
                found.append(match)
                begin = match.end
            else:
                begin += 1
        return found

    def _longest_at(self, text: str, begin: int) -> GlossaryMatch | None:
        key, longest = "", None
        for position in range(begin, len(text)):
            character = fold(text[position])
            if character.isspace():  # a run of white space is one space
                if key.endswith(" "):
                    continue
                character = " "
            key += character
            if key not in self._beginnings:
                break
            if key in self._terms and not is_inside(text, position + 1):
                entry = self._agreeing(key, " ".join(text[begin : position + 1].split()))
                longest = GlossaryMatch(entry, begin, position + 1) if entry else longest
        return longest

    def _agreeing(self, key: str, written: str) -> Entry | None:
        """Return the term as it is written, or else the one in lower case, which matches every case."""
        terms = self._terms[key]
        return terms.get(written) or terms.get(key)


def from_mapping(terms: Mapping[str, str | Sequence[str]]) -> Glossary:
    """Return the glossary of {"bike": "Fahrrad", "dog": ["Hund", "Hündin"]}; bars work as in a file."""
    entries = []
    for source, target in terms.items():
        if not isinstance(source, str) or not is_text(target):
            raise DataError(
                f"A glossary term is not text: {source!r}: {target!r}.",
                where="glossary",
                expected="a str, and a str or a list of str",
                hint='{"bike": "Fahrrad", "dog": ["Hund", "Hündin"]}',
            )
        targets = alternatives(target) if isinstance(target, str) else tuple(target)
        if not alternatives(source) or not targets:
            raise DataError(
                f"A glossary term is empty: {source!r}.",
                where="glossary",
                expected="words on both sides",
                hint='{"bike": "Fahrrad"}',
            )
        entries.append(Entry(alternatives(source), targets))
    return Glossary(entries)


def is_text(target: object) -> bool:
    several = [target] if isinstance(target, str) else target
    return isinstance(several, list | tuple) and all(isinstance(one, str) for one in several)


def read_glossary(file: str | Path) -> Glossary:
    path = Path(file)
    entries: list[Entry] = []
    line_of: dict[str, int] = {}
    for number, raw in enumerate(bytes_of(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        line = decoded(raw.removesuffix(b"\r"), f"{path}:{number}")
        if not line.strip() or (number == 1 and is_heading(line.split("\t"), None)):
            continue
        entry = parsed(line, f"{path}:{number}")
        for term in entry.source:
            if term in line_of:
                raise twice(term, path, number, line_of[term])
            line_of[term] = number
        entries.append(entry)
    return Glossary(entries)


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"The glossary cannot be read: {reason}.",
            where=str(path),
            expected="a text file: a term, a tab, its translation",
            hint="Check the path of the file.",
        ) from None


def parsed(line: str, where: str) -> Entry:
    fields = line.split("\t")
    sides = [alternatives(field) for field in fields]
    if len(fields) != 2 or not all(sides):
        what = (
            "has no tab" if len(fields) == 1 else "has more than one tab" if len(fields) > 2 else "is empty"
        )
        raise DataError(
            f"This line of the glossary {what}." if what != "is empty" else "A side of this line is empty.",
            where=where,
            expected="a term, a tab, its translation",
            hint="bicycle<TAB>Fahrrad, or bicycle|bike<TAB>Fahrrad|Rad",
        )
    return Entry(sides[0], sides[1])


def alternatives(field: str) -> tuple[str, ...]:
    """Return the distinct alternatives between bars, in order, with runs of spaces made one."""
    parts = re.split(r"(?<!\\)\|", field)
    terms = (" ".join(part.replace(r"\|", "|").split()) for part in parts)
    return tuple(dict.fromkeys(term for term in terms if term))


def decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"This is not UTF-8: {error.object[error.start : error.start + 4].hex(' ')}.",
            where=where,
            expected="UTF-8",
            hint="If it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE > terms.tsv",
        ) from None


def twice(term: str, path: Path, number: int, first: int) -> DataError:
    return DataError(
        f'The glossary has "{term}" twice.',
        where=f"{path}:{number}, and line {first}",
        expected="each term once",
        hint=f"{term}<TAB>one|another allows either translation.",
    )
