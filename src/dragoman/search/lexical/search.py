"""Lexically constrained beam search: dynamic beam allocation (Post and Vilar 2018).

The hypotheses of a sentence are divided into banks by the number of constraint tokens they have written. So
hypotheses that have yet to write a phrase are not pruned in favour of those that have written it, and vice
versa. An output ends only when all constraints are met.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

import torch

from dragoman.protocols import State, Step, Stepper, send
from dragoman.search.batch_invariance import rows_to_keep
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.lexical.constraints import (
    Constraint,
    ConstraintProgress,
    ConstraintTensors,
    TokenBoundaries,
    begin,
    to_tensors,
)
from dragoman.search.lexical.progress import (
    advance,
    awaiting_boundary,
    bank,
    bank_rank,
    met_at_end,
    next_tokens,
)
from dragoman.search.scores import Normalise, refuse_nan
from dragoman.search.topk import mask_never_written, topk_sums
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import BOS, EOS

MAX_WIDENING = 4  # times the requested size


class LexicalBeamState(NamedTuple):
    """The open hypotheses. `tokens` begin with <s>; `missing` counts the constraint tokens yet to be written.

    The host keeps the hypotheses, and reads the candidates of a step in one transfer. `tables`, `progress`
    and `state` are on the device of the model.
    """

    sentences: list[int]
    tokens: Int[Tensor, "B W T"]
    log_p: Float[Tensor, "B W"]
    missing: Int[Tensor, "B W"]
    tables: ConstraintTensors
    progress: ConstraintProgress
    state: State


class EndedHypothesis(NamedTuple):
    hypothesis: Hypothesis
    missing: int  # constraint tokens that are not written

    def rank(self) -> tuple[int, bool, float]:
        """Return the sort key: fewer missing tokens first, since a stepper may allow nothing but </s>."""
        return self.missing, not self.hypothesis.finished, -self.hypothesis.score


class BankCandidates(NamedTuple):
    """Continuations in the order in which they enter the beam."""

    log_p: Float[Tensor, "B C"]
    parent: Int[Tensor, "B C"]
    token: Int[Tensor, "B C"]
    rank: Int[Tensor, "B C"]  # within its bank
    missing: Int[Tensor, "B C"]  # constraint tokens that are not written
    wants_end: Bool[Tensor, "B C"]  # the most probable continuation of the most probable hypothesis is </s>

    def cpu(self) -> BankCandidates:
        """Return the candidates on the CPU, by one transfer: fp32 represents all tokens exactly."""
        if self.log_p.device.type == "cpu":
            return self
        found = torch.stack([x.to(self.log_p) for x in self]).cpu()
        parent, token, rank, missing = found[1:5].long()
        return BankCandidates(found[0], parent, token, rank, missing, found[5].bool())


def tokens_of(constraints: Sequence[Constraint]) -> int:
    """Return how many tokens the constraints have, in their longest forms."""
    return sum(max(len(form.tokens) for form in c.forms) for c in constraints)


def width_for(constraints: Sequence[Constraint], size: int) -> int:
    """Return a beam width of at least one per bank, within limits.

    It is doubled until it suffices, so that similar sentences have the same width and share a batch.
    """
    width = size
    while width < min(1 + tokens_of(constraints), MAX_WIDENING * size):
        width *= 2
    return min(width, MAX_WIDENING * size)


@torch.inference_mode()
def constrained_search(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    *,
    constraints: Sequence[Sequence[Constraint]],
    edges: TokenBoundaries,
    size: int,
    normalise: Normalise,
    max_length: int,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence that meet its constraints, best first.

    The search continues until the most probable hypothesis would end, and then for as many steps as there are
    constraint tokens: the first hypotheses that write a phrase and end are not the best ones.
    A sentence without a complete hypothesis at `max_length` returns its open hypotheses.
    """
    found: list[list[EndedHypothesis]] = [[] for _ in src]
    last_step = [max_length for _ in src]
    beam = start(stepper, src, keep, constraints, max(width_for(row, size) for row in constraints))
    edges = TokenBoundaries(*(send(x, src.device) for x in edges))
    for length in range(1, max_length + 1):
        step = stepper.step(send(beam.tokens[:, :, -1].flatten(), src.device), beam.state)
        candidates = bank_candidates(beam, send(beam.log_p, src.device), edges, step).cpu()
        refuse_nan(float(candidates.log_p.max()))  # a NaN is the maximum
        for sentence in compress(beam.sentences, candidates.wants_end[:, 0].tolist()):
            last_step[sentence] = min(last_step[sentence], length + tokens_of(constraints[sentence]))
        for place, end in ended(beam, candidates, length, normalise):
            sentence = beam.sentences[place]
            if length <= last_step[sentence] or not is_met(found[sentence]):
                found[sentence] = sorted([*found[sentence], end], key=EndedHypothesis.rank)[:size]
        beam = advance_beam(beam, edges, candidates, step)
        is_open = [length < last_step[s] or not is_met(found[s]) for s in beam.sentences]
        if length == max_length or not any(is_open):
            break
        beam = keep_sentences(beam, rows_to_keep(is_open))
    for sentence, cut in zip(beam.sentences, unfinished(beam, normalise), strict=True):
        if not is_met(found[sentence]):
            found[sentence] = sorted([*found[sentence], *cut], key=EndedHypothesis.rank)[:size]
    return [[end.hypothesis for end in ends] for ends in found]


