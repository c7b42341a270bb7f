"""Beam search: the W most probable hypotheses at each length, for a batch of sentences.

The beam stays W wide: a hypothesis that ends within the W best is set aside, and the next best takes its
place. The beam of a sentence may be split into groups; each is a beam of its own.

A beam prunes by the score of prefixes, so its best hypothesis may score less than the output of greedy
search. The careful search (stop = "heuristic") ranks that output with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch

from dragoman.errors import UsageError
from dragoman.protocols import State, Step, Stepper, send
from dragoman.search.batch_invariance import rows_to_keep
from dragoman.search.coverage import coverage_penalty
from dragoman.search.expand import BeamCandidates, continuations, diverse_continuations, to_host
from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.processors.loop_guard import LoopWatch
from dragoman.search.repetition import LoopBounds
from dragoman.search.scores import Normalise, length_normalised, refuse_nan
from dragoman.search.stopping import Stop, StopRule
from dragoman.search.trace import CandidateRow, Recorder
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import BOS, EOS


class BeamState(NamedTuple):
    """The open hypotheses. `tokens` begin with <s>; `seen` is Σ_t α_t of each, if coverage is penalised, and
    `penalty` what it adds to the score of one that continues it.

    `state`, `keep` and `seen` are on the device of the model, everything else on the CPU: the host decides
    which hypotheses to continue, and reads the candidates of a step in one transfer.
    """

    sentences: list[int]
    tokens: Int[Tensor, "B W T"]
    log_p: Float[Tensor, "B W"]
    state: State
    keep: Bool[Tensor, "B S"]
    seen: Float[Tensor, "B W S"] | None
    watch: LoopWatch | None = None
    penalty: Float[Tensor, "B W"] | None = None


class Group:
    """The hypotheses that have ended, best first, and whether more may follow."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.found: list[Hypothesis] = []
        self.is_open = is_open


