"""Reasons why an output differs from its reference, found by rules that name the words they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from dragoman.analysis.training_words import TrainingWords, unseen
from dragoman.inference.quality.flags import is_copy, is_number_mismatch, is_repetition, numbers
from dragoman.search.repetition import max_repeats
from dragoman.text.running_words import running_words

# Each with how it is shown; the order is that of the tags of a sentence.
REASONS = {
    "empty": "no output",
    "repetition": "words repeated",
    "copied": "source not translated",
    "too_short": "less than half as long as the reference",
    "too_long": "more than twice as long as the reference",
    "omission": "words of the source are not translated",
    "hallucination": "words that translate nothing of the source",
    "numbers": "other numbers than the reference",
    "unseen_words": "words that are not in the training data",
    "long_source": "longer than 99 % of the training data",
    "word_form": "right words in another form",
    "word_order": "right words in another order",
    "surface": "case, spacing or punctuation only",
    "wording": "other words, for none of these reasons",
}
LENGTHS = 0.5, 2.0  # usual characters of an output relative to its reference
SAME_WORDS = 0.8  # F₁ of the words of outputs whose order is compared
SAME_ORDER = 0.8  # of the common words, at most, in the order of the reference
STEM = 4  # letters, at least, that two forms of a word begin with
SHARE_OF_STEM = 0.6  # of the longer form, at least


@dataclass(frozen=True)
class Reason:
    tag: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A source with its output and reference, and words without a counterpart, if they were looked for."""

    source: str
    output: str
    reference: str
    omitted: tuple[str, ...] = ()
    hallucinated: tuple[str, ...] = ()


def reasons(sentence: Sentence, training: TrainingWords | None = None) -> tuple[Reason, ...]:
    """Return the reasons, in the order of REASONS; none if output and reference are equal."""
    if sentence.output == sentence.reference:
        return ()
    if not sentence.output.strip():
        return (Reason("empty"),)
    found = tuple(_found(sentence, training))
    return found or (Reason("wording"),)


def _found(one: Sentence, training: TrainingWords | None) -> Iterator[Reason]:
    source, output, wanted = map(running_words, (one.source, one.output, one.reference))
    if is_repetition(max_repeats(wanted), max_repeats(output)):
        yield Reason("repetition")
    if is_copy(one.source, one.output) and not is_copy(one.source, one.reference):
        yield Reason("copied")
    ratio = len(one.output) / max(len(one.reference), 1)
    if ratio < LENGTHS[0]:
        yield Reason("too_short")
    if ratio > LENGTHS[1]:
        yield Reason("too_long")
    if one.omitted:
        yield Reason("omission", one.omitted)
    if one.hallucinated:
        yield Reason("hallucination", one.hallucinated)
    if is_number_mismatch(one.reference, one.output):
        missing = numbers(one.reference) - numbers(one.output)
        yield Reason("numbers", tuple(missing))
    if training and (new := unseen(source, training.src)):
        yield Reason("unseen_words", tuple(new))
    if training and len(source) > training.long:
        yield Reason("long_source")
    yield from _same_words(output, wanted)


def _same_words(output: list[str], wanted: list[str]) -> Iterator[Reason]:
    if output == wanted:
        yield Reason("surface")
        return
    if forms := other_forms(output, wanted):
        yield Reason("word_form", forms)
    common = (Counter(output) & Counter(wanted)).total()
    is_same = 2 * common >= SAME_WORDS * (len(output) + len(wanted))
    if is_same and LCSseq.similarity(output, wanted) <= SAME_ORDER * common:
        yield Reason("word_order")


def other_forms(output: list[str], wanted: list[str]) -> tuple[str, ...]:
    """Return the words of the output that begin as a word of the reference does, where neither has both."""
    ours, theirs = (list(Counter(a) - Counter(b)) for a, b in ((output, wanted), (wanted, output)))
    return tuple(word for word in ours if any(is_form(word, other) for other in theirs))


def is_form(word: str, other: str) -> bool:
    stem = next(
        (place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b),
        min(len(word), len(other)),
    )
    return stem >= max(STEM, SHARE_OF_STEM * max(len(word), len(other)))