def is_met(found: Sequence[EndedHypothesis]) -> bool:
    return bool(found) and found[0].missing == 0


def start(
    stepper: Stepper,
    src: Shaped[Tensor, "B S *f"],
    keep: Bool[Tensor, "B S"],
    constraints: Sequence[Sequence[Constraint]],
    width: int,
) -> LexicalBeamState:
    B = len(src)
    tables = to_tensors(constraints, src.device)
    log_p = torch.full((B, width), -torch.inf)
    log_p[:, 0] = 0.0  # all hypotheses begin alike, so one is enough
    tokens = torch.full((B, width, 1), BOS)
    missing = torch.tensor([tokens_of(row) for row in constraints]).unsqueeze(1).expand(-1, width)
    progress, state = begin(tables, width), stepper.start(src, keep, width)
    return LexicalBeamState(list(range(B)), tokens, log_p, missing, tables, progress, state)


def wants_eos(p: Float[Tensor, "B W"], step: Step) -> Bool[Tensor, "B 1"]:
    """Return whether the most probable hypothesis has </s> as its most probable continuation."""
    choice = mask_never_written(step.log_p).argmax(-1).view(p.shape)
    return choice.gather(1, p.argmax(-1, keepdim=True)) == EOS


def bank_candidates(
    beam: LexicalBeamState, p: Float[Tensor, "B W"], edges: TokenBoundaries, step: Step
) -> BankCandidates:
    """Return the best continuations overall, the best of each hypothesis, </s>, and the constraint tokens.

    They are ordered round-robin: the best of each bank, then the second of each, fuller banks first. `p` is
    Σ log p of the open hypotheses.
    """
    B, W = p.shape
    log_p = mask_early_eos(beam, step)
    V = log_p.shape[-1]
    top = topk_sums(p, log_p.flatten(0, 1), min(2 * W, W * V))[1]
    index = torch.cat([top, *required_tokens(beam, edges, log_p)], dim=1)
    index = index.sort(dim=1).values
    is_again = torch.cat([index.new_zeros(B, 1, dtype=torch.bool), index[:, 1:] == index[:, :-1]], dim=1)
    value = p.gather(1, index // V) + log_p.flatten(1).gather(1, index)
    value = value.masked_fill(is_again, -torch.inf)
    value, order = value.sort(dim=1, descending=True, stable=True)
    index = index.gather(1, order)
    parent, token = index // V, index % V
    after = advance(beam.tables, edges, beam.progress.pick(parent), token)
    total = beam.tables.total.unsqueeze(1)
    missing = total - torch.where(
        token == EOS, bank(beam.tables, beam.progress).gather(1, parent), bank(beam.tables, after)
    )
    rank, order = round_robin(bank_rank(beam.tables, after), value)
    value, parent, token, missing = (x.gather(1, order) for x in (value, parent, token, missing))
    return BankCandidates(value, parent, token, rank, missing, wants_eos(p, step).expand_as(value))


def mask_early_eos(beam: LexicalBeamState, step: Step) -> Float[Tensor, "B W V"]:
    """Return log p with </s> masked until all constraints are met, unless nothing else is possible."""
    B, W = beam.log_p.shape
    log_p = mask_never_written(step.log_p)  # a copy
    end = log_p[:, EOS].clone()
    log_p[:, EOS] = -torch.inf
    may_end = met_at_end(beam.tables, beam.progress).all(-1).flatten() | (log_p.amax(-1) == -torch.inf)
    log_p[:, EOS] = end.masked_fill(~may_end, -torch.inf)
    return log_p.view(B, W, -1)


def required_tokens(
    beam: LexicalBeamState, edges: TokenBoundaries, log_p: Float[Tensor, "B W V"]
) -> tuple[Int[Tensor, "B W"], Int[Tensor, "B C"]]:
    """Return the required continuations: the best of each hypothesis, constraint tokens and </s>.

    After a phrase that awaits the end of its word, the best one does not begin with a letter.
    """
    W, V = log_p.shape[1:]
    own = log_p.argmax(-1)
    is_waiting = awaiting_boundary(beam.tables, beam.progress).any(-1)
    if log_p.device.type != "cpu" or bool(is_waiting.any()):  # on other devices, the host would wait
        safe = log_p.masked_fill(edges.begins_with_letter, -torch.inf)
        own = torch.where(is_waiting, safe.argmax(-1), own)
    tokens = next_tokens(beam.tables, edges, beam.progress)
    tokens = torch.where(tokens < 0, own.unsqueeze(-1), tokens)
    end = torch.full_like(own, EOS).unsqueeze(-1)
    row = torch.arange(W, device=log_p.device) * V
    return row + own, (row.unsqueeze(-1) + torch.cat([tokens, end], dim=-1)).flatten(1)


def round_robin(
    banks: Int[Tensor, "B C"], value: Float[Tensor, "B C"]
) -> tuple[Int[Tensor, "B C"], Int[Tensor, "B C"]]:
    """Return the rank of each candidate in its bank and the round-robin order, from candidates best first."""
    C = banks.shape[1]
    place = torch.arange(C, device=banks.device).expand_as(banks)
    bank, order = banks.sort(dim=1, stable=True)
    is_first = torch.cat([torch.ones_like(bank[:, :1], dtype=torch.bool), bank[:, 1:] != bank[:, :-1]], dim=1)
    rank = place - place.masked_fill(~is_first, 0).cummax(dim=1).values
    most = banks.max() + 1
    turn = (rank * most - bank).masked_fill(value.gather(1, order).isneginf(), C * most)
    by_turn = turn.argsort(dim=1, stable=True)
    return rank.gather(1, by_turn), order.gather(1, by_turn)


def ended(
    beam: LexicalBeamState, candidates: BankCandidates, length: int, normalise: Normalise
) -> list[tuple[int, EndedHypothesis]]:
    """Return the hypotheses that end among the W best of their bank."""
    W = beam.log_p.shape[1]
    ends = (candidates.token == EOS) & candidates.log_p.isfinite() & (candidates.rank < W)
    found = []
    for place, rank in ends.nonzero().tolist():
        parent = int(candidates.parent[place, rank])
        tokens = tuple(beam.tokens[place, parent, 1:].tolist())
        log_p = float(candidates.log_p[place, rank])
        hypothesis = Hypothesis(tokens, normalise(log_p, length), log_p, True)
        found.append((place, EndedHypothesis(hypothesis, int(candidates.missing[place, rank]))))
    return found


def advance_beam(
    beam: LexicalBeamState, edges: TokenBoundaries, candidates: BankCandidates, step: Step
) -> LexicalBeamState:
    """Return the beam with the first W continuations that do not end as open hypotheses."""
    B, W = beam.log_p.shape
    rank = (candidates.token == EOS).int().argsort(dim=-1, stable=True)[:, :W]
    log_p, parent, token, _, missing, _ = (x.gather(1, rank) for x in candidates)
    rows = torch.arange(B).unsqueeze(1) * W + parent
    tokens = torch.cat([beam.tokens.flatten(0, 1)[rows], token.unsqueeze(-1)], dim=-1)
    log_p = log_p.masked_fill(token == EOS, -torch.inf)
    device = step.log_p.device
    progress = advance(beam.tables, edges, beam.progress.pick(send(parent, device)), send(token, device))
    state = step.state.select(send(rows.flatten(), device))
    return LexicalBeamState(beam.sentences, tokens, log_p, missing, beam.tables, progress, state)


def keep_sentences(beam: LexicalBeamState, places: list[int]) -> LexicalBeamState:
    """Return the beam without the finished sentences."""
    B, W = beam.log_p.shape
    if len(places) == B:
        return beam
    kept = torch.tensor(places)
    rows = (kept.unsqueeze(1) * W + torch.arange(W)).flatten()
    kept_there, rows_there = (send(x, beam.tables.tokens.device) for x in (kept, rows))
    return LexicalBeamState(
        [beam.sentences[place] for place in places],
        beam.tokens[kept],
        beam.log_p[kept],
        beam.missing[kept],
        beam.tables.only(kept_there),
        beam.progress.only(kept_there),
        beam.state.keep_sentences(kept_there, rows_there),
    )


def unfinished(beam: LexicalBeamState, normalise: Normalise) -> list[list[EndedHypothesis]]:
    """Return the open hypotheses as they are."""
    length = beam.tokens.shape[-1] - 1
    return [
        [
            EndedHypothesis(Hypothesis(tuple(t[1:]), normalise(p, length), p, False), lacks)
            for t, p, lacks in zip(*rows, strict=True)
            if p > -torch.inf
        ]
        for rows in zip(beam.tokens.tolist(), beam.log_p.tolist(), beam.missing.tolist(), strict=True)
    ]
