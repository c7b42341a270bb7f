"""XLIFF 1.2 and 2: <source> and <target> of each <trans-unit> or <segment>."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import OnBad, bad_line
from dragoman.data.readers.inline import Inline, too_long
from dragoman.data.readers.languages import Languages, speaks, which
from dragoman.data.readers.markup import End, Event, Start, Text, read_xml

UNITS = frozenset({"trans-unit", "segment"})
CODES = frozenset({"bpt", "ept", "it", "ph", "sub"})
ASIDE = frozenset({"alt-trans", "matches"})  # proposals for a translation
UNFINISHED = frozenset({"new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"})


def read_xliff(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """With `languages`, in that direction, which may be the other way round than the file's."""
    text, unit, line, state, aside, is_turned = Inline(CODES), dict[str, str](), 0, "", 0, False
    for event in read_xml(file):
        match event:
            case Start(name) if aside or name in ASIDE:
                aside += 1
            case End() if aside:
                aside -= 1
            case _ if aside:
                pass
            case Start("xliff" | "file" as name, attributes):
                theirs = languages_of(name, attributes)
                is_turned = is_turned if theirs is None else turned(file, theirs, languages)
            case Start(name, attributes, number) if name in UNITS:
                unit, line, state = {}, number, attributes.get("state", "")
            case Start("source" | "target" as name, attributes):
                state = attributes.get("state", state)
                text.open()
            case End("source" | "target" as name):
                unit[name] = text.close()
            case End(name) if name in UNITS:
                src, tgt = unit.get("source", ""), unit.get("target", "")
                if not src or not tgt:
                    on_bad(bad_line("untranslated", file, line, "This unit has no translation.", hint=""))
                elif state in UNFINISHED:
                    on_bad(bad_line("unfinished", file, line, f'This unit is "{state}".', hint=""))
                elif text.is_too_long(src, tgt):
                    on_bad(too_long(file, line))
                else:
                    yield Pair(tgt, src, line) if is_turned else Pair(src, tgt, line)
            case _:
                text.take(code_point(event))


def languages_of(element: str, attributes: dict[str, str]) -> Languages | None:
    names = ("source-language", "target-language") if element == "file" else ("srcLang", "trgLang")
    if not any(name in attributes for name in names):
        return None
    src, tgt = (attributes.get(name, "") for name in names)
    return src, tgt


def turned(file: Path, theirs: Languages, wanted: Languages | None) -> bool:
    """Whether the target of the file is the source that is wanted."""
    if wanted is None:
        return False
    pairs = (theirs, theirs[::-1])
    fits = [
        all(not name or speaks(name, want) for name, want in zip(pair, wanted, strict=True)) for pair in pairs
    ]
    if not any(fits):
        raise which(file, theirs, wanted)
    return not fits[0]


def code_point(event: Event) -> Event:
    """<cp hex="…"/> of XLIFF 2 is a character that XML cannot hold."""
    match event:
        case Start("cp", attributes):
            number = attributes.get("hex", "")
            is_hex = 0 < len(number) <= 6 and all(c in "0123456789abcdefABCDEF" for c in number)
            return Text(chr(int(number, 16)) if is_hex and int(number, 16) < 0xD800 else " ")
        case _:
            return event
