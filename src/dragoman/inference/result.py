"""What a model answers: the same record, whatever engine runs it."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from dragoman.inference.quality.spans import CharSpan
from dragoman.search.trace import Trace
from dragoman.steering.report import ConstraintOutcome

WordAlignment = tuple[
    tuple[int, int], ...
]  # (number of the source's word, number of the output's word), from 0


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
    at: CharSpan
    source: CharSpan | None


class Result(NamedTuple):
    """`truncated`: the input was too long and read in part, or the output reached its longest length. The
    latter is `ran_away` where that length was the guard's, by the source, and not search.max_length.

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
    alignment: WordAlignment | None = None
    alternatives: tuple[Alternative, ...] = ()
    trace: Trace | None = None
    terms: tuple[ConstraintOutcome, ...] = ()  # what was asked of this output, and whether it is met
    ran_away: bool = False

    def asdict(self) -> dict[str, Any]:
        """As `dragoman run --json` prints it: what is not known has no field."""
        fields: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "truncated": self.truncated,
            "flags": self.flags,
        }
        if self.confidence is not None:
            fields["confidence"] = self.confidence
        if self.details is not None:
            fields["tokens"] = [token._asdict() for token in self.details]
        if self.alignment is not None:
            fields["alignment"] = self.alignment
        if self.alternatives:
            fields["alternatives"] = [{"text": a.text, "score": a.score} for a in self.alternatives]
        if self.terms:
            fields["terms"] = [term._asdict() for term in self.terms]
        return fields

    def __repr__(self) -> str:
        return f"Result({self.text!r}, {', '.join(self._figures())})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text)}<br><small>{escape(' · '.join(self._figures()))}</small></p>"

    def _figures(self) -> list[str]:
        sure = [] if self.confidence is None else [f"confidence={self.confidence:.2f}"]
        flags = [f"flags={' '.join(self.flags)!r}"] if self.flags else []
        more = [f"alternatives={len(self.alternatives)}"] if self.alternatives else []
        return [f"score={self.score:.3f}", *sure, *flags, *more]


EMPTY = Result("", 0.0, False, ())
