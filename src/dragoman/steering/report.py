"""What came of what was asked: the text of an output, and the report on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dragoman.steering.banned_words import matcher_of
from dragoman.steering.placeholders import Placeholder, count
from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.steering.words import folded, occurrences

if TYPE_CHECKING:  # the rest is needed where there is no torch
    from dragoman.search.lexical.constraints import Constraint, FormMatch

CUT = "the output was cut at its longest length"
FORBIDDEN = "every form of it is forbidden"
LEFT_OUT = "the search found no place for it"
REINSERTED = "put in where the model looked: it did not write it itself"
FORCED = "the prefix, a term or what is kept has it, or nothing else was left to write"


class ConstraintOutcome(NamedTuple):
    """One thing that was asked of an output."""

    kind: str  # "term", "kept" or "forbidden"
    source: str  # what stands in the source; what is forbidden
    target: tuple[str, ...]  # one of these was asked for
    met: bool
    why: str = ""  # it is not met, or not as the model wrote it


class SteeringRequest(NamedTuple):
    """What is asked of the output of one text."""

    constraints: Sequence[Constraint] = ()
    sources: Sequence[str] = ()  # of the constraints
    kept: Sequence[Placeholder] = ()


def token_texts(
    surface: TokenBytes, tokens: Sequence[int], spans: Sequence[FormMatch], opening: int
) -> list[bytes]:
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


class SteeredOutput(NamedTuple):
    source: str
    text: str
    finished: bool
    copied: bool  # the model wrote by itself what is kept


def constraint_report(
    wishes: SteeringRequest, forbidden: Sequence[str], outcome: SteeredOutput, *, lower: bool
) -> tuple[ConstraintOutcome, ...]:
    """`lower`: the model knows no capitals, so they do not count."""
    kept = [
        placeholder_outcome(one, outcome.source, outcome.text, copied=outcome.copied) for one in wishes.kept
    ]
    asked = Counter[tuple[str, ...]]()
    terms = []
    for source, constraint in zip(wishes.sources, wishes.constraints, strict=True):
        target = tuple(dict.fromkeys(form.text for form in constraint.forms))
        asked[target] += 1
        is_met = sum(count_words(form, outcome.text, lower=lower) for form in target) >= asked[target]
        is_forbidden = all(
            any(contains_word(word, form, lower=lower) for word in forbidden) for form in target
        )
        why = "" if is_met else FORBIDDEN if is_forbidden else LEFT_OUT if outcome.finished else CUT
        terms.append(ConstraintOutcome("term", source, target, is_met, why))
    said = [word for word in forbidden if contains_word(word, outcome.text, lower=lower)]
    return (*kept, *terms, *(ConstraintOutcome("forbidden", word, (), False, FORCED) for word in said))


def count_words(form: str, text: str, *, lower: bool) -> int:
    """How often a form stands in a text as words of its own."""
    if lower:
        form, text = folded(form), folded(text)
    return sum(1 for _ in occurrences(form, text))


def contains_word(forbidden: str, text: str, *, lower: bool) -> bool:
    """Whether a forbidden word stands in a text, however it is spelt."""
    return matcher_of(forbidden.lower() if lower else forbidden).finds(text)


def placeholder_outcome(kept: Placeholder, source: str, text: str, *, copied: bool) -> ConstraintOutcome:
    """`copied`: the model wrote by itself what is kept."""
    is_met = count(kept, text) == count(kept, source)
    return ConstraintOutcome("kept", kept.literal, (kept.literal,), is_met, "" if copied else REINSERTED)
