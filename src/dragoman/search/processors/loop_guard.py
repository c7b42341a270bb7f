"""Loop guard: ends outputs that repeat themselves, in greedy, sampled and constrained search.

An output whose most probable token continues a loop ends there instead, with the log p of </s>. The output
of a plain beam is cut after the search, as in every runtime (see inference/runtimes/loop_retry.py); here the
beam only detects that all open hypotheses will be cut, and stops early.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from dragoman.protocols import State, Step, Stepper, real_ids, send, take
from dragoman.search.repetition import MAX_PERIOD, LoopBounds
from dragoman.search.topk import mask_never_written
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor
from dragoman.text.specials import EOS, PAD


class RecentTokens(NamedTuple):
    """`last` is the last tokens, newest first; `run` counts consecutive tokens equal to the one p before."""

    last: Int[Tensor, "N P"]
    run: Int[Tensor, "N P"]

    def then(self, y: Int[Tensor, " N"]) -> RecentTokens:
        newest = y.unsqueeze(1)
        return RecentTokens(
            torch.cat((newest, self.last[:, :-1]), dim=1), (self.run + 1) * (self.last == newest)
        )


def run_limit(repeats: Int[Tensor, " B"], shortest: int) -> Int[Tensor, "B P"]:
    """Return the run length of so many repeats of each period, for loops of `shortest` tokens or more."""
    p = torch.arange(1, MAX_PERIOD + 1, device=repeats.device)
    return ((repeats.unsqueeze(1) - 1) * p).maximum(shortest - p)


def no_tokens(rows: int, device: torch.device) -> RecentTokens:
    last = torch.full((rows, MAX_PERIOD), -1, device=device)
    return RecentTokens(last, torch.zeros_like(last))


def allowed_repeats(
    src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], loops: LoopBounds
) -> Int[Tensor, " B"]:
    """Return how many repetitions the output of each source may have, on the CPU."""
    return torch.tensor([loops.allowed(ids) for ids in real_ids(src, keep)])


class LoopWatch(NamedTuple):
    """A record on the CPU of which hypotheses of a beam contain a loop, and will be cut whatever follows."""

    trail: RecentTokens
    longest: Int[Tensor, "B P"]  # run that the outputs of each sentence may have
    has_loop: Bool[Tensor, " N"]

    @classmethod
    def begin(
        cls, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], width: int, loops: LoopBounds
    ) -> LoopWatch:
        rows = len(src) * width
        longest = run_limit(allowed_repeats(src, keep, loops), loops.shortest)
        return cls(no_tokens(rows, longest.device), longest, torch.zeros(rows, dtype=torch.bool))

    def then(self, rows: Int[Tensor, " N"], y: Int[Tensor, " N"]) -> LoopWatch:
        """Return the watch for the hypotheses `rows`, as many as before, each extended by one token."""
        trail: RecentTokens = take(self.trail, rows)
        caught = (trail.run.view(len(self.longest), -1, MAX_PERIOD) >= self.longest.unsqueeze(1)).flatten(
            0, 1
        )
        again = (caught & (trail.last == y.unsqueeze(1))).any(dim=1)
        return LoopWatch(trail.then(y), self.longest, self.has_loop[rows] | again)

    def keep_sentences(self, sentences: Int[Tensor, " M"]) -> LoopWatch:
        width = len(self.has_loop) // len(self.longest)
        rows = (sentences.unsqueeze(1) * width + torch.arange(width, device=sentences.device)).flatten()
        return LoopWatch(take(self.trail, rows), self.longest[sentences], self.has_loop[rows])


class GuardState(NamedTuple):
    inner: object
    trail: RecentTokens


class LoopGuard:
    """A stepper wrapper that ends loops. It is applied last: it cannot cut where a rule forbids </s>."""

    def __init__(self, stepper: Stepper, loops: LoopBounds) -> None:
        self.stepper = stepper
        self.loops = loops

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        longest = run_limit(allowed_repeats(src, keep, self.loops), self.loops.shortest)
        state, trail = self.stepper.start(src, keep, width), no_tokens(len(src) * width, src.device)
        return State((state.fixed, send(longest, src.device)), GuardState(state.moving, trail))

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        fixed, longest = state.fixed
        guarded: GuardState = state.moving
        step = self.stepper.step(y, State(fixed, guarded.inner))
        trail = guarded.trail.then(y)
        caught = (trail.run.view(len(longest), -1, MAX_PERIOD) >= longest.unsqueeze(1)).flatten(0, 1)
        log_p = step.log_p
        if log_p.device.type != "cpu":  # without a branch that the host must wait for
            log_p = torch.where(caught.any(dim=1, keepdim=True), self.cut(log_p, trail.last, caught), log_p)
        elif len(rows := caught.any(dim=1).nonzero().squeeze(1)):
            log_p = log_p.index_copy(0, rows, self.cut(log_p[rows], trail.last[rows], caught[rows]))
        return Step(
            log_p, State((step.state.fixed, longest), GuardState(step.state.moving, trail)), step.attention
        )

    def cut(
        self, log_p: Float[Tensor, "M V"], last: Int[Tensor, "M P"], caught: Bool[Tensor, "M P"]
    ) -> Float[Tensor, "M V"]:
        """Forbid another repetition; allow only </s> in rows whose most probable token is one."""
        best = mask_never_written(log_p).argmax(dim=1, keepdim=True)
        may_end = log_p[:, EOS : EOS + 1].isfinite()
        wants = (caught & (last == best)).any(dim=1, keepdim=True)
        again = torch.zeros_like(log_p, dtype=torch.bool).scatter(1, last.where(caught, PAD), True)
        forbidden = (again | wants) & may_end
        forbidden[:, EOS] = False
        return log_p.masked_fill(forbidden, -torch.inf)
