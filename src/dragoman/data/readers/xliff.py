"""Reader of XLIFF 1.2 and 2: <source> and <target> of each <trans-unit> or <segment>."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line
from dragoman.data.readers.inline import Inline, too_long
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.markup import End, Event, Start, Text, read_xml
from dragoman.text.languages import Languages, language_error, matches_language

UNITS = frozenset({"trans-unit", "segment"})
SIDES = frozenset({"source", "target"})
CODES = frozenset({"bpt", "ept", "it", "ph", "sub"})
ASIDE = frozenset({"alt-trans", "matches"})  # translation proposals
UNFINISHED = frozenset({"new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"})


def read_xliff(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs in the direction of `languages`, which may be the reverse of that of the file."""
    text, unit, line, state, aside, is_turned = Inline(CODES, file), dict[str, str](), 0, "", 0, False
    for event in read_xml(file):  # no `match`: it takes 50% longer, and files have millions of units
        if isinstance(event, Text):
            text.take(event)
            continue
        name = event.name
        if aside or (name in ASIDE and isinstance(event, Start)):
            aside += 1 if isinstance(event, Start) else -1
        elif isinstance(event, Start) and name in ("xliff", "file"):
            theirs = languages_of(name, event.attributes)
            is_turned = is_turned if theirs is None else turned(file, theirs, languages)
        elif isinstance(event, Start) and name in UNITS:
            unit, line, state = {}, event.line, event.attributes.get("state", "")
        elif isinstance(event, Start) and name in SIDES:
            state = event.attributes.get("state", state)
            text.open(event)
        elif isinstance(event, End) and name in SIDES:
            unit[name] = text.close()
        elif isinstance(event, End) and name in UNITS:
            src, tgt = unit.get("source", ""), unit.get("target", "")
            if bad := unfit(file, line, (src, tgt), state):
                on_bad(bad)
            else:
                yield Pair(tgt, src, line) if is_turned else Pair(src, tgt, line)
        else:
            text.take(code_point(event))


def unfit(file: Path, line: int, texts: tuple[str, str], state: str) -> BadLine | None:
    if Inline.is_too_long(*texts):
        return too_long(file, line)
    if not all(texts):
        return bad_line("untranslated", file, line, "This unit has no translation.", hint="")
    if state in UNFINISHED:
        return bad_line("unfinished", file, line, f'This unit is "{state}".', hint="")
    return None


def languages_of(element: str, attributes: dict[str, str]) -> Languages | None:
    names = ("source-language", "target-language") if element == "file" else ("srcLang", "trgLang")
    if not any(name in attributes for name in names):
        return None
    src, tgt = (attributes.get(name, "") for name in names)
    return src, tgt


def languages_in(file: Path) -> Languages | None:
    """Return the source and target language, if the beginning of the file names both."""
    for event in read_xml(file):
        if event.byte > LIMIT:
            return None
        if isinstance(event, Start) and event.name in ("xliff", "file"):
            found = languages_of(event.name, event.attributes)
            if found and all(found):
                return found
    return None


def turned(file: Path, theirs: Languages, wanted: Languages | None) -> bool:
    """Return whether the file has the reverse direction of `wanted`."""
    if wanted is None:
        return False
    pairs = (theirs, theirs[::-1])
    fits = [
        all(not name or matches_language(name, want) for name, want in zip(pair, wanted, strict=True))
        for pair in pairs
    ]
    if not any(fits):
        raise language_error(file, theirs, wanted)
    return not fits[0]


def code_point(event: Event) -> Event:
    """Convert <cp hex="…"/> of XLIFF 2, a character that XML cannot represent, to text."""
    match event:
        case Start("cp", attributes):
            number = attributes.get("hex", "")
            is_hex = 0 < len(number) <= 6 and all(c in "0123456789abcdefABCDEF" for c in number)
            return Text(chr(int(number, 16)) if is_hex and int(number, 16) < 0xD800 else " ")
        case _:
            return event
