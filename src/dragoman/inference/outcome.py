"""What came of what was asked: the text of an output, and the report on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.inference.result import Term
from dragoman.search.constraints import Constraint, Span
from dragoman.text.boundary import folded, is_inside, occurrences
from dragoman.text.forbidden import reader_of
from dragoman.text.kept import Kept, count
from dragoman.text.surface import SPACE, Surface

CUT = "the output was cut at its longest length"
FORBIDDEN = "every form of it is forbidden"
LEFT_OUT = "the search found no place for it"
PUT_IN = "put in where the model looked: it did not write it itself"
FORCED = "the prefix, a term or what is kept has it, or nothing else was left to write"


class Wishes(NamedTuple):
    """What is asked of the output of one text."""

    constraints: Sequence[Constraint] = ()
    sources: Sequence[str] = ()  # of the constraints
    kept: Sequence[Kept] = ()


def segments(surface: Surface, tokens: Sequence[int], spans: Sequence[Span], opening: int) -> list[bytes]:
    """What each token writes. What a constraint asked for stands as it was typed, even where the vocabulary
    has no capitals or not all the characters, unless it begins within the first `opening` bytes."""
    line = [surface.pieces[token] for token in tokens]
    if line and surface.opens and tokens[0] not in surface.raw:
        line[0] = line[0].removeprefix(SPACE)
    size, free = 0, 0  # bytes before a token, and the first token behind the last span
    begins = {span.begin: span for span in reversed(spans)}
    for place, piece in enumerate(list(line)):
        span = begins.get(place)
        if span and place >= free and size >= opening:
            space = SPACE if piece.startswith(SPACE) else b""
            line[place : span.end] = [space + span.form.text.encode(), *[b""] * (span.end - place - 1)]
            free = span.end
        size += len(piece)
    return line


def gaps(line: Sequence[bytes], opening: int, prefix: str, surface: Surface) -> list[int | None]:
    """Where the text before each token and behind the last ends; None where nothing may be put in."""
    text = prefix + surface.read(b"".join(line)[opening:])
    found: list[int | None] = []
    written = b""
    for piece in [*line, None]:
        so_far = prefix + surface.read(written[opening:])
        is_free = len(written) >= opening and piece != b"" and text.startswith(so_far)
        found.append(len(so_far) if is_free and not is_inside(text, len(so_far)) else None)
        written += piece or b""
    found[-1] = len(text)
    return found


class Outcome(NamedTuple):
    source: str
    text: str
    finished: bool
    copied: bool  # the model wrote by itself what is kept


def report(wishes: Wishes, forbidden: Sequence[str], outcome: Outcome, *, lower: bool) -> tuple[Term, ...]:
    """`lower`: the model knows no capitals, so they do not count."""
    kept = [kept_term(one, outcome) for one in wishes.kept]
    asked = Counter[tuple[str, ...]]()
    terms = []
    for source, constraint in zip(wishes.sources, wishes.constraints, strict=True):
        target = tuple(dict.fromkeys(form.text for form in constraint.forms))
        asked[target] += 1
        is_met = sum(times(form, outcome.text, lower=lower) for form in target) >= asked[target]
        is_forbidden = all(any(says(word, form, lower=lower) for word in forbidden) for form in target)
        why = "" if is_met else FORBIDDEN if is_forbidden else LEFT_OUT if outcome.finished else CUT
        terms.append(Term("term", source, target, is_met, why))
    said = [word for word in forbidden if says(word, outcome.text, lower=lower)]
    return (*kept, *terms, *(Term("forbidden", word, (), False, FORCED) for word in said))


def kept_term(kept: Kept, outcome: Outcome) -> Term:
    is_met = count(kept, outcome.text) == count(kept, outcome.source)
    return Term("kept", kept.literal, (kept.literal,), is_met, "" if outcome.copied else PUT_IN)


def times(form: str, text: str, *, lower: bool) -> int:
    """How often a form stands in a text as words of its own."""
    if lower:
        form, text = folded(form), folded(text)
    return sum(1 for _ in occurrences(form, text))


def says(forbidden: str, text: str, *, lower: bool) -> bool:
    """Whether a forbidden word stands in a text, however it is spelt."""
    return reader_of(forbidden.lower() if lower else forbidden).finds(text)
