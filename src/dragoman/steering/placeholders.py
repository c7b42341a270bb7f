"""Text that a translation must preserve: placeholders, tags, addresses and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dragoman.steering.words import folded, is_inside, is_letter, occurrences

ARGUMENT = r"[^{}]"  # of a message of ICU: what its braces enclose, such as a plural in a select
for _ in range(4):
    ARGUMENT = rf"(?:[^{{}}]|\{{{ARGUMENT}*+\}})"
PERCENT = r"(?:(?<=\d)(?<!%\d)|(?<=\d[ \u00a0\u202f]))%-?[^\W\d_]{2}"  # as in "100%ige" and "5 %der"
BRACES = r"\{\{[^{}\n]*\}\}|\{[^\s{}]*\}"
PRINTF = (
    r"%(?:\([^()\s]++\)|\d++\$|\[\d++\])?[-+#0]*+(?:\*|\d*+)(?:\.(?:\d++|\*))?"
    r"(?:hh|ll|[hlzjtL])?[sdiufeFEgGxXocrapvq@]"
)
# In order: a later pattern does not match what an earlier one has matched. All take time linear in the line:
# a run of characters is tried from its first one only, without backtracking into it (++).
PATTERNS = (
    (
        "placeholders",  # those that tags may be a part of
        r"\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal|number|date|time|choice)\b" + ARGUMENT + r"*+\}"
        r"|<%[^%\n]*+%>"
        r"|(?<!\d)%<\w++>(?:[-+#0]*+\d*+(?:\.\d++)?[sdiufeEgGxXoc])?",  # of Ruby, and %<PRIu64> of gettext
    ),
    (
        "tags",
        r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?></\1\s*>|</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|&#?\w+;"
        r"|</?\d++\s*+/?>",  # numbered, of react-i18next
    ),
    (
        "urls",
        rf"(?:(?:https?|ftp)://|www\.)(?:[^\s<>\[\]{{}}]|{BRACES})*(?:[^\s<>\[\]{{}}.,;:!?)'\"]|{BRACES})"
        r"|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+",
    ),
    (
        "placeholders",
        "|".join(
            (
                r"\{\{[^{}\n]*+\}\}|[%#$]\{[^{}\n]*+\}",  # {{ name }} of Django and i18next, %{name} of Rails
                r"\{%[^%\n]*+%\}",
                r"\{[^{}\s]*+(?:\{[^{}\s]*+\}[^{}\s]*+)++\}",  # {:{width}} of Python
                r"\{(?:\w++:[^{}\n%]*+%|\d++[,:])[^{}\n]*+\}",  # {day:%d %B}, {0:dd MMM} of .NET
                r"\[[A-Za-z]*\d+[A-Za-z]*\]|\{\s*+[^{}\s]*+\s*+\}|\{\{?[^{}\s]*\}?\}",
                r"%[A-Za-z_]\w++%(?![\w%])",  # %name% of Symfony
                rf"%%|(?!{PERCENT})(?:%[A-Za-z_][A-Za-z0-9_]{{2,}}+|{PRINTF})",  # %name of Drupal, %dpx
                r"%'\d*+[dDiuf]|%-?[YymBbHIMSpAjZ](?!\w)",  # of dates
                r"%L?\d{1,2}(?!\d)|%L?n(?!\w)",  # %1 and %n of Qt
                r"(?<![^\s(\"']):[a-z]\w++(?![\w:])",  # :name in Laravel
                r"\$t\([^()\n]*+\)|(?<![\w$])\$[A-Za-z_]\w++(?!\()",  # a key of i18next, and $name
                r"(?<![\w.+@-])@[A-Za-z_]\w++",  # @count of Drupal
                r"(?<!\w)__[A-Za-z0-9]++(?:_[A-Za-z0-9]++)*+__(?!\w)",
                r"`[^`]++`",
                r"\\[nrt]",
            )
        ),
    ),
    ("numbers", r"(?<![^\W_])\d+(?:[.,:/-]\d+)*(?![^\W_])"),
)
HALF = re.compile(r"(?<!\d)(?<!\d[ \u00a0\u202f])%\([^()\s]*+\)?|[%#$]?\{[^{}\s]*+(?![^{}]*\})")
COMPILED = [(kind, re.compile(pattern)) for kind, pattern in PATTERNS]
DEFAULT_KINDS = ("tags", "urls", "placeholders")
KINDS = (*DEFAULT_KINDS, "numbers")
CUSTOM_KIND = "pattern"  # the kind of matches of the caller's own patterns
MAX_PLACEHOLDERS = 300  # per line; text after that many is beyond what a model reads
TAG = re.compile(r"</?([\w:.-]+)")
VOID = frozenset(("area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"))  # HTML never closes them
PUNCTUATION = frozenset(".,;:!?…。、！？")  # marks that follow a word without a space
JOINING = frozenset("%#$@&{<\\")  # a placeholder right after one of them may be read as another placeholder

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
    free = text  # with line breaks for what an earlier pattern has matched
    own = [(CUSTOM_KIND, pattern) for pattern in what if isinstance(pattern, re.Pattern)]
    for kind, pattern in [*own, *(one for one in COMPILED if one[0] in what)]:
        matches = [Placeholder(kind, m[0], m.start(), m.end()) for m in pattern.finditer(free) if m[0]]
        new = [one for one in matches if text.startswith(one.literal, one.begin) and is_whole(one, text)]
        pieces, end = list[str](), 0
        for one in new:
            pieces += [free[end : one.begin], "\n" * len(one.literal)]
            end = one.end
        free = "".join([*pieces, free[end:]])
        found += new
    return sorted(found, key=lambda kept: kept.begin)[:MAX_PLACEHOLDERS]


def is_whole(one: Placeholder, text: str) -> bool:
    """Return whether a number is no part of another, as 7 is of 17."""
    return one.kind != "numbers" or not (is_inside(text, one.begin) or is_inside(text, one.end))


def name_of_pair(literal: str) -> str | None:
    """Return the name of an opening or closing tag; None for what is neither."""
    name = TAG.match(literal)
    if name is None or literal.endswith("/>") or f"></{name[1]}" in literal or name[1].lower() in VOID:
        return None
    return name[1]


def tag_pairs(literals: Iterable[str]) -> list[tuple[int, int]]:
    """Return the indices of each opening tag and its closing one, the inner pairs first."""
    open_: list[tuple[str, int]] = []
    pairs = []
    for n, literal in enumerate(literals):
        name = name_of_pair(literal)
        if name is None:
            continue
        if not literal.startswith("</"):
            open_.append((name, n))
        elif same := [place for place, (other, _) in enumerate(open_) if other == name]:
            pairs.append((open_[same[-1]][1], n))
            del open_[same[-1] :]
    return pairs


def is_nested(tags: Iterable[str]) -> bool:
    """Return whether every tag that is opened is closed, the innermost first."""
    tags = list(tags)
    return 2 * len(tag_pairs(tags)) == sum(name_of_pair(tag) is not None for tag in tags)


def empty_pairs(text: str, tags: Sequence[Placeholder]) -> int:
    """Return how many pairs of tags have no word between them."""
    gaps = [any(map(str.isalnum, text[a.end : b.begin])) for a, b in pairwise(tags)]
    return sum(not any(gaps[i:j]) for i, j in tag_pairs(tag.literal for tag in tags))


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


def invented(
    text: str, what: Collection[Kind], known: Collection[str], *, after: int = 0
) -> list[Placeholder]:
    """Return the placeholders and tags of an output that are not known, from `after` on, also half ones."""
    whole = [one for one in find_placeholders(text, what) if one.kind in ("tags", "placeholders")]
    found = [one for one in whole if not may_be_text(one, text)] + half_written(text, what)
    return [one for one in found if one.begin >= after and one.literal not in known]


def half_written(text: str, what: Collection[Kind]) -> list[Placeholder]:
    """Return what looks like the beginning of a placeholder, as in "%(name"."""
    if "placeholders" not in what:
        return []
    inside = {n for one in find_placeholders(text, what) for n in range(one.begin, one.end)}
    matches = (Placeholder("half", m[0], m.start(), m.end()) for m in HALF.finditer(text))
    return [one for one in matches if one.begin not in inside]


def may_be_text(one: Placeholder, text: str) -> bool:
    """Return whether it may be a word or a percentage that is in no format: `x`, &amp;, 5 %d."""
    if one.literal[0] in "`&":
        return True
    return one.literal[0] == "%" and len(one.literal) == 2 and text[: one.begin].rstrip()[-1:].isdigit()


def spans_with_space(text: str, unwanted: Sequence[Placeholder], after: int) -> list[tuple[int, int]]:
    """Return what to remove of a text: placeholders, with a space that would be one too many."""
    spans, done = list[tuple[int, int]](), 0
    for one in unwanted:
        begin, end = one.begin, one.end
        following = text[end : end + 1]
        if begin > after and text[begin - 1] == " " and (not following.strip() or following in PUNCTUATION):
            begin -= 1
        elif begin == 0 and following == " ":
            end += 1
        if end > done:  # not within a longer one
            spans.append((max(begin, done), end))
            done = end
    return spans


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    begins, ends = [begin for begin, _ in spans], [end for _, end in spans]
    return "".join(text[a:b] for a, b in zip([0, *ends], [*begins, len(text)], strict=True))


def without_invented(text: str, what: Collection[Kind], known: Collection[str], *, after: int = 0) -> str:
    """Return an output without the placeholders and tags that are not known."""
    while unwanted := invented(text, what, known, after=after):  # two parts may become another one
        text = without(text, spans_with_space(text, unwanted, after))
    return text


class RemovedPlaceholder(NamedTuple):
    """A placeholder that was removed before the character at `place` of the remaining text.

    It is joined to a word that touched it, as in "{n}px"; a tag is so to what it encloses.
    """

    kept: Placeholder
    place: int
    space_before: bool
    joined_before: bool
    joined_after: bool


def remove_placeholders(text: str, kept: Sequence[Placeholder]) -> tuple[str, list[RemovedPlaceholder]]:
    """Return `text` without the placeholders, and the holes that they leave."""
    left, holes, end = "", [], 0
    begins, ends = {one.begin for one in kept}, {one.end for one in kept}
    for one in kept:
        left += text[end : one.begin]
        end = one.end
        before, after = text[: one.begin][-1:], text[one.end : one.end + 1]
        if (before.isspace() or not left) and after.isspace():
            end += 1  # one of two spaces
        space_before = before.isspace() or not before
        joined_before = is_closing(one) or (one.begin not in ends and any(map(is_letter, before)))
        joined_after = is_opening(one) or (one.end not in begins and any(map(is_letter, after)))
        holes.append(
            RemovedPlaceholder(
                one,
                len(left),
                space_before=space_before,
                joined_before=joined_before and not space_before,
                joined_after=joined_after and after != "" and not after.isspace(),
            )
        )
    return left + text[end:], holes


def is_opening(one: Placeholder) -> bool:
    return one.kind == "tags" and name_of_pair(one.literal) is not None and one.literal[1] != "/"


def is_closing(one: Placeholder) -> bool:
    return one.kind == "tags" and one.literal.startswith("</")


def are_apart(one: RemovedPlaceholder, following: RemovedPlaceholder) -> bool:
    """Return whether there is a space between two placeholders that are put into the same gap."""
    is_adjacent = one.kept.end == following.kept.begin
    is_around = is_opening(one.kept) and one.joined_after
    return not (is_adjacent or is_around or following.joined_before)


def reinsert(
    text: str,
    hole: RemovedPlaceholder,
    place: int,
    *,
    preceding: RemovedPlaceholder | None = None,
    is_followed: bool = False,
) -> str:
    """Insert a removed placeholder at `place`, with the spaces that it had around it.

    `preceding` will be inserted at the same place next; `is_followed` if another one was so before.
    """
    left, right = text[:place], text[place:]
    literal = hole.kept.literal
    if preceding is None:
        is_apart = hole.space_before or left[-1:] in JOINING or is_inside(left + literal, len(left))
        is_apart = is_apart or (not hole.joined_before and any(map(is_letter, left[-1:])))
        is_apart = is_apart and left != "" and not left[-1].isspace()
    else:
        is_apart = are_apart(preceding, hole)
    if is_apart and hole.joined_after and not is_followed:
        right = right.removeprefix(" ")
    before = " " if is_apart else ""
    is_apart = not hole.joined_after and not is_followed and any(map(is_letter, right[:1]))
    is_apart = is_apart or is_inside(literal + right, len(literal))
    return left + before + literal + (" " if is_apart else "") + right
