"""Beam search: the W most probable hypotheses at each length, many sentences at once.

The beam stays W wide: a hypothesis that ends within the W best is set aside, and the next best takes its
place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch

from dragoman.protocols import State, Step, Stepper
from dragoman.search.choices import allowed, best
from dragoman.search.company import staying
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import best_possible, length_normalised
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import BOS, EOS

Stop = Literal["all", "n_best"]


class Candidates(NamedTuple):
    """The 2W best continuations of each sentence, best first: W of them at least do not end."""

    log_p: Float[Tensor, "B C"]
    parent: Int[Tensor, "B C"]
    token: Int[Tensor, "B C"]


class Beam(NamedTuple):
    """The open hypotheses. `tokens` begin with <s>."""

    sentences: list[int]
    tokens: Int[Tensor, "B W T"]
    log_p: Float[Tensor, "B W"]
    state: State


@torch.no_grad()
def beam_search(
    stepper: Stepper,
    src: Int[Tensor, "B S"],
    keep: Bool[Tensor, "B S"],
    *,
    size: int,
    length_penalty: float,
    max_length: int,
    stop: Stop,
) -> list[list[Hypothesis]]:
    """The n best of each sentence, best first, in at most `max_length` steps, </s> among them.

    A sentence of which nothing has ended by then gives its open hypotheses, not `finished`.
    """
    found: list[list[Hypothesis]] = [[] for _ in src]
    is_open = [True for _ in src]
    beam = open_beam(stepper, src, keep, size)
    for length in range(1, max_length + 1):
        step = stepper.step(beam.tokens[:, :, -1].flatten(), beam.state)
        candidates = continuations(beam.log_p, step)
        for sentence, hypothesis in ended(beam, candidates, length, length_penalty):
            if is_open[sentence]:
                found[sentence] = sorted([*found[sentence], hypothesis], key=lambda h: -h.score)[:size]
        beam = advance(beam, candidates, step)
        if length == max_length:
            break
        for sentence, log_p in zip(beam.sentences, beam.log_p[:, 0].tolist(), strict=True):
            bound = best_possible(log_p, max_length, length_penalty)
            is_open[sentence] = is_open[sentence] and may_change(found[sentence], bound, size, stop)
        if not any(is_open):
            return found
        beam = only(beam, staying([is_open[sentence] for sentence in beam.sentences]))
    for sentence, cut in zip(beam.sentences, unfinished(beam, length_penalty), strict=True):
        found[sentence] = found[sentence] or cut
    return found


def open_beam(stepper: Stepper, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], size: int) -> Beam:
    B = len(src)
    log_p = torch.full((B, size), -torch.inf, device=src.device)
    log_p[:, 0] = 0.0  # all begin alike: one of them is enough
    tokens = torch.full((B, size, 1), BOS, device=src.device)
    return Beam(list(range(B)), tokens, log_p, stepper.start(src, keep, size))


def continuations(log_p: Float[Tensor, "B W"], step: Step) -> Candidates:
    B, W = log_p.shape
    V = step.log_p.shape[-1]
    total = log_p.unsqueeze(-1) + allowed(step.log_p).view(B, W, V)
    value, index = best(total.view(B, W * V), 2 * W)
    return Candidates(value, index // V, index % V)


def ended(beam: Beam, candidates: Candidates, length: int, alpha: float) -> Iterator[tuple[int, Hypothesis]]:
    """What ends among the W best of each sentence."""
    W = beam.log_p.shape[1]
    ends = (candidates.token[:, :W] == EOS) & candidates.log_p[:, :W].isfinite()
    for place, rank in ends.nonzero().tolist():
        tokens = beam.tokens[place, candidates.parent[place, rank], 1:].tolist()
        log_p = float(candidates.log_p[place, rank])
        score = length_normalised(log_p, length, alpha)
        yield beam.sentences[place], Hypothesis(tuple(tokens), score, log_p, True)


def advance(beam: Beam, candidates: Candidates, step: Step) -> Beam:
    """The W best continuations that do not end become the open hypotheses."""
    B, W = beam.log_p.shape
    ends = (candidates.token == EOS).int()
    rank = ends.argsort(dim=-1, stable=True)[:, :W]
    parent, token = candidates.parent.gather(1, rank), candidates.token.gather(1, rank)
    rows = torch.arange(B, device=parent.device).unsqueeze(1) * W + parent
    tokens = beam.tokens.flatten(0, 1)[rows]
    return Beam(
        beam.sentences,
        torch.cat([tokens, token.unsqueeze(-1)], dim=-1),
        candidates.log_p.gather(1, rank),
        step.state.select(rows.flatten()),
    )


def may_change(found: list[Hypothesis], bound: float, size: int, stop: Stop) -> bool:
    """Whether the best open hypothesis, which can reach `bound`, may still change the n best."""
    if bound == -torch.inf:
        return False
    if len(found) < size:
        return True
    return stop == "all" and bound > found[-1].score


def only(beam: Beam, places: list[int]) -> Beam:
    """The beam without the sentences that are done."""
    B, W = beam.log_p.shape
    if len(places) == B:
        return beam
    kept = torch.tensor(places, device=beam.tokens.device)
    rows = (kept.unsqueeze(1) * W + torch.arange(W, device=kept.device)).flatten()
    state = beam.state.keep_sentences(kept, rows)
    return Beam([beam.sentences[place] for place in places], beam.tokens[kept], beam.log_p[kept], state)


def unfinished(beam: Beam, alpha: float) -> list[list[Hypothesis]]:
    """The open hypotheses as they stand."""
    length = beam.tokens.shape[-1] - 1
    return [
        [
            Hypothesis(tuple(t[1:]), length_normalised(p, length, alpha), p, False)
            for t, p in zip(tokens, log_p, strict=True)
            if p > -torch.inf
        ]
        for tokens, log_p in zip(beam.tokens.tolist(), beam.log_p.tolist(), strict=True)
    ]
