"""The result of a model, the same record for every runtime."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from dragoman.inference.quality.spans import CharSpan
from dragoman.search.trace import Trace
from dragoman.steering.report import ConstraintOutcome

# (index of the source word, index of the output word), from 0
WordAlignment = tuple[tuple[int, int], ...]


class Alternative(NamedTuple):
    """One hypothesis of the n-best list."""

    text: str
    score: float
    tokens: tuple[int, ...]


class Token(NamedTuple):
    """One token of an output, including the </s> of an output that ended by itself.

    `entropy` is that of the predicted distribution, in nats; None if the engine does not report it.
    `confidence` is None without a calibration. `at` is the character span in the output, `source` that of the
    source token with the most attention; None if that is </s> or the model has no attention.
    """

    piece: str
    log_p: float
    entropy: float | None
    confidence: float | None
    at: CharSpan
    source: CharSpan | None


class Result(NamedTuple):
    """The output for one text.

    `truncated`: the input was too long and only partly read, or the output reached its maximum length.
    `ran_away`: that maximum was the guard's, which depends on the source, and not search.max_length.

    `confidence` is None without a calibration. `details` and `alignment` are None unless requested, and
    `alignment` is also None for a decoder without attention. `alternatives` is the n-best list, this output
    first, if more than one was requested.
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
    terms: tuple[ConstraintOutcome, ...] = ()  # the constraints on this output, and whether they are met
    ran_away: bool = False
    log_p: float = 0.0  # Σ log p over the tokens and </s>

    def asdict(self) -> dict[str, Any]:
        """Return the fields as `dragoman run --json` prints them; unknown ones are left out."""
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
        calibrated = [] if self.confidence is None else [f"confidence={self.confidence:.2f}"]
        flags = [f"flags={' '.join(self.flags)!r}"] if self.flags else []
        more = [f"alternatives={len(self.alternatives)}"] if self.alternatives else []
        return [f"score={self.score:.3f}", *calibrated, *flags, *more]


EMPTY = Result("", 0.0, False, ())
