"""What a translation must hold as it is: placeholders, tags, addresses, numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from dragoman.steering.words import folded, is_inside, is_letter, occurrences

# In order: what an earlier kind has found, a later one does not see. All take time linear in the line: a run
# of characters is tried from its first one only, and given up as a whole (++).
PATTERNS = {
    "tags": r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?></\1\s*>|</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|&#?\w+;",
    "urls": r"(?:https?|ftp)://[^\s<>]*[^\s<>.,;:!?)\]'\"]|www\.[^\s<>]*[^\s<>.,;:!?)\]'\"]"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+",
    "placeholders": "|".join(
        (
            r"\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal|number|date|time)\b"  # ICU, three deep
            r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}",
            r"\[[A-Za-z]*\d+[A-Za-z]*\]|\$?\{\{?[^{}\s]*\}?\}",
            r"%%|%(?:\(\w++\)|\d++\$)?[-+#0]*+\d*+(?:\.\d++)?(?:hh|ll|[hlzjtL])?[sdiufFeEgGxXocrap@]",
            r"(?<![^\s(\"']):[a-z]\w++(?![\w:])",  # :name of Laravel
            r"(?<!\w)__[A-Za-z0-9]++(?:_[A-Za-z0-9]++)*+__(?!\w)",
            r"`[^`]++`",
            r"\\[nrt]",
        )
    ),
    "numbers": r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])",
}
COMPILED = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}
KINDS = tuple(PATTERNS)
CUSTOM_KIND = "pattern"  # the kind of what a pattern of the caller finds
DEFAULT_KINDS = ("tags", "urls", "placeholders")
MAX_PLACEHOLDERS = (
    300  # things of one line that are kept; what stands behind them is beyond what a model reads
)

Kind = str | re.Pattern[str]  # one of KINDS, or a pattern of the caller


class Placeholder(NamedTuple):
    """text[begin:end] is `literal`."""

    kind: str
    literal: str
    begin: int
    end: int


def find_placeholders(text: str, what: Collection[Kind]) -> list[Placeholder]:
    """From left to right, and no more than MOST. Patterns of the caller go first."""
    found: list[Placeholder] = []
    taken = bytearray(len(text))  # by an earlier kind
    own = [(CUSTOM_KIND, pattern) for pattern in what if isinstance(pattern, re.Pattern)]
    for kind, pattern in [*own, *((kind, COMPILED[kind]) for kind in KINDS if kind in what)]:
        matches = (Placeholder(kind, m[0], m.start(), m.end()) for m in pattern.finditer(text) if m[0])
        new = [m for m in matches if not any(taken[m.begin : m.end])]
        for one in new:
            taken[one.begin : one.end] = b"\1" * (one.end - one.begin)
        found += new
    return sorted(found, key=lambda kept: kept.begin)[:MAX_PLACEHOLDERS]


def starts(kept: Placeholder, text: str) -> list[int]:
    """Where a literal stands. A number does where it stands alone; the 7 of 17 is another."""
    if kept.kind == "numbers":
        return list(occurrences(kept.literal, text))
    return [match.start() for match in re.finditer(re.escape(kept.literal), text)]


def count(kept: Placeholder, text: str) -> int:
    return len(starts(kept, text))


def restore_case(text: str, kept: Sequence[Placeholder]) -> str:
    """The output of a model that knows no capitals, with the literals as they are in the source."""
    for one in kept:
        place = folded(text).find(folded(one.literal))
        while place >= 0:
            text = text[:place] + one.literal + text[place + len(one.literal) :]
            place = folded(text).find(folded(one.literal), place + len(one.literal))
    return text


def restore_counts(text: str, source: str, kept: Sequence[Placeholder], *, after: int = 0) -> str:
    """`text` with each literal as often as in the source: one too many is taken out, and one that is missing
    is put between words, as far along as it stands in the source. Nothing before `after` is touched.
    """
    source = source[: kept[-1].end] if len(kept) == MAX_PLACEHOLDERS else source
    longest_first = sorted({k.literal: k for k in reversed(kept)}.values(), key=lambda k: -len(k.literal))
    for _ in longest_first:  # what is done for one may undo what was done for one within it
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
    """The last place of a literal that is not within a longer one; −1 for none."""
    longer = [other for other in every if len(other.literal) > len(kept.literal)]
    taken = [(place, place + len(other.literal)) for other in longer for place in starts(other, text)]
    free = [n for n in starts(kept, text) if n >= after and not any(b <= n < e for b, e in taken)]
    return max(free, default=-1)


def gap(text: str, kept: Sequence[Placeholder], along: float, after: int) -> int:
    """The place between two words that is nearest to `along`, from the beginning (0) to the end (1)."""
    taken = bytearray(len(text) + 1)  # within a literal
    for one in kept:
        for place in starts(one, text):
            taken[place + 1 : place + len(one.literal)] = b"\1" * (len(one.literal) - 1)
    places = (n for n in range(after, len(text) + 1) if n in (0, len(text)) or text[n] == " ")
    return min((n for n in places if not taken[n]), key=lambda n: abs(n - along * len(text)))


def inserted(text: str, literal: str, place: int) -> str:
    left, right = text[:place], text[place:]
    before = "" if not left or left.endswith(" ") else " "
    behind = "" if not right or right.startswith(" ") else " "
    return left + before + literal + behind + right


class RemovedPlaceholder(NamedTuple):
    """Where something that is kept was taken out: before the character at `place` of what is left."""

    kept: Placeholder
    place: int
    space_before: bool
    space_behind: bool


def remove_placeholders(text: str, kept: Sequence[Placeholder]) -> tuple[str, list[RemovedPlaceholder]]:
    """`text` without what is kept, and the holes."""
    left, holes, end = "", [], 0
    for one in kept:
        left += text[end : one.begin]
        end = one.end
        before, behind = text[: one.begin][-1:].isspace(), text[one.end : one.end + 1].isspace()
        if (before or not left) and behind:
            end += 1  # one of two spaces
        holes.append(
            RemovedPlaceholder(one, len(left), before or not one.begin, behind or one.end == len(text))
        )
    return left + text[end:], holes


def reinsert(text: str, hole: RemovedPlaceholder, place: int) -> str:
    """`text` with what was taken out at `place`, and with the spaces that it had around it."""
    left, right = text[:place], text[place:]
    literal = hole.kept.literal
    if right.startswith(" ") and hole.space_before and not hole.space_behind:
        left, right = left + " ", right[1:]
    is_apart = hole.space_before or is_inside(left + literal, len(left))
    before = " " if is_apart and left and not left[-1].isspace() else ""
    is_apart = (hole.space_behind and bool(right) and is_letter(right[0])) or is_inside(
        literal + right, len(literal)
    )
    return left + before + literal + (" " if is_apart else "") + right
