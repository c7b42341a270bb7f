"""Quality flags of outputs: rules on the texts alone, which cost almost nothing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from dragoman.search.repetition import LOOP_REPEATS
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
MIN_COPY_WORDS = 4  # words of a copy at least: a shorter output may consist of names
COPY_SHARE = 0.8  # share of the output's words that also appear in the source
MAX_SPELT_DIGITS = 2  # digits of a number that may be spelt out
MAX_LENGTH_RATIO = 2.5  # references of European pairs lie between 0.5 and 1.7
WORD = re.compile(r"[^\W\d_]+")
DIGIT = re.compile(r"\d")
MARKS = re.compile(r"[<&%{\[`\\]|__|:[a-z]")  # how a placeholder or tag can begin
NUMBER = re.compile(r"\d(?:[.,:'’\u00a0\u202f]?\d)*")


class Limits(NamedTuple):
    """Thresholds of the flags; those of a calibration replace these defaults."""

    shortest: float = 1 / MAX_LENGTH_RATIO  # length of the output over that of the source
    longest: float = MAX_LENGTH_RATIO
    mean_log_p: float = -math.inf  # below which the confidence is low
    muted: frozenset[str] = frozenset()  # flags that references of this task also raise


class FlagInput(NamedTuple):
    """A source and its output. `repeats` are the numbers of repetitions of their longest loops."""

    source: str
    output: str
    truncated: bool
    repeats: tuple[int, int]
    mean_log_p: float = 0.0


def compute_flags(seen: FlagInput, limits: Limits) -> tuple[str, ...]:
    """Return the flags of an output, in the order of FLAGS."""
    ratio = length_ratio(seen.source, seen.output)
    found = {
        "truncated": seen.truncated,
        "repetition": is_repetition(*seen.repeats),
        "copied": is_copy(seen.source, seen.output),
        "too_long": ratio > limits.longest,
        "too_short": ratio < limits.shortest or is_empty(seen.source, seen.output),
        "low_confidence": seen.mean_log_p < limits.mean_log_p,
        "number_mismatch": is_number_mismatch(seen.source, seen.output),
        "placeholder_mismatch": placeholders(seen.source) != placeholders(seen.output),
    }
    return tuple(flag for flag in FLAGS if found[flag] and flag not in limits.muted)


def is_repetition(source: int, output: int) -> bool:
    """Return whether the output has a loop with more repetitions than those of the source."""
    return output >= LOOP_REPEATS and output > source


def is_copy(source: str, output: str) -> bool:
    """Return whether nearly all words of the output appear in the source.

    An output of few words, as in a script without spaces, must be the same text.
    """
    written = WORD.findall(output.casefold())
    if len(written) < MIN_COPY_WORDS:
        return len("".join(written)) > LENGTH_SLACK and source.casefold().split() == output.casefold().split()
    given = set(WORD.findall(source.casefold()))
    return sum(word in given for word in written) >= COPY_SHARE * len(written)


def length_ratio(source: str, output: str) -> float:
    """Return the characters of the output divided by those of the source, both with some slack."""
    return (len(output) + LENGTH_SLACK) / (len(source) + LENGTH_SLACK)


def is_empty(source: str, output: str) -> bool:
    return not output.strip() and bool(source.strip())


def is_number_mismatch(source: str, output: str) -> bool:
    """Return whether one number became another, or a long one is on one side only.

    Short numbers may be spelt out.
    """
    if not (DIGIT.search(source) or DIGIT.search(output)):
        return False
    given, written = numbers(source), numbers(output)
    lost, new = given - written, written - given
    return bool(lost and new) or any(len(number) > MAX_SPELT_DIGITS for number in lost + new)


def numbers(text: str) -> Counter[str]:
    """Count the numbers in digits, without their separators: 1,000.5 and 1.000,5 are the same."""
    return Counter(
        "".join(str(unicodedata.decimal(c)) for c in found if c.isdecimal()) for found in NUMBER.findall(text)
    )


def placeholders(text: str) -> Counter[str]:
    """Count the placeholders and tags, ignoring case, as a lowercase model writes them in lower case."""
    if not MARKS.search(text):
        return Counter()
    return Counter(folded(kept.literal) for kept in find_placeholders(text, ("tags", "placeholders")))
