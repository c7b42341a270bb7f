"""The text of a constrained output, and the report on its constraints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dragoman.steering.banned_words import matcher_of
from dragoman.steering.placeholders import Placeholder, count
from dragoman.steering.reinsertion import keeps_tags
from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.steering.words import folded, occurrences

if TYPE_CHECKING:  # it imports torch, which the rest of this module does not need
    from dragoman.search.lexical.constraints import Constraint, FormMatch

CUT = "the output was cut at its maximum length"
FORBIDDEN = "every form of it is forbidden"
LEFT_OUT = "the search found no place for it"
REINSERTED = "inserted by attention: the model did not copy it"
FORCED = "the prefix, a term or a placeholder contains it, or no other token was allowed"


class ConstraintOutcome(NamedTuple):
    """The outcome of one constraint on an output."""

    kind: str  # "term", "kept" or "forbidden"
    source: str  # the text in the source, or the forbidden word
    target: tuple[str, ...]  # the accepted forms
    met: bool
    why: str = ""  # the reason if it is not met, or not by the model itself


class Term(NamedTuple):
    """A glossary term in one text."""

    source: str
    target: tuple[str, ...]  # its forms


class SteeringRequest(NamedTuple):
    """The constraints on the output of one text."""

    terms: Sequence[Term] = ()
    constraints: Sequence[Constraint] = ()  # of the terms that may be written
    kept: Sequence[Placeholder] = ()


def token_texts(
    surface: TokenBytes, tokens: Sequence[int], spans: Sequence[FormMatch], opening: int
) -> list[bytes]:
    """Return the bytes that each token writes.

    Constraints are written as they were typed, even if the vocabulary lacks capitals or some characters,
    unless they begin within the first `opening` bytes.
    """
    line = [surface.pieces[token] for token in tokens]
    if line and surface.opens and tokens[0] not in surface.raw:
        line[0] = line[0].removeprefix(SPACE)
    size, free = 0, 0  # bytes before a token, and the first token after the last span
    begins = {span.begin: span for span in reversed(spans)}
    for index, piece in enumerate(list(line)):
        span = begins.get(index)
        if span and index >= free and size >= opening:
            space = SPACE if piece.startswith(SPACE) else b""
            line[index : span.end] = [space + span.form.text.encode(), *[b""] * (span.end - index - 1)]
            free = span.end
        size += len(piece)
    return line


class SteeredOutput(NamedTuple):
    source: str
    text: str
    finished: bool
    copied: bool  # the model copied the placeholders itself


def constraint_report(
    requests: SteeringRequest, forbidden: Sequence[str], outcome: SteeredOutput, *, lower: bool
) -> tuple[ConstraintOutcome, ...]:
    """Return the outcome of each constraint; with `lower`, for a model without capitals, ignore case."""
    tags = keeps_tags(outcome.text, outcome.source, requests.kept)
    kept = [placeholder_outcome(one, outcome, are_tags_kept=tags) for one in requests.kept]
    required = Counter[tuple[str, ...]]()
    terms = []
    for source, target in requests.terms:
        required[target] += 1
        is_met = sum(count_words(form, outcome.text, lower=lower) for form in target) >= required[target]
        is_forbidden = not allowed_forms(target, forbidden, lower=lower)
        why = "" if is_met else FORBIDDEN if is_forbidden else LEFT_OUT if outcome.finished else CUT
        terms.append(ConstraintOutcome("term", source, target, is_met, why))
    violated = [word for word in forbidden if contains_word(word, outcome.text, lower=lower)]
    return (*kept, *terms, *(ConstraintOutcome("forbidden", word, (), False, FORCED) for word in violated))


def allowed_forms(forms: Sequence[str], forbidden: Sequence[str], *, lower: bool) -> list[str]:
    """Return the forms of a term that contain no forbidden word."""
    return [form for form in forms if not any(contains_word(word, form, lower=lower) for word in forbidden)]


def count_words(form: str, text: str, *, lower: bool) -> int:
    """Count the occurrences of a form in a text as whole words."""
    if lower:
        form, text = folded(form), folded(text)
    return sum(1 for _ in occurrences(form, text))


def contains_word(forbidden: str, text: str, *, lower: bool) -> bool:
    """Return whether a text contains a forbidden word in any spelling."""
    return matcher_of(forbidden.lower() if lower else forbidden).finds(text)


def placeholder_outcome(
    kept: Placeholder, outcome: SteeredOutput, *, are_tags_kept: bool
) -> ConstraintOutcome:
    """Return the outcome of a placeholder."""
    is_met = count(kept, outcome.text) == count(kept, outcome.source)
    is_met = is_met and (are_tags_kept or kept.kind != "tags")
    return ConstraintOutcome(
        "kept", kept.literal, (kept.literal,), is_met, "" if outcome.copied else REINSERTED
    )
