"""What a model answers: the same record, whatever engine runs it."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.inference.spans import Span
from dragoman.search.trace import Trace

Words = tuple[tuple[int, int], ...]  # (number of the source's word, number of the output's word), from 0


class Alternative(NamedTuple):
    """One of the n best."""

    text: str
    score: float
    tokens: tuple[int, ...]


class Token(NamedTuple):
    """One token of an output; the last one is </s>, where the output ended by itself.

    `entropy` in nats is how undecided the model was, None where an engine does not tell; `confidence` is None
    before a calibration. `at` is where it stands in the output and `source` what the model looked at most,
    None where that is the source's </s> or where it looks nowhere: spans in characters.
    """

    piece: str
    log_p: float
    entropy: float | None
    confidence: float | None
    at: Span
    source: Span | None


class Term(NamedTuple):
    """One thing that was asked of an output."""

    kind: str  # "term", "kept" or "forbidden"
    source: str  # what stands in the source; what is forbidden
    target: tuple[str, ...]  # one of these was asked for
    met: bool
    why: str = ""  # it is not met, or not as the model wrote it


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length.

    `confidence` is None before a calibration; `details` and `alignment` are None where they were not asked
    for, and `alignment` of a decoder that looks nowhere. `alternatives` are the n best, this one first, where
    more than one was asked for.
    """

    text: str
    score: float
    truncated: bool
    tokens: tuple[int, ...]
    flags: tuple[str, ...] = ()
    confidence: float | None = None
    details: tuple[Token, ...] | None = None
    alignment: Words | None = None
    alternatives: tuple[Alternative, ...] = ()
    trace: Trace | None = None
    terms: tuple[Term, ...] = ()  # what was asked of this output, and whether it is met


EMPTY = Result("", 0.0, False, ())
