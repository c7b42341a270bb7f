"""Flags: what a reader should look at twice. Rules on the texts alone, so they cost next to nothing."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from dragoman.search.repetition import MAX_REPEATS
from dragoman.steering.placeholders import find_placeholders
from dragoman.steering.words import folded

FLAGS = (
    "truncated",
    "repetition",
    "copied",
    "too_long",
    "too_short",
    "low_confidence",
    "number_mismatch",
    "placeholder_mismatch",
)
LENGTH_SLACK = 20  # characters by which short texts may differ in length
MIN_COPY_WORDS = 4  # words that can be a copy: fewer may all be names
COPY_SHARE = 0.8  # of the words that stand in the source too
MAX_SPELT_DIGITS = 2  # digits of a number that may be written as a word
MAX_LENGTH_RATIO = 2.5  # references of European pairs lie between 0.5 and 1.7
WORD = re.compile(r"[^\W\d_]+")
DIGIT = re.compile(r"\d")
MARKS = re.compile(r"[<&%{\[`\\]|__|:[a-z]")  # all that a placeholder or tag can begin with
NUMBER = re.compile(r"\d(?:[.,:'’\u00a0\u202f]?\d)*")


class Limits(NamedTuple):
    """Where outputs become odd; what a calibration has learned of a task replaces these."""

    shortest: float = 1 / MAX_LENGTH_RATIO  # length of the output over that of the source
    longest: float = MAX_LENGTH_RATIO
    confidence: float = 0.0
    muted: frozenset[str] = frozenset()  # flags that good references of this task raise, too


class FlagInput(NamedTuple):
    """A source and its output, as much as the rules ask for; `turns` are those of each one's longest loop."""

    source: str
    output: str
    truncated: bool
    turns: tuple[int, int]
    confidence: float | None = None


def compute_flags(seen: FlagInput, limits: Limits) -> tuple[str, ...]:
    """The flags of an output, in the order of FLAGS."""
    ratio = length_ratio(seen.source, seen.output)
    found = {
        "truncated": seen.truncated,
        "repetition": is_repetition(*seen.turns),
        "copied": is_copy(seen.source, seen.output),
        "too_long": ratio > limits.longest,
        "too_short": ratio < limits.shortest or is_empty(seen.source, seen.output),
        "low_confidence": seen.confidence is not None and seen.confidence < limits.confidence,
        "number_mismatch": is_number_mismatch(seen.source, seen.output),
        "placeholder_mismatch": placeholders(seen.source) != placeholders(seen.output),
    }
    return tuple(flag for flag in FLAGS if found[flag] and flag not in limits.muted)


def is_repetition(source: int, output: int) -> bool:
    """A loop that the source does not have as long itself."""
    return output >= MAX_REPEATS and output > source


def is_copy(source: str, output: str) -> bool:
    """Nearly all words of the output stand in the source; a script without spaces must be the same text."""
    written = WORD.findall(output.casefold())
    if len(written) < MIN_COPY_WORDS:
        return len("".join(written)) > LENGTH_SLACK and source.casefold().split() == output.casefold().split()
    given = set(WORD.findall(source.casefold()))
    return sum(word in given for word in written) >= COPY_SHARE * len(written)


def length_ratio(source: str, output: str) -> float:
    """Characters of the output over those of the source, both with some slack."""
    return (len(output) + LENGTH_SLACK) / (len(source) + LENGTH_SLACK)


def is_empty(source: str, output: str) -> bool:
    return not output.strip() and bool(source.strip())


def is_number_mismatch(source: str, output: str) -> bool:
    """One number became another, or a long one is on one side only; short ones may be written as words."""
    if not (DIGIT.search(source) or DIGIT.search(output)):
        return False
    given, written = numbers(source), numbers(output)
    lost, new = given - written, written - given
    return bool(lost and new) or any(len(number) > MAX_SPELT_DIGITS for number in lost + new)


def numbers(text: str) -> Counter[str]:
    """The numbers in digits, without what separates groups and decimals: 1,000.5 and 1.000,5 are the same."""
    return Counter(
        "".join(str(unicodedata.decimal(c)) for c in found if c.isdecimal()) for found in NUMBER.findall(text)
    )


def placeholders(text: str) -> Counter[str]:
    """Placeholders and tags; a model without capitals writes them without."""
    if not MARKS.search(text):
        return Counter()
    return Counter(folded(kept.literal) for kept in find_placeholders(text, ("tags", "placeholders")))
