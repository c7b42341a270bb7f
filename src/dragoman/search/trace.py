"""A complete record of a search as plain data: every candidate, its parent and its fate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from dragoman.search.hypothesis import Hypothesis
from dragoman.text.specials import EOS

Status = Literal["open", "ended", "pruned"]  # open until the next step or the end of the search
NO_PLACE = "the beam is full of better candidates"
TOO_LOW = "it ends, but ranks below the beam"
ROOT = 0  # the number of <s>, the root of all hypotheses


class CandidateRow(NamedTuple):
    """A candidate as reported by a search. `place` is the index of its parent in the beam."""

    log_p: float
    score: float
    place: int
    token: int


class Candidate(NamedTuple):
    """One token appended to `parent`. `log_p` is Σ log p including it; `score` is its ranking score."""

    number: int
    parent: int
    step: int
    group: int
    token: int
    log_p: float
    score: float
    fate: Status
    why: str  # reason if it was pruned


class Trace(NamedTuple):
    """The trace of one sentence. `best` holds the numbers of the returned hypotheses, best first."""

    candidates: tuple[Candidate, ...]
    best: tuple[int, ...]

    def to_json(self, piece: Callable[[int], str] | None = None) -> dict[str, Any]:
        """Return the trace as JSON data; with `piece`, which names a token, each candidate has a `text`."""
        rows = [c._asdict() | ({"text": piece(c.token)} if piece else {}) for c in self.candidates]
        return {"best": list(self.best), "candidates": rows}


class Recorder:
    """A recorder of the steps of a search over a batch."""

    def __init__(self) -> None:
        self._candidates: dict[int, list[Candidate]] = {}
        # (sentence, group) → beam index → candidate number
        self._beams: dict[tuple[int, int], dict[int, int]] = {}

    def step(
        self, sentence: int, group: int, step: int, rows: Sequence[CandidateRow], width: int, first: int = 0
    ) -> None:
        """Record one step. `rows` are sorted best first; the first `width` that do not end fill the beam from
        index `first`."""
        record = self._candidates.setdefault(sentence, [])
        before = self._beams.get((sentence, group), {})
        beam: dict[int, int] = {}
        for rank, row in enumerate(rows):
            if row.log_p == float("-inf"):
                continue
            fate, why = self._fate(row, rank < width, len(beam) < width)
            number, parent = len(record) + 1, before.get(row.place, ROOT)
            if fate == "open":
                beam[first + len(beam)] = number
            record.append(Candidate(number, parent, step, group, row.token, row.log_p, row.score, fate, why))
        self._beams[sentence, group] = beam

    def traces(self, found: Sequence[Sequence[Hypothesis]]) -> list[Trace]:
        """Return the traces of the sentences with these hypotheses."""
        out = []
        for sentence, hypotheses in enumerate(found):
            record = self._candidates.get(sentence, [])
            numbers = {self._tokens(record, c): c.number for c in reversed(record) if c.fate != "pruned"}
            best = [numbers[(*h.tokens, EOS) if h.finished else h.tokens] for h in hypotheses]
            out.append(Trace(tuple(record), tuple(best)))
        return out

    @staticmethod
    def _fate(row: CandidateRow, is_in_beam: bool, has_room: bool) -> tuple[Status, str]:
        if row.token == EOS:
            return ("ended", "") if is_in_beam else ("pruned", TOO_LOW)
        return ("open", "") if has_room else ("pruned", NO_PLACE)

    @staticmethod
    def _tokens(record: Sequence[Candidate], candidate: Candidate) -> tuple[int, ...]:
        tokens = [candidate.token]
        while candidate.parent != ROOT:
            candidate = record[candidate.parent - 1]
            tokens.append(candidate.token)
        return tuple(reversed(tokens))
