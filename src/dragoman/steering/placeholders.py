"""Text that a translation must preserve: placeholders, tags, addresses and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from dragoman.steering.words import folded, is_inside, is_letter, occurrences

# In order: a later kind does not match what an earlier one has matched. All take time linear in the line: a
# run of characters is tried from its first one only, without backtracking into it (++).
PATTERNS = {
    "tags": r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?></\1\s*>|</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|&#?\w+;"
    r"|</?\d++\s*+/?>",  # numbered, of react-i18next
    "urls": r"(?:https?|ftp)://[^\s<>]*[^\s<>.,;:!?)\]'\"]|www\.[^\s<>]*[^\s<>.,;:!?)\]'\"]"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+",
    "placeholders": "|".join(
        (
            r"\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal|number|date|time)\b"  # ICU, three levels
            r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}",
            r"\{\{[^{}\n]*+\}\}|[%#$]\{[^{}\n]*+\}",  # {{ name }} of Django and i18next, %{name} of Rails
            r"<%[^%\n]*+%>",
            r"\[[A-Za-z]*\d+[A-Za-z]*\]|\{\s*+[^{}\s]*+\s*+\}|\{\{?[^{}\s]*\}?\}",
            r"%[A-Za-z_]\w++%(?![\w%])",  # %name% of Symfony
            r"%%|%(?:\(\w++\)|\d++\$)?[-+#0]*+(?:\*|\d*+)(?:\.(?:\d++|\*))?"
            r"(?:hh|ll|[hlzjtL])?[sdiufFeEgGxXocrap@]",
            r"%L?\d{1,2}(?![\w$.])|%L?n(?!\w)",  # %1 and %n of Qt
            r"(?<![^\s(\"']):[a-z]\w++(?![\w:])",  # :name in Laravel
            r"(?<!\w)__[A-Za-z0-9]++(?:_[A-Za-z0-9]++)*+__(?!\w)",
            r"`[^`]++`",
            r"\\[nrt]",
        )
    ),
    "numbers": r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])",
}
TAG = re.compile(r"</?([\w:.-]+)")
COMPILED = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}
KINDS = tuple(PATTERNS)
CUSTOM_KIND = "pattern"  # the kind of matches of the caller's own patterns
DEFAULT_KINDS = ("tags", "urls", "placeholders")
MAX_PLACEHOLDERS = 300  # per line; text after that many is beyond what a model reads

Kind = str | re.Pattern[str]  # one of KINDS, or a pattern of the caller


class Placeholder(NamedTuple):
    """A literal to preserve, at text[begin:end]."""

    kind: str
    literal: str
    begin: int
    end: int


def find_placeholders(text: str, what: Collection[Kind]) -> list[Placeholder]:
    """Return at most MAX_PLACEHOLDERS, from left to right. The caller's own patterns match first."""
    found: list[Placeholder] = []
    taken = bytearray(len(text))  # matched by an earlier kind
    own = [(CUSTOM_KIND, pattern) for pattern in what if isinstance(pattern, re.Pattern)]
    for kind, pattern in [*own, *((kind, COMPILED[kind]) for kind in KINDS if kind in what)]:
        matches = (Placeholder(kind, m[0], m.start(), m.end()) for m in pattern.finditer(text) if m[0])
        new = [m for m in matches if not any(taken[m.begin : m.end])]
        for one in new:
            taken[one.begin : one.end] = b"\1" * (one.end - one.begin)
        found += new
    return sorted(found, key=lambda kept: kept.begin)[:MAX_PLACEHOLDERS]


def is_nested(tags: Iterable[str]) -> bool:
    """Return whether every tag that is opened is closed, the innermost first."""
    open_: list[str] = []
    for tag in tags:
        name = TAG.match(tag)
        if name is None or tag.endswith("/>") or f"></{name[1]}" in tag:
            continue
        if not tag.startswith("</"):
            open_.append(name[1])
        elif not open_ or open_.pop() != name[1]:
            return False
    return not open_


def starts(kept: Placeholder, text: str) -> list[int]:
    """Return where a literal occurs. A number must not be a part of another, as 7 is of 17."""
    if kept.kind == "numbers":
        return list(occurrences(kept.literal, text))
    return [match.start() for match in re.finditer(re.escape(kept.literal), text)]


