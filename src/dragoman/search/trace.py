"""A complete record of a search: every candidate, where it came from, and what became of it. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from dragoman.search.hypothesis import Hypothesis
from dragoman.text.specials import EOS

Status = Literal["open", "ended", "pruned"]  # open to the next step, or to the end of the search
NO_PLACE = "better ones fill the beam"
TOO_LOW = "it ends, but below the beam"
ROOT = 0  # the number of <s>, with which all begin


class CandidateRow(NamedTuple):
    """A candidate as a search sees it. `place` is where its parent stands in the beam."""

    log_p: float
    score: float
    place: int
    token: int


class Candidate(NamedTuple):
    """One token put behind `parent`. `log_p` is Σ log p up to it, and `score` what it would be ranked by."""

    number: int
    parent: int
    step: int
    group: int
    token: int
    log_p: float
    score: float
    fate: Status
    why: str  # it was pruned


class Trace(NamedTuple):
    """Of one sentence. `best` has the numbers of what was returned, best first."""

    candidates: tuple[Candidate, ...]
    best: tuple[int, ...]

    def to_json(self, piece: Callable[[int], str] | None = None) -> dict[str, Any]:
        """With `piece`, which names a token, each candidate has its `text`."""
        rows = [c._asdict() | ({"text": piece(c.token)} if piece else {}) for c in self.candidates]
        return {"best": list(self.best), "candidates": rows}


class Recorder:
    """Listens to a search over a batch."""

    def __init__(self) -> None:
        self._candidates: dict[int, list[Candidate]] = {}
        self._beams: dict[tuple[int, int], dict[int, int]] = {}  # who stands where, by sentence and group

    def step(
        self, sentence: int, group: int, step: int, rows: Sequence[CandidateRow], width: int, first: int = 0
    ) -> None:
        """`rows` stand best first; the first `width` of them that do not end go on, to the places from
        `first` on."""
        mine = self._candidates.setdefault(sentence, [])
        before = self._beams.get((sentence, group), {})
        beam: dict[int, int] = {}
        for rank, row in enumerate(rows):
            if row.log_p == float("-inf"):
                continue
            fate, why = self._fate(row, rank < width, len(beam) < width)
            number, parent = len(mine) + 1, before.get(row.place, ROOT)
            if fate == "open":
                beam[first + len(beam)] = number
            mine.append(Candidate(number, parent, step, group, row.token, row.log_p, row.score, fate, why))
        self._beams[sentence, group] = beam

    def traces(self, found: Sequence[Sequence[Hypothesis]]) -> list[Trace]:
        """Of the sentences that gave these hypotheses."""
        out = []
        for sentence, hypotheses in enumerate(found):
            mine = self._candidates.get(sentence, [])
            numbers = {self._tokens(mine, c): c.number for c in reversed(mine) if c.fate != "pruned"}
            best = [numbers[(*h.tokens, EOS) if h.finished else h.tokens] for h in hypotheses]
            out.append(Trace(tuple(mine), tuple(best)))
        return out

    @staticmethod
    def _fate(row: CandidateRow, within: bool, has_place: bool) -> tuple[Status, str]:
        if row.token == EOS:
            return ("ended", "") if within else ("pruned", TOO_LOW)
        return ("open", "") if has_place else ("pruned", NO_PLACE)

    @staticmethod
    def _tokens(mine: Sequence[Candidate], candidate: Candidate) -> tuple[int, ...]:
        tokens = [candidate.token]
        while candidate.parent != ROOT:
            candidate = mine[candidate.parent - 1]
            tokens.append(candidate.token)
        return tuple(reversed(tokens))
