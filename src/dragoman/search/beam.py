"""Beam search: the W most probable hypotheses at each length, many sentences at once.

The beam stays W wide: a hypothesis that ends within the W best is set aside, and the next best takes its
place. The places of a sentence may be split among groups; each is a beam of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import torch

from dragoman.errors import UsageError
from dragoman.protocols import State, Step, Stepper
from dragoman.search.company import staying
from dragoman.search.coverage import coverage_penalty
from dragoman.search.expand import Candidates, continuations, diverse_continuations
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, best_possible, length_normalised, refuse_nan
from dragoman.search.trace import Recorder, Row
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import BOS, EOS

# A group is done at the longest length; when its places are filled with ended hypotheses; or when no open
# hypothesis can win any more.
Stop = Literal["length", "n_best", "all"]


class Beam(NamedTuple):
    """The open hypotheses. `tokens` begin with <s>; `seen` is Σ_t α_t of each, where a penalty needs it."""

    sentences: list[int]
    tokens: Int[Tensor, "B W T"]
    log_p: Float[Tensor, "B W"]
    state: State
    keep: Bool[Tensor, "B S"]
    seen: Float[Tensor, "B W S"] | None


class Group:
    """What has ended, best first, and whether more may come."""

    def __init__(self) -> None:
        self.found: list[Hypothesis] = []
        self.is_open = True


@dataclass(frozen=True)
class BeamSearch:
    """The n best of each sentence, best first, in at most `max_length` steps, </s> among them.

    A sentence of which nothing has ended by then gives its open hypotheses, not `finished`.
    """

    size: int
    max_length: int
    normalise: Normalise = length_normalised
    stop: Stop = "n_best"
    coverage: float = 0.0  # β of the coverage penalty
    groups: int = 1
    diversity: float = 0.0  # λ between groups
    recorder: Recorder | None = None

    @torch.inference_mode()
    def __call__(
        self, stepper: Stepper, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]
    ) -> list[list[Hypothesis]]:
        groups = [[Group() for _ in range(self.groups)] for _ in src]
        beam = self.begin(stepper, src, keep)
        for length in range(1, self.max_length + 1):
            step = stepper.step(beam.tokens[:, :, -1].flatten(), beam.state)
            beam = self.look(beam, step)
            candidates = self.expand(beam.log_p, step.log_p)
            refuse_nan(float(candidates.log_p.max()))  # a NaN is among the best, and is their maximum
            mine = [groups[sentence] for sentence in beam.sentences]
            if self.recorder:
                self.record(self.recorder, beam, candidates, length, mine)
            self.set_aside(beam, candidates, length, mine)
            chosen = candidates.open()
            self.close(beam, chosen, length, mine)
            still = [any(group.is_open for group in row) for row in mine]
            if not any(still):
                break
            beam = advance(beam, chosen, step.state, staying(still))
        return [self.pooled(row) for row in groups]

    def begin(self, stepper: Stepper, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Beam:
        B, W = len(src), self.size
        log_p = torch.full((B, W), -torch.inf, device=src.device)
        log_p[:, :: W // self.groups] = 0.0  # all begin alike: one in each group is enough
        tokens = torch.full((B, W, 1), BOS, device=src.device)
        return Beam(list(range(B)), tokens, log_p, stepper.start(src, keep, W), keep, None)

    def look(self, beam: Beam, step: Step) -> Beam:
        if not self.coverage:
            return beam
        if step.attention is None:
            raise UsageError(
                "A coverage penalty needs to see where the model looks, and this one looks nowhere.",
                where="search.coverage_penalty",
                hint="search.coverage_penalty=0",
            )
        seen = step.attention.view(*beam.log_p.shape, -1)
        return beam._replace(seen=seen if beam.seen is None else beam.seen + seen)

    def expand(self, log_p: Float[Tensor, "B W"], step: Float[Tensor, "N V"]) -> Candidates:
        if self.groups == 1:
            return continuations(log_p, step)
        return diverse_continuations(log_p, step, self.groups, self.diversity)

    def set_aside(
        self, beam: Beam, candidates: Candidates, length: int, groups: Sequence[Sequence[Group]]
    ) -> None:
        """What ends among the best of each group, as many as it has places."""
        width = self.size // self.groups
        ends = (candidates.token[..., :width] == EOS) & candidates.log_p[..., :width].isfinite()
        where = ends.nonzero()
        if not len(where):
            return
        place, group, rank = where.unbind(1)
        parent, log_p = candidates.parent[place, group, rank], candidates.log_p[place, group, rank]
        tokens = beam.tokens[place, parent, 1:].tolist()
        scores = self.scores(beam, place, parent, log_p, length)
        for (i, g, _), y, p, score in zip(where.tolist(), tokens, log_p.tolist(), scores, strict=True):
            mine = groups[i][g]
            if mine.is_open:
                found = [*mine.found, Hypothesis(tuple(y), score, p, True)]
                mine.found = sorted(found, key=lambda h: -h.score)[:width]

    def close(self, beam: Beam, chosen: Candidates, length: int, groups: Sequence[Sequence[Group]]) -> None:
        """Closes the groups whose best can no longer change; one without an end gives what is open."""
        for place, best in enumerate(chosen.log_p[..., 0].tolist()):
            for g, (group, log_p) in enumerate(zip(groups[place], best, strict=True)):
                if not group.is_open:
                    continue
                is_last = length == self.max_length or log_p == -torch.inf
                group.is_open = not is_last and self.may_change(group.found, log_p)
                if is_last and not group.found:
                    group.found = self.cut(beam, chosen, length, place, g)

    def may_change(self, found: list[Hypothesis], log_p: float) -> bool:
        """Whether open hypotheses, the best of which has this Σ log p, may change the best that ended."""
        if len(found) < self.size // self.groups or self.stop == "length":
            return True
        return self.stop == "all" and best_possible(log_p, self.max_length, self.normalise) > found[-1].score

    def cut(self, beam: Beam, chosen: Candidates, length: int, place: int, group: int) -> list[Hypothesis]:
        """The open hypotheses as they stand; where none can go on, as they stood."""
        log_p, parent, token = (x[place, group] for x in chosen)
        tokens = torch.cat((beam.tokens[place, parent, 1:], token.unsqueeze(1)), dim=1)
        if not log_p.isfinite().any():
            width = self.size // self.groups
            parent = torch.arange(group * width, (group + 1) * width, device=parent.device)
            log_p, tokens, length = beam.log_p[place, parent], beam.tokens[place, parent, 1:], length - 1
        scores = self.scores(beam, torch.full_like(parent, place), parent, log_p, max(length, 1))
        rows = zip(tokens.tolist(), scores, log_p.tolist(), strict=True)
        return [Hypothesis(tuple(y), score, p, False) for y, score, p in rows if p > -torch.inf]

    def scores(
        self,
        beam: Beam,
        place: Int[Tensor, " N"],
        parent: Int[Tensor, " N"],
        log_p: Float[Tensor, " N"],
        length: int,
    ) -> list[float]:
        """What ranks the hypotheses that continue `parent` in `place` to this Σ log p."""
        scores = [self.normalise(p, length) for p in log_p.tolist()]
        if beam.seen is None:
            return scores
        penalty = self.coverage * coverage_penalty(beam.seen[place, parent], beam.keep[place])
        return [score + p for score, p in zip(scores, penalty.tolist(), strict=True)]

    def record(
        self,
        recorder: Recorder,
        beam: Beam,
        candidates: Candidates,
        length: int,
        groups: Sequence[Sequence[Group]],
    ) -> None:
        width = self.size // self.groups
        for place, (sentence, row) in enumerate(zip(beam.sentences, groups, strict=True)):
            for g, group in enumerate(row):
                log_p, parent, token = (x[place, g] for x in candidates)
                if group.is_open:
                    scores = self.scores(beam, torch.full_like(parent, place), parent, log_p, length)
                    columns = (log_p.tolist(), scores, parent.tolist(), token.tolist())
                    rows = [Row(*values) for values in zip(*columns, strict=True)]
                    recorder.step(sentence, g, length, rows, width)

    def pooled(self, groups: Sequence[Group]) -> list[Hypothesis]:
        """The best of all groups, each once; what was cut only where nothing ended."""
        if len(groups) == 1:
            return groups[0].found
        every = [h for group in groups for h in group.found]
        ended = [h for h in every if h.finished]
        distinct = {h.tokens: h for h in ended or every}.values()
        return sorted(distinct, key=lambda h: -h.score)[: self.size]


def beam_search(
    stepper: Stepper,
    src: Int[Tensor, "B S"],
    keep: Bool[Tensor, "B S"],
    *,
    size: int,
    max_length: int,
    length_penalty: float = 1.0,
    stop: Stop = "n_best",
) -> list[list[Hypothesis]]:
    """The plain beam, in one call."""
    normalise = partial(length_normalised, alpha=length_penalty)
    return BeamSearch(size, max_length, normalise, stop)(stepper, src, keep)


def advance(beam: Beam, chosen: Candidates, state: State, places: list[int]) -> Beam:
    """The chosen continuations become the open hypotheses of the sentences that go on."""
    B, W = beam.log_p.shape
    log_p, parent, token = (x.flatten(1) for x in chosen)
    sentences = torch.arange(B, device=parent.device)
    if len(places) < B:
        sentences = torch.tensor(places, device=parent.device)
        log_p, parent, token = log_p[sentences], parent[sentences], token[sentences]
    rows = (sentences.unsqueeze(1) * W + parent).flatten()
    tokens = torch.cat((beam.tokens.flatten(0, 1)[rows], token.view(-1, 1)), dim=1)
    return Beam(
        [beam.sentences[place] for place in places],
        tokens.unflatten(0, (-1, W)),
        log_p,
        state.select(rows) if len(places) == B else state.keep_sentences(sentences, rows),
        beam.keep[sentences],
        None if beam.seen is None else beam.seen.flatten(0, 1)[rows].unflatten(0, (-1, W)),
    )