def count(kept: Placeholder, text: str) -> int:
    return len(starts(kept, text))


def restore_case(text: str, kept: Sequence[Placeholder]) -> str:
    """Restore the case of the literals in the output of a model without capitals."""
    for one in kept:
        place = folded(text).find(folded(one.literal))
        while place >= 0:
            text = text[:place] + one.literal + text[place + len(one.literal) :]
            place = folded(text).find(folded(one.literal), place + len(one.literal))
    return text


def restore_counts(text: str, source: str, kept: Sequence[Placeholder], *, after: int = 0) -> str:
    """Return `text` with each literal as often as in the source.

    Surplus ones are removed, and missing ones are inserted between words, at the relative position that they
    have in the source. Nothing before `after` is changed.
    """
    source = source[: kept[-1].end] if len(kept) == MAX_PLACEHOLDERS else source
    longest_first = sorted({k.literal: k for k in reversed(kept)}.values(), key=lambda k: -len(k.literal))
    for _ in longest_first:  # a change for one literal may undo that for one within it
        before = text
        for one in longest_first:
            wanted = count(one, source)
            while count(one, text) > wanted and (place := last(one, text, after, longest_first)) >= 0:
                has_space = place > after and text[place - 1] == " "
                text = text[: place - has_space] + text[place + len(one.literal) :]
            for _ in range(wanted - count(one, text)):
                place = gap(text, longest_first, one.begin / len(source), after)
                text = inserted(text, one.literal, place)
        if text == before:
            break
    return text


def last(kept: Placeholder, text: str, after: int, every: Sequence[Placeholder]) -> int:
    """Return the last position of a literal that is not within a longer one; −1 if there is none."""
    longer = [other for other in every if len(other.literal) > len(kept.literal)]
    taken = [(place, place + len(other.literal)) for other in longer for place in starts(other, text)]
    free = [n for n in starts(kept, text) if n >= after and not any(b <= n < e for b, e in taken)]
    return max(free, default=-1)


def gap(text: str, kept: Sequence[Placeholder], relative: float, after: int) -> int:
    """Return the gap between words nearest to the relative position from 0 (start) to 1 (end)."""
    taken = bytearray(len(text) + 1)  # within a literal
    for one in kept:
        for place in starts(one, text):
            taken[place + 1 : place + len(one.literal)] = b"\1" * (len(one.literal) - 1)
    places = (n for n in range(after, len(text) + 1) if n in (0, len(text)) or text[n] == " ")
    return min((n for n in places if not taken[n]), key=lambda n: abs(n - relative * len(text)))


def inserted(text: str, literal: str, place: int) -> str:
    left, right = text[:place], text[place:]
    before = "" if not left or left.endswith(" ") else " "
    following = "" if not right or right.startswith(" ") else " "
    return left + before + literal + following + right


class RemovedPlaceholder(NamedTuple):
    """A placeholder that was removed before the character at `place` of the remaining text."""

    kept: Placeholder
    place: int
    space_before: bool
    space_after: bool


def remove_placeholders(text: str, kept: Sequence[Placeholder]) -> tuple[str, list[RemovedPlaceholder]]:
    """Return `text` without the placeholders, and the holes that they leave."""
    left, holes, end = "", [], 0
    for one in kept:
        left += text[end : one.begin]
        end = one.end
        before, following = text[: one.begin][-1:].isspace(), text[one.end : one.end + 1].isspace()
        if (before or not left) and following:
            end += 1  # one of two spaces
        holes.append(
            RemovedPlaceholder(one, len(left), before or not one.begin, following or one.end == len(text))
        )
    return left + text[end:], holes


def reinsert(text: str, hole: RemovedPlaceholder, place: int) -> str:
    """Insert a removed placeholder at `place`, with the spaces that it had around it."""
    left, right = text[:place], text[place:]
    literal = hole.kept.literal
    if right.startswith(" ") and hole.space_before and not hole.space_after:
        left, right = left + " ", right[1:]
    is_apart = hole.space_before or is_inside(left + literal, len(left))
    before = " " if is_apart and left and not left[-1].isspace() else ""
    is_apart = (hole.space_after and bool(right) and is_letter(right[0])) or is_inside(
        literal + right, len(literal)
    )
    return left + before + literal + (" " if is_apart else "") + right
