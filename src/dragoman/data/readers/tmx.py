"""Reader of TMX translation memories: <tu> has a <tuv xml:lang="…"><seg>…</seg></tuv> per language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import OnBad, bad_line
from dragoman.data.readers.inline import Inline, too_long
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.markup import End, Start, Text, read_xml
from dragoman.errors import DataError
from dragoman.text.languages import Languages, code, index_of, language_error, matches_language

MOST_LANGUAGES = 1000
LONGEST_UNIT = 8 * LIMIT  # characters, in all its languages
CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})  # contain native codes of a tool, not text


def read_tmx(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs. Without `languages`, the source language is that of the header, or the first one, and the
    target language is the other one."""
    seg, unit, language, line, header = Inline(CODES, file), dict[str, str](), "", 0, ""
    seen: dict[str, None] = {}  # the languages of the file, in order of occurrence
    for event in read_xml(file):  # no `match`: it takes 50% longer, and memories have millions of units
        if isinstance(event, Text):
            seg.take(event)
        elif isinstance(event, Start):
            match event.name:
                case "header":
                    header = event.attributes.get("srclang", "")
                case "tu":
                    unit, line = {}, event.line
                case "tuv":
                    language = language_of(event.attributes)
                case "seg":
                    seg.open(event)
                case _:
                    seg.take(event)
        elif event.name == "seg":
            unit.setdefault(language, seg.close())
            seen[language] = None
            if len(seen) > MOST_LANGUAGES or sum(map(len, unit.values())) > LONGEST_UNIT:
                raise too_much(file, line)
        elif event.name == "tu":
            languages = languages or chosen(file, unit, header)
            indices = [index_of(tuple(unit), name) for name in languages or ()]
            texts = [list(unit.values())[index] for index in indices if index is not None]
            if seg.is_too_long(*(texts or unit.values())):
                on_bad(too_long(file, line))
            elif len(texts) < 2 or not all(texts):
                on_bad(bad_line("untranslated", file, line, "This unit has only one language.", hint=""))
            else:
                yield Pair(texts[0], texts[1], line)
        else:
            seg.take(event)
    if languages and None in [index_of(tuple(seen), name) for name in languages]:
        raise language_error(file, list(seen), languages)


def languages_in(file: Path) -> Languages | None:
    """Return the source and target language of a memory that has two, if its beginning shows them."""
    header, unit = "", dict[str, str]()
    for event in read_xml(file):
        if event.byte > LIMIT:
            return None
        match event:
            case Start("header", attributes):
                header = attributes.get("srclang", "")
            case Start("tuv", attributes):
                unit[language_of(attributes)] = ""
            case End("tu"):
                if found := chosen(file, unit, header):
                    return found
                unit = {}
    return None


def language_of(tuv: dict[str, str]) -> str:
    return tuv.get("xml:lang") or tuv.get("lang", "")


def chosen(file: Path, unit: dict[str, str], header: str) -> Languages | None:
    """Return the languages of the first unit with two languages, None for other units."""
    names = tuple(unit)
    if len(names) < 2:
        return None
    index = index_of(names, header) if code(header) != "*all*" else 0
    src = names[index or 0]
    others = [name for name in names if not matches_language(name, src)]
    if len(others) != 1:
        raise language_error(file, names, None)
    return src, others[0]


def too_much(file: Path, line: int) -> DataError:
    return DataError(
        "This memory has too many languages, or a unit has too much text.",
        where=f"{file}:{line}",
        expected=f"at most {MOST_LANGUAGES:,} languages, and {LONGEST_UNIT:,} characters in a unit",
        hint="Export it again from the tool that created it.",
    )