@dataclass(frozen=True)
class BeamSearch:
    """The best hypotheses of each sentence, best first, in at most `max_length` steps, including </s>.

    At the last step, the open hypotheses of the beam are ranked with those that ended, as not `finished`.
    The same happens as soon as all open hypotheses have one of the `loops`, if given: what follows a loop is
    cut afterwards.
    """

    size: int
    max_length: int
    normalise: Normalise = length_normalised
    stop: Stop = "n_best"
    n_best: int | None = None  # hypotheses that must be final before the search stops; None: all of the beam
    coverage: float = 0.0  # β of the coverage penalty
    groups: int = 1
    diversity: float = 0.0  # λ between groups
    loops: LoopBounds | None = None
    recorder: Recorder | None = None
    first_group: int = 0  # number of the first group in the trace

    @torch.inference_mode()
    def __call__(
        self, stepper: Stepper, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]
    ) -> list[list[Hypothesis]]:
        start = self.begin(stepper, src, keep)
        groups = [[Group() for _ in range(self.groups)] for _ in src]
        self.search(stepper, start, groups)
        found = [best_of(*(group.found for group in row), size=self.size) for row in groups]
        if self.stop != "heuristic" or self.size == 1:
            return found
        greedy = self.of_one()(stepper, src, keep)
        return [best_of(*pair, size=self.size) for pair in zip(found, greedy, strict=True)]

    def of_one(self) -> BeamSearch:
        """Return a beam of width 1, which finds the output of greedy search, with the scores of this beam."""
        return replace(
            self, size=1, groups=1, diversity=0.0, stop="n_best", n_best=1, first_group=self.groups
        )

    def search(self, stepper: Stepper, beam: BeamState, groups: Sequence[Sequence[Group]]) -> None:
        """Fill the groups of each sentence."""
        for length in range(1, self.max_length + 1):
            device = beam.keep.device
            step = stepper.step(send(beam.tokens[:, :, -1].flatten(), device), beam.state)
            beam = self.add_attention(beam, step)
            candidates, penalty = to_host(
                self.expand(send(beam.log_p, device), step.log_p), self.penalty(beam)
            )
            beam = beam._replace(penalty=penalty)
            refuse_nan(float(candidates.log_p.max()))  # a NaN ranks among the best and is their maximum
            mine = [groups[sentence] for sentence in beam.sentences]
            if self.recorder:
                self.record(self.recorder, beam, candidates, length, mine)
            self.set_aside(beam, candidates, length, mine)
            chosen = candidates.open()
            self.close(beam, chosen, length, mine)
            if beam.watch:
                beam = beam._replace(watch=self.stop_loops(beam, beam.watch, chosen, length, mine))
            still = [any(group.is_open for group in row) for row in mine]
            if not any(still):
                break
            beam = advance(beam, chosen, step.state, rows_to_keep(still))

    def begin(self, stepper: Stepper, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> BeamState:
        B, W = len(src), self.size
        log_p = torch.full((B, W), -torch.inf)
        log_p[:, :: W // self.groups] = 0.0  # all hypotheses begin alike, so one per group is enough
        tokens = torch.full((B, W, 1), BOS)
        watch = LoopWatch.begin(src, keep, W, self.loops) if self.loops else None
        return BeamState(list(range(B)), tokens, log_p, stepper.start(src, keep, W), keep, None, watch)

    def add_attention(self, beam: BeamState, step: Step) -> BeamState:
        if not self.coverage:
            return beam
        if step.attention is None:
            raise UsageError(
                "A coverage penalty needs attention weights, and this model has no attention.",
                where="search.coverage_penalty",
                hint="search.coverage_penalty=0",
            )
        seen = step.attention.view(*beam.log_p.shape, -1)
        return beam._replace(seen=seen if beam.seen is None else beam.seen + seen)

    def penalty(self, beam: BeamState) -> Float[Tensor, "B W"] | None:
        if beam.seen is None:
            return None
        return self.coverage * coverage_penalty(beam.seen, beam.keep.unsqueeze(1))

    def expand(self, log_p: Float[Tensor, "B W"], step: Float[Tensor, "N V"]) -> BeamCandidates:
        if self.groups == 1:
            return continuations(log_p, step)
        return diverse_continuations(log_p, step, self.groups, self.diversity)

    def set_aside(
        self, beam: BeamState, candidates: BeamCandidates, length: int, groups: Sequence[Sequence[Group]]
    ) -> None:
        """Set aside the hypotheses that end among the best of each group; at the last step, all the best."""
        width = self.size // self.groups
        is_last = length == self.max_length
        ends = (candidates.token[..., :width] == EOS) | is_last
        where = (ends & candidates.log_p[..., :width].isfinite()).nonzero()
        if not len(where):
            return
        place, group, rank = where.unbind(1)
        log_p, parent, token = (x[place, group, rank] for x in candidates)
        before = beam.tokens[place, parent, 1:].tolist()
        scores = self.scores(beam, place, parent, log_p, length)
        rows = zip(where.tolist(), before, token.tolist(), log_p.tolist(), scores, strict=True)
        for (i, g, _), y, last, p, score in rows:
            if groups[i][g].is_open:
                tokens = tuple(y) if last == EOS else (*y, last)
                groups[i][g].found.append(Hypothesis(tokens, score, p, last == EOS))
        for i, g in {(i, g) for i, g, _ in where.tolist()}:
            groups[i][g].found = sorted(groups[i][g].found, key=lambda h: -h.score)[:width]

    def close(
        self, beam: BeamState, chosen: BeamCandidates, length: int, groups: Sequence[Sequence[Group]]
    ) -> None:
        """Close the groups whose best can no longer change, and those that cannot be continued."""
        width = self.size // self.groups
        rule = StopRule(self.stop, width, min(self.n_best or width, width), self.max_length, self.normalise)
        for place, best in enumerate(chosen.log_p[..., 0].tolist()):
            for g, (group, log_p) in enumerate(zip(groups[place], best, strict=True)):
                if not group.is_open:
                    continue
                is_last = length == self.max_length or log_p == -torch.inf
                group.is_open = not is_last and not rule.is_done(group.found, log_p, length)
                if is_last and not group.found:
                    group.found = self.stuck(beam, length - 1, place, g)

    def stop_loops(
        self,
        beam: BeamState,
        watch: LoopWatch,
        chosen: BeamCandidates,
        length: int,
        groups: Sequence[Sequence[Group]],
    ) -> LoopWatch:
        """Close the groups in which every open hypothesis has a loop."""
        B, W = beam.log_p.shape
        parent, token = chosen.parent.flatten(1), chosen.token.flatten(1)
        places = torch.arange(B).unsqueeze(1)
        watch = watch.then((places * W + parent).flatten(), token.flatten())
        is_bad = watch.has_loop.view_as(chosen.log_p) | (chosen.log_p == -torch.inf)
        for place, g in is_bad.all(dim=-1).nonzero().tolist():
            group = groups[place][g]
            if group.is_open:
                group.is_open = False
                group.found += self.opened(beam, chosen, length, place, g)
                group.found = sorted(group.found, key=lambda h: -h.score)[: self.size // self.groups]
        return watch

    def opened(
        self, beam: BeamState, chosen: BeamCandidates, length: int, place: int, group: int
    ) -> list[Hypothesis]:
        """Return the chosen continuations as unfinished hypotheses."""
        log_p, parent, token = (x[place, group] for x in chosen)
        scores = self.scores(beam, torch.full_like(parent, place), parent, log_p, length)
        before = beam.tokens[place, parent, 1:].tolist()
        rows = zip(before, token.tolist(), scores, log_p.tolist(), strict=True)
        return [Hypothesis((*y, last), score, p, False) for y, last, score, p in rows if p > -torch.inf]

    def stuck(self, beam: BeamState, length: int, place: int, group: int) -> list[Hypothesis]:
        """Return the open hypotheses as they are, if none of them can be continued."""
        width = self.size // self.groups
        parent = torch.arange(group * width, (group + 1) * width)
        log_p, tokens = beam.log_p[place, parent], beam.tokens[place, parent, 1:]
        scores = self.scores(beam, torch.full_like(parent, place), parent, log_p, max(length, 1))
        rows = zip(tokens.tolist(), scores, log_p.tolist(), strict=True)
        return [Hypothesis(tuple(y), score, p, False) for y, score, p in rows if p > -torch.inf]

    def scores(
        self,
        beam: BeamState,
        place: Int[Tensor, " N"],
        parent: Int[Tensor, " N"],
        log_p: Float[Tensor, " N"],
        length: int,
    ) -> list[float]:
        """Return the scores of hypotheses that continue `parent` of batch row `place` with this Σ log p."""
        scores = [self.normalise(p, length) for p in log_p.tolist()]
        if beam.penalty is None:
            return scores
        return [score + p for score, p in zip(scores, beam.penalty[place, parent].tolist(), strict=True)]

    def record(
        self,
        recorder: Recorder,
        beam: BeamState,
        candidates: BeamCandidates,
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
                    rows = [CandidateRow(*values) for values in zip(*columns, strict=True)]
                    recorder.step(sentence, self.first_group + g, length, rows, width, g * width)


def beam_search(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    *,
    size: int,
    max_length: int,
    length_penalty: float = 1.0,
    stop: Stop = "n_best",
) -> list[list[Hypothesis]]:
    """Run a plain beam search."""
    normalise = partial(length_normalised, alpha=length_penalty)
    return BeamSearch(size, max_length, normalise, stop)(stepper, src, keep)


def advance(beam: BeamState, chosen: BeamCandidates, state: State, places: list[int]) -> BeamState:
    """Return the beam of the sentences in rows `places`, with the chosen continuations as open hypotheses."""
    B, W = beam.log_p.shape
    log_p, parent, token = (x.flatten(1) for x in chosen)
    sentences = torch.arange(B)
    if len(places) < B:
        sentences = torch.tensor(places)
        log_p, parent, token = log_p[sentences], parent[sentences], token[sentences]
    rows = (sentences.unsqueeze(1) * W + parent).flatten()
    tokens = torch.cat((beam.tokens.flatten(0, 1)[rows], token.view(-1, 1)), dim=1)
    there, sentences_there = (send(x, beam.keep.device) for x in (rows, sentences))
    return BeamState(
        [beam.sentences[place] for place in places],
        tokens.unflatten(0, (-1, W)),
        log_p,
        state.select(there) if len(places) == B else state.keep_sentences(sentences_there, there),
        beam.keep[sentences_there],
        None if beam.seen is None else beam.seen.flatten(0, 1)[there].unflatten(0, (-1, W)),
        beam.watch and (beam.watch if len(places) == B else beam.watch.keep_sentences(sentences)),
    )
